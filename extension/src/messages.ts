/**
 * Everything that contexts of the extension say to one another. The worker answers; content scripts and our own pages
 * ask. A content script speaks for a page that may be hostile, so what it may say is little (`ContentMessage`), and a
 * page of ours may only say what it needs (`ALLOWED`): the interstitial, the only one that web pages can lead to, can
 * do least.
 */

import { browser } from "./browser";
import type { CannotTell } from "./core/answer";
import type { RoundResult } from "./core/round_results";
import type { TaskEnd, TaskState } from "./core/study";
import type { Invitation } from "./join_link";
import type { News } from "./news";
import type { Settings } from "./settings";

/** What a content script may say. `page` is checked by `readPage`. */
export type ContentMessage =
  | { kind: "page"; url: string; page: unknown }
  /** Is this host known as sensitive? Answered with a class, and only while marks on links are switched on. */
  | { kind: "link"; host: string };

/** What the worker says to a content script: look at the page again, it has changed; or leave it in peace. */
export interface WorkerMessage {
  kind: "look-again" | "rest";
}

/**
 * What a content script is told after it reported: whether links are to be marked, and whether the page is not to be
 * read at all; nothing about the page.
 */
export interface ContentAnswer {
  marks: boolean;
  off?: true;
}

export interface LeadingWord {
  word: string;
  share: number;
}

/** What the model says of a page. What people are told follows from it and from their settings (`answerOf`). */
export interface Verdict {
  /** The most probable class, however probable it is. */
  topic: number;
  /** Of all classes, in the order of the taxonomy. */
  probabilities: number[];
  language: string;
  /** How many different words of the vocabulary the page has. */
  knownWords: number;
  /** Those that spoke for the topic. */
  words: LeadingWord[];
  /** Version of the model, 0 for the one that comes with the extension. */
  version: number;
}

/** A company whose hosts the page contacts. */
export interface ThirdParty {
  company: string;
  category: string;
  hosts: string[];
}

/** The study that the person takes part in, and where they are in it. */
export interface StudyView {
  title: string;
  open: boolean;
  tasks: number;
  /** How many tasks are answered, skipped or reported as broken. */
  ended: number;
  /** The task that the tab shows. */
  here: { id: number; number: number; state: TaskState } | null;
  /** The next task that is open. */
  next: { id: number; number: number } | null;
  /** Whether the server gets the classes that the person chooses. */
  collect: boolean;
  /** Whether the server gets the words of the task pages that the person labelled. */
  terms: boolean;
  /** In how many rounds a task page may be used. */
  uses: number;
  /** Whether the person lets servers train all layers: then nothing limits what updates give away. */
  allLayers: boolean;
  completionCode: string | null;
  /** The address of the person's page on the study's site. */
  page: string;
}

/** An invitation that the page in a tab is. `before`: the server that it would replace, if any. */
export interface Offer extends Invitation {
  before: string;
}

/** What the server was told about a task, as the page "what was sent" tells it. */
export interface SentAnswer {
  time: number;
  server: string;
  number: number;
  state: "opened" | TaskEnd;
  /** The class that was sent; null if none was. */
  label: number | null;
  outcome: Sent["outcome"];
}

/** A report of words that the server got, as the page "what was sent" tells it. */
export interface SentTerms {
  time: number;
  server: string;
  words: number;
  pages: number;
  outcome: Sent["outcome"];
}

/** Whether trackers are blocked on a page, and what was. */
export interface BlockingView {
  /** Whether trackers on sensitive pages are blocked at all. */
  on: boolean;
  /** Whether the person allowed the trackers of this site. */
  siteAllowed: boolean;
  /** Whether rules are in force for this page. */
  active: boolean;
  /** How many requests of this document were blocked. */
  blocked: number;
  /** Whose requests they were. */
  companies: string[];
}

export interface PopupView {
  state: "no-consent" | "paused" | "not-a-page" | "off" | "waiting" | "ready";
  /** Until when EITR rests, in milliseconds since 1970; 0 if it does not. */
  pausedUntil: number;
  document: string;
  url: string;
  site: string;
  host: string;
  /** Null until the page was read. */
  verdict: Verdict | null;
  /** The class the person chose for this page, if they did. */
  label: number | null;
  /** The class that people are told; null if EITR cannot tell, or not yet. */
  shown: number | null;
  /** Why EITR cannot tell what the page is about, if so. */
  cannotTell: CannotTell | null;
  /** Where something is learned from a correction of this page: not here, if EITR knows too few of its words. */
  learns: { local: boolean; contributing: boolean };
  trackers: ThirdParty[];
  others: string[];
  blocking: BlockingView;
  /** Whether the next visit to this page will be preceded by a warning. */
  remembered: boolean;
  /** What became of a round that the person took part in, until they hide it. */
  news: News | null;
  study: StudyView | null;
  /** Whether the server said that the study has ended for the person. */
  studyLeft: boolean;
  /** Whether the prediction is withheld because the page is a task that waits for the person's own choice. */
  hidden: boolean;
  /** Whether the published model would say something else: corrections of similar pages made the difference. */
  local: boolean;
}

/** What corrections change in this browser. */
export interface LocalView {
  /** How many corrections may change the verdicts on other pages. */
  corrections: number;
  /** Whether they do so now. */
  changed: boolean;
  /** False if there are no cover pages for the model in use: then nothing can be learned here. */
  possible: boolean;
}

export interface ModelView {
  version: number;
  server: string;
  words: number;
}

export interface LearningView {
  pages: number;
  /** How many of them were used in as many rounds as they may be. */
  usedUp: number;
  enrolled: boolean;
  sent: number;
  /** What happened last, as the key of a sentence; empty if nothing has happened yet. */
  last: string;
  lastTime: number;
  nextTime: number;
}

export interface OptionsView {
  settings: Settings;
  model: ModelView;
  learning: LearningView;
  lists: { name: string; entries: number }[];
  rememberedHosts: number;
  /** The remembered hosts, the newest first. */
  hosts: { host: string; topic: number; time: number }[];
  study: StudyView | null;
  /** Why there is no study, as the key of a sentence; empty if there is one, or if nothing is known. */
  studyNote: string;
  local: LocalView;
}

/** One upload, as the page "what was sent" tells it. */
export interface Sent {
  time: number;
  server: string;
  round: number;
  base: number;
  bytes: number;
  sha256: string;
  pages: number;
  /** How many public pages were trained on besides; absent if all layers were trained, without any. */
  cover?: number;
  /** What the server said; nothing, if its answer has not come or never came. */
  outcome: "unknown" | "taken" | "refused";
  /** What became of the round, once the server has said so. */
  result?: RoundResult;
}

export interface WarningView {
  /** Where Continue leads: checked by the worker, never taken from the address bar alone. */
  target: string;
  host: string;
  topic: number;
  companies: string[];
  /** Whether known trackers are blocked there. */
  blocks: boolean;
}

/** How long the person does not want to be asked again before visits to a site. */
export type Quiet = "visit" | "day" | "always";

/** The lists of sites in the settings. */
export type SiteList = "offSites" | "unwarnedSites" | "unblockedSites";

/** A company on a page, and what kind of company it is. */
export interface Presence {
  company: string;
  category: string;
}

/** A sensitive page that the person saw, and the companies that were present on it. */
export interface Visit {
  /** As "2026-11-18", where the person was. */
  day: string;
  site: string;
  topic: number;
  companies: Presence[];
}

/** What the page "Who could know what" shows. */
export interface HistoryView {
  /** Whether pages are read at all. */
  reading: boolean;
  on: boolean;
  /** How many days visits are kept. */
  days: number;
  /** By day, then by site. */
  visits: Visit[];
}

/** Every question a page of ours can ask: what it says, and what it is answered. */
export interface Calls {
  popup: [{ tab: number }, PopupView];
  label: [{ document: string; url: string; label: number }, PopupView];
  "take-back": [{ document: string; url: string }, PopupView];
  site: [{ document: string; on: boolean }, PopupView];
  /** Block the trackers of the site on its sensitive pages, or allow them because it does not work otherwise. */
  "block-site": [{ document: string; on: boolean }, PopupView];
  /** Rest for so many minutes; 0 ends the pause. */
  pause: [{ tab: number; minutes: number }, PopupView];
  /** Do not show the news of this version of the model any more. */
  "hide-news": [{ tab: number; version: number }, PopupView];
  /** The invitation that the page in a tab is. */
  offer: [{ tab: number }, { offer: Offer | null }];
  join: [Invitation, { settings: Settings; studyNote: string }];
  "open-task": [{ tab: number; task: number }, PopupView];
  "end-task": [{ tab: number; task: number; state: Exclude<TaskEnd, "labelled"> }, PopupView];
  options: [Record<string, never>, OptionsView];
  change: [{ settings: Partial<Settings> }, OptionsView];
  /** Take a site off the list of those that are left alone. */
  "unlist-site": [{ list: SiteList; site: string }, OptionsView];
  /** How many lines of the list were left out is told. */
  "import-list": [{ name: string; text: string }, { view: OptionsView; notUnderstood: number }];
  "remove-list": [{ name: string }, OptionsView];
  "forget-host": [{ host: string }, OptionsView];
  "forget-hosts": [Record<string, never>, OptionsView];
  learn: [Record<string, never>, OptionsView];
  /** Let the published model judge all pages again, until there are new corrections. */
  "reset-local": [Record<string, never>, OptionsView];
  erase: [{ server: boolean }, { erased: true }];
  export: [Record<string, never>, { data: object }];
  consent: [
    { classifying: boolean; contributing: boolean; studies: boolean; server: string; invitation: string },
    { settings: Settings },
  ];
  sent: [Record<string, never>, { sent: Sent[]; answers: SentAnswer[]; terms: SentTerms[]; news: News | null }];
  warning: [{ target: string }, { view: WarningView | null }];
  continue: [{ target: string; quiet: Quiet }, { target: string }];
  history: [Record<string, never>, HistoryView];
  "set-history": [{ on?: boolean; days?: number }, HistoryView];
  /** Delete the visits with all that is named, or take the company out of them; without anything named: all. */
  "forget-visits": [{ company?: string; topic?: number; site?: string }, HistoryView];
}

export type Kind = keyof Calls;
export type PageName = "popup" | "options" | "welcome" | "sent" | "warning" | "history";

/** Which page may ask what. */
export const ALLOWED: Record<PageName, readonly Kind[]> = {
  popup: [
    "popup",
    "label",
    "take-back",
    "site",
    "block-site",
    "pause",
    "hide-news",
    "offer",
    "join",
    "open-task",
    "end-task",
  ],
  options: [
    "options",
    "change",
    "unlist-site",
    "import-list",
    "remove-list",
    "forget-host",
    "forget-hosts",
    "learn",
    "reset-local",
    "erase",
    "export",
  ],
  welcome: ["options", "consent"],
  sent: ["sent"],
  warning: ["warning", "continue"],
  history: ["history", "set-history", "forget-visits"],
};

/** How every question of a page is answered; `problem` is the key of a sentence in `_locales`. */
export type Answer<K extends Kind> = { ok: true; answer: Calls[K][1] } | { ok: false; problem: string };

/** The worker could not do what was asked; the message is the key of a sentence. */
export class Problem extends Error {
  override readonly name = "Problem";
}

/** Ask the worker. */
export async function ask<K extends Kind>(kind: K, wish: Calls[K][0]): Promise<Calls[K][1]> {
  const answer: Answer<K> | undefined = await browser.runtime.sendMessage({ kind, ...wish });
  if (answer === undefined) throw new Problem("problem_failed");
  if (!answer.ok) throw new Problem(answer.problem);
  return answer.answer;
}
