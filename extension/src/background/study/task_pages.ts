/**
 * Which task a tab shows. A task page is known by its address without the fragment. A tab that was told to open a task
 * shows that task wherever redirects lead it, until it is navigated elsewhere.
 */

import { browser } from "../../browser";
import { type Study, type Task, type TaskState, withoutFragment } from "../../core/study";
import type { SeenDocument } from "../documents";
import { endAllowedTab } from "../warnings";
import { knownStudy } from "./study_store";
import { answerTo } from "./task_answers";

/** A task, and how far the person is with it. */
export interface ShownTask {
  server: string;
  study: Study;
  task: Task;
  /** Its place in the list, from 1. */
  number: number;
  /** Of how many. */
  of: number;
  state: TaskState;
}

type Place = Omit<ShownTask, "state">;

interface Opening {
  task: number;
  /** The browser could not show it. */
  failed: boolean;
}

/** Tabs that were told to open a task and have not shown a page since; also in `storage.session`. */
let held: Promise<Map<number, Opening>> | null = null;
const OPENING = "opening";

/** The task that a document shows, if the study is open. */
export async function taskOf(seen: SeenDocument | undefined): Promise<ShownTask | null> {
  return withState(await placeOf(seen));
}

/** The task that a tab shows, or tried to: the page may be gone from the web. */
export async function taskOfTab(tab: number, seen: SeenDocument | undefined): Promise<ShownTask | null> {
  const opening = (await openings()).get(tab);
  return opening === undefined ? taskOf(seen) : withState(await placeWhere(({ id }) => id === opening.task));
}

/** Whether the prediction must not be seen on this page now. */
export function hidesPrediction(shown: ShownTask | null): boolean {
  return shown?.study.hidePrediction === true && shown.state !== "labelled";
}

async function placeOf(seen: SeenDocument | undefined): Promise<Place | null> {
  if (seen === undefined) return null;
  const address = withoutFragment(seen.url);
  return placeWhere(({ id, url }) => (seen.task === undefined ? url === address : id === seen.task));
}

async function placeWhere(isIt: (task: Task) => boolean): Promise<Place | null> {
  const known = await knownStudy();
  if (known === undefined || !known.study.open) return null;
  const { server, study, tasks } = known;
  const place = tasks.findIndex(isIt);
  const task = tasks[place];
  if (task === undefined) return null;
  return { server, study, task, number: place + 1, of: tasks.length };
}

async function withState(place: Place | null): Promise<ShownTask | null> {
  return place && { ...place, state: await stateOf(place.server, place.task) };
}

/** How far the person is: their answer counts before the server has taken it. */
export async function stateOf(server: string, task: Task): Promise<TaskState> {
  const answer = await answerTo(server, task.id, "ended");
  const counts = answer !== undefined && answer.outcome !== "refused";
  if (counts && answer.state !== "opened") return answer.state;
  return task.url === null && task.state === "open" ? "broken" : task.state;
}

/** A tab is told to open a task. */
export async function tabOpens(tab: number, task: number): Promise<void> {
  (await openings()).set(tab, { task, failed: false });
  await storeOpenings();
}

/** Whether a tab was told to open a task and has not shown a page since. */
export async function isOpening(tab: number): Promise<boolean> {
  return (await openings()).has(tab);
}

/** Whether a tab that goes to an address will show a task there. */
export async function leadsToTask(tab: number, url: string): Promise<boolean> {
  const address = withoutFragment(url);
  return (await isOpening(tab)) || (await placeWhere((task) => task.url === address)) !== null;
}

/** A tab shows no page: what it was told to open cannot be reached. */
export async function openingFailed(tab: number): Promise<void> {
  const opening = (await openings()).get(tab);
  if (opening === undefined) return;
  opening.failed = true;
  await Promise.all([storeOpenings(), endAllowedTab()]);
}

/**
 * A tab is about to show a new document instead of `before`. Return the task that it was told to open, if this is where
 * that led: the first web page after the opening, or one that such a page leads on to by itself (`redirected`).
 * `asked`: the person typed or chose an address.
 */
export async function arrivedTask(
  tab: number,
  url: string,
  before: SeenDocument | undefined,
  how: "asked" | "redirected" | "other",
): Promise<number | undefined> {
  if (!/^https?:/.test(url)) return undefined;
  const opening = (await openings()).get(tab);
  if (opening === undefined) return how === "redirected" ? (await placeOf(before))?.task.id : undefined;
  await endOpening(tab);
  // The person went elsewhere, or tried again after an error: then only the address counts.
  return opening.failed || how === "asked" ? undefined : opening.task;
}

/** The tab was closed, or has arrived. */
export async function endOpening(tab: number): Promise<void> {
  if (!(await openings()).delete(tab)) return;
  await Promise.all([storeOpenings(), endAllowedTab()]);
}

/** Forget what is held: the person took back their consent, or deletes everything. */
export function forgetOpenings(): void {
  held = null;
}

function openings(): Promise<Map<number, Opening>> {
  held ??= browser.storage.session
    .get(OPENING)
    .then((stored) => new Map((stored[OPENING] as [number, Opening][] | undefined) ?? []));
  return held;
}

async function storeOpenings(): Promise<void> {
  await browser.storage.session.set({ [OPENING]: [...(await openings())] });
}
