/** What the person has chosen. Everything starts at "no": nothing is read, shown or sent before somebody says so. */

import { THRESHOLD } from "./core/answer";
import { BadInput } from "./core/bad_input";
import { NON_SENSITIVE, TOPICS } from "./core/taxonomy";

export interface Settings {
  /** When the questions of the welcome page were answered, in milliseconds since 1970; 0 if never. */
  asked: number;
  /** The three consents, each given by itself. */
  classifying: boolean;
  contributing: boolean;
  studies: boolean;
  /** Where updates go and models come from; empty if nobody named a server. */
  server: string;
  invitation: string;
  /** Whether servers may have all layers trained: whoever gets such an update can read the words of the pages in it. */
  allLayers: boolean;
  /** How probable a topic must be to be shown. */
  threshold: number;
  /** Block known trackers on sensitive pages. */
  blocking: boolean;
  /** Tell every site that the person does not want to be tracked (Global Privacy Control). */
  privacyControl: boolean;
  /** Ask before known sensitive pages with trackers are opened. */
  warnings: boolean;
  /** The topics that people are warned of. */
  warnedTopics: number[];
  /** Let corrections change the verdicts in this browser at once. */
  localLearning: boolean;
  /** Note which companies were on sensitive pages, for the page "Who could know what". */
  history: boolean;
  /** How many days these notes are kept. */
  historyDays: number;
  /** EITR rests until then, in milliseconds since 1970; 0 if it does not. */
  pausedUntil: number;
  linkMarks: boolean;
  /** Sites (registrable domains) on which nothing is read. */
  offSites: string[];
  /** Sites the person does not want to be warned of. */
  unwarnedSites: string[];
  /** Sites on which nothing is blocked, because they did not work. */
  unblockedSites: string[];
}

export const DEFAULTS: Readonly<Settings> = {
  asked: 0,
  classifying: false,
  contributing: false,
  studies: false,
  server: "",
  invitation: "",
  allLayers: false,
  threshold: THRESHOLD,
  blocking: true,
  privacyControl: false,
  warnings: true,
  // Not politics: news sites are full of it, and few people want to be stopped there.
  warnedTopics: [...TOPICS.keys()].filter((topic) => topic !== NON_SENSITIVE && TOPICS[topic]!.name !== "politics"),
  localLearning: true,
  history: false,
  historyDays: 90,
  pausedUntil: 0,
  linkMarks: false,
  offSites: [],
  unwarnedSites: [],
  unblockedSites: [],
};

export const LOWEST_THRESHOLD = 0.3;
export const HIGHEST_THRESHOLD = 0.95;
export const MOST_DAYS = 365;
export const LONGEST_PAUSE_MS = 24 * 60 * 60 * 1000;
const MOST_SITES = 500;
const LONGEST_HOST = 253;
const LONGEST_ADDRESS = 500;
const LONGEST_INVITATION = 200;

/**
 * Read settings that were kept, or a change of them; a member that is absent or makes no sense stays as in `before`.
 */
export function readSettings(value: unknown, before: Readonly<Settings> = DEFAULTS): Settings {
  const from = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const flag = (name: keyof Settings & string) =>
    typeof from[name] === "boolean" ? from[name] : (before[name] as boolean);
  return {
    asked: time(from["asked"]) ?? before.asked,
    classifying: flag("classifying"),
    contributing: flag("contributing"),
    studies: flag("studies"),
    server: address(from["server"]) ?? before.server,
    invitation:
      typeof from["invitation"] === "string"
        ? from["invitation"].trim().slice(0, LONGEST_INVITATION)
        : before.invitation,
    allLayers: flag("allLayers"),
    threshold: threshold(from["threshold"]) ?? before.threshold,
    blocking: flag("blocking"),
    privacyControl: flag("privacyControl"),
    warnings: flag("warnings"),
    warnedTopics: topics(from["warnedTopics"]) ?? [...before.warnedTopics],
    localLearning: flag("localLearning"),
    history: flag("history"),
    historyDays: days(from["historyDays"]) ?? before.historyDays,
    pausedUntil: time(from["pausedUntil"]) ?? before.pausedUntil,
    linkMarks: flag("linkMarks"),
    offSites: hosts(from["offSites"]) ?? [...before.offSites],
    unwarnedSites: hosts(from["unwarnedSites"]) ?? [...before.unwarnedSites],
    unblockedSites: hosts(from["unblockedSites"]) ?? [...before.unblockedSites],
  };
}

/**
 * Check the address of a server and write it in the one way it is kept: without a slash at the end. Only HTTPS, or
 * this machine: an update that travels in the clear could be read and changed.
 */
export function readServer(text: string): string {
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    throw new BadInput("problem_address");
  }
  const loopback = url.hostname === "127.0.0.1" || url.hostname === "localhost";
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback))
    throw new BadInput("problem_address_scheme");
  if (url.username || url.password || url.search || url.hash || url.href.length > LONGEST_ADDRESS) {
    throw new BadInput("problem_address");
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

function address(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  if (value === "") return "";
  try {
    return readServer(value);
  } catch {
    return undefined;
  }
}

function threshold(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Math.min(HIGHEST_THRESHOLD, Math.max(LOWEST_THRESHOLD, value));
}

function time(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function days(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) ? Math.min(MOST_DAYS, Math.max(1, value)) : undefined;
}

function topics(value: unknown): number[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return [...TOPICS.keys()].filter((topic) => topic !== NON_SENSITIVE && value.includes(topic));
}

function hosts(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const good = value.filter(
    (host): host is string => typeof host === "string" && host !== "" && host.length <= LONGEST_HOST,
  );
  return [...new Set(good)].slice(-MOST_SITES);
}

/** Whether the clock is wrong now: it shows a time before the person answered the questions of the welcome page. */
export function isClockBehind({ asked }: Settings, now = Date.now()): boolean {
  return now < asked;
}

/**
 * Whether EITR rests: until the pause ends, nothing is read, shown, warned of, blocked or noted. A pause that would last
 * longer than any that can be chosen began while the clock was wrong, and is over; unless the clock is wrong now.
 */
export function isResting(choices: Settings, now = Date.now()): boolean {
  const left = choices.pausedUntil - now;
  return left > 0 && (left <= LONGEST_PAUSE_MS || isClockBehind(choices, now));
}

/** Whether pages may be read now: the person agreed, and EITR does not rest. */
export function mayRead(choices: Settings): boolean {
  return choices.classifying && !isResting(choices);
}
