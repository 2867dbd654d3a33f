/** What a server says about a study and its tasks (docs/http-protocol.md). It may be anything until it was read here. */

import { BadInput } from "./bad_input";
import { asObject, isString, type JsonObject, member, wholeNumber } from "./json";

/** How a task ended; an open one has not. */
export type TaskEnd = "labelled" | "skipped" | "broken";
export type TaskState = "open" | TaskEnd;

export interface Study {
  /** The name of the study in addresses. */
  readonly slug: string;
  readonly title: string;
  readonly open: boolean;
  /** Whether the prediction is hidden on task pages until the person has chosen a class. */
  readonly hidePrediction: boolean;
  /** In how many rounds a task page may be used for training. */
  readonly usesPerPage: number;
  /** Whether the person consented, on the study's site, that the server collects their labels. */
  readonly collect: boolean;
  /** Whether they consented there that the server gets the words of the task pages they labelled. */
  readonly terms: boolean;
  readonly completionCode: string | null;
  /** The path of the person's page on the study's site. */
  readonly page: string;
}

export interface Task {
  readonly id: number;
  readonly position: number;
  /** A web page, without fragment; null if the server named none, so that nobody can do this task. */
  readonly url: string | null;
  readonly state: TaskState;
}

export const MOST_TASKS = 1000;
/** More rounds per page would give its label away. */
const MOST_USES = 40;
const LONGEST_TITLE = 200;
const LONGEST_URL = 4000;
const STATES: readonly unknown[] = ["open", "labelled", "skipped", "broken"];

export function readStudy(value: unknown): Study {
  const study = asObject(value, "The study");
  const slug = text(study, "study", /^[a-z0-9-]{1,40}$/);
  const page = member(study, "page");
  if (page !== `/study/${slug}/me`) throw new BadInput("The page of the study is not where it must be.");
  const code = member(study, "completion_code");
  return {
    slug,
    title: title(member(study, "title")),
    open: text(study, "status", /^(open|closed)$/) === "open",
    hidePrediction: flag(study, "hide_prediction"),
    usesPerPage: wholeNumber(member(study, "uses_per_page"), 1, MOST_USES, "uses_per_page of the study"),
    collect: flag(study, "collect"),
    terms: flag(study, "terms"),
    completionCode: code === null ? null : text(study, "completion_code", /^[\w-]{1,100}$/),
    page,
  };
}

/**
 * Read the tasks, in the order of their positions. `server` is the address they came from: a path is a copy of a page
 * there.
 */
export function readTasks(value: unknown, server: string): Task[] {
  const tasks = member(asObject(value, "The server's answer"), "tasks");
  if (!Array.isArray(tasks) || tasks.length > MOST_TASKS)
    throw new BadInput(`The tasks must be a list of at most ${MOST_TASKS}.`);
  const found = tasks.map((entry) => readTask(asObject(entry, "A task"), server));
  if (new Set(found.map(({ id }) => id)).size !== found.length) throw new BadInput("Two tasks have the same number.");
  return found.sort((one, other) => one.position - other.position);
}

function readTask(task: JsonObject, server: string): Task {
  const counted = (name: string) =>
    wholeNumber(member(task, name), 1, Number.MAX_SAFE_INTEGER, `The ${name} of a task`);
  const state = member(task, "state");
  if (!STATES.includes(state)) throw new BadInput("The state of a task is not known.");
  const url = readTaskUrl(member(task, "url"), server);
  return { id: counted("id"), position: counted("position"), url, state: state as TaskState };
}

/**
 * Only web pages: a browser must not be led to anything else, nor be given a password on the way. One wrong address
 * makes its task unusable, not the others.
 */
function readTaskUrl(value: unknown, server: string): string | null {
  if (!isString(value) || value.length > LONGEST_URL) return null;
  const address = /^\/study\/[a-z0-9-]{1,40}\/copies\/[0-9]+$/.test(value) ? server + value : value;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return null;
  return withoutFragment(url.href);
}

/** What two addresses of the same task page have in common. */
export function withoutFragment(url: string): string {
  return url.split("#", 1)[0]!;
}

/** A title without characters that could change how the rest of a page reads: control characters and directions. */
function title(value: unknown): string {
  const plain = isString(value) ? value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ").trim() : "";
  if (plain === "" || plain.length > LONGEST_TITLE) throw new BadInput("The title of the study is not one.");
  return plain;
}

function text(object: JsonObject, name: string, form: RegExp): string {
  const value = member(object, name);
  if (!isString(value) || !form.test(value)) throw new BadInput(`${name} of the study is not as it should be.`);
  return value;
}

function flag(object: JsonObject, name: string): boolean {
  const value = member(object, name);
  if (typeof value !== "boolean") throw new BadInput(`${name} of the study must be true or false.`);
  return value;
}
