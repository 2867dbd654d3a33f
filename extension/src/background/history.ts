/**
 * Notes which companies were on which sensitive pages, for the page "Who could know what". Nothing is noted unless the
 * person has switched it on, and nothing of it leaves this browser.
 *
 * A note has the least that the picture needs: site, topic, companies and calendar day. There is no address, no title
 * and no time of day, and notes of one day and site have random names, so that their order is not kept either.
 */

import { NON_SENSITIVE } from "../core/taxonomy";
import { siteOf } from "../core/trackers";
import { dayOf, daysLater } from "../day";
import type { HistoryView, Presence, Visit } from "../messages";
import { isClockBehind, mayRead, type Settings } from "../settings";
import { hostOf } from "./address";
import { read, write } from "./database";
import { type NotedVisit, reachedHosts, type SeenDocument, saveDocuments, saveSoon } from "./documents";
import { publishedTopic } from "./page_answer";
import { settings } from "./settings_store";
import { taskOf } from "./study/task_pages";
import { companies, thirdPartiesOf, trackerData } from "./third_parties";

/** Which notes to delete: those with all that is named. With a company, only the company is taken out of them. */
export interface Forgotten {
  company?: string;
  topic?: number;
  site?: string;
}

/** Together, also for pages that do their worst, small enough to be read at once. The oldest are dropped first. */
const MOST_VISITS = 10_000;
const MOST_COMPANIES = 60;
/** A page that reloads itself all day must not push out everything else. */
const MOST_OF_A_SITE_IN_A_DAY = 200;

let queue: Promise<unknown> = Promise.resolve();

/** One after the other: what is deleted or switched off is not written by somebody who had asked before. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = queue.then(work);
  queue = turn.catch(() => undefined);
  return turn;
}

/**
 * Note the companies on a document, if it is sensitive. Call it whenever the document has changed: each document has
 * one note, which follows its verdict and its companies.
 */
export async function noteVisit(seen: SeenDocument): Promise<void> {
  await inTurn(() => note(seen)).catch((error: unknown) => console.error("A visit was not noted:", error));
}

async function note(seen: SeenDocument): Promise<void> {
  const [choices, known, task] = await Promise.all([settings(), trackerData(), taskOf(seen)]);
  const site = siteOf(hostOf(seen.url));
  const off = !mayRead(choices) || !choices.history || choices.offSites.includes(site);
  // The person was asked to come to the pages of a study: they say nothing about the person.
  if (off || site === "" || task !== null) return;
  // No page sees what is noted, so the person's own word counts.
  const topic = seen.label ?? publishedTopic(seen, choices);
  if (topic === null) return;
  if (topic === NON_SENSITIVE) return withdraw(seen);
  const present = presentOn(seen, known);
  const visit = seen.visit ?? (await newVisit(seen, site, present));
  if (visit !== undefined) await update(seen, visit, topic, present);
}

/** The companies that were asked for anything, and not in vain: what was blocked did not reach them. */
function presentOn(seen: SeenDocument, known: Awaited<ReturnType<typeof trackerData>>): Presence[] {
  const found = thirdPartiesOf({ ...seen, hosts: reachedHosts(seen) }, known).trackers.slice(0, MOST_COMPANIES);
  return found.map(({ company, category }) => ({ company, category }));
}

/** The name of a note to be written, on the disk before the note is: a worker that is killed writes the same again. */
async function newVisit(seen: SeenDocument, site: string, present: Presence[]): Promise<NotedVisit | undefined> {
  if (present.length === 0) return undefined;
  const { url } = seen;
  const day = dayOf(Date.now());
  const ofToday = IDBKeyRange.bound([day, site], [day, site, []]);
  if ((await read<number>("visits", (store) => store.count(ofToday))) >= MOST_OF_A_SITE_IN_A_DAY) return undefined;
  if (seen.url !== url) return undefined;
  seen.visit = { key: [day, site, crypto.randomUUID()], topic: NON_SENSITIVE, companies: [] };
  const named = seen.visit;
  saveSoon(seen);
  await saveDocuments();
  // Meanwhile the document may have become another page.
  return seen.visit === named ? named : undefined;
}

/**
 * Bring a note up to date: add who came, take out who was blocked after all. What the person has deleted meanwhile
 * stays deleted.
 */
async function update(seen: SeenDocument, visit: NotedVisit, topic: number, present: Presence[]): Promise<void> {
  const [before, after] = [new Set(visit.companies), new Set(companies(present))];
  const came = present.filter(({ company }) => !before.has(company));
  const went = [...before].filter((company) => !after.has(company));
  if (came.length === 0 && went.length === 0 && topic === visit.topic) return;
  const choices = await settings();
  await write(["visits"], (of) => {
    const store = of("visits");
    const put = (companies: Presence[]) => {
      const [day, site] = visit.key;
      if (companies.length === 0) store.delete(visit.key);
      else store.put({ day, site, topic, companies } satisfies Visit, visit.key);
    };
    if (before.size === 0) put(came);
    else
      onResult<Visit | undefined>(store.get(visit.key), (noted) => {
        if (noted !== undefined) put([...noted.companies.filter(({ company }) => !went.includes(company)), ...came]);
      });
    prune(store, choices);
  });
  visit.topic = topic;
  visit.companies = [...after];
  if (seen.visit === visit) saveSoon(seen);
}

/** The page is not sensitive after all. */
async function withdraw(seen: SeenDocument): Promise<void> {
  const { visit } = seen;
  if (visit === undefined) return;
  await write(["visits"], (of) => of("visits").delete(visit.key));
  if (seen.visit !== visit) return;
  delete seen.visit;
  saveSoon(seen);
}

function prune(store: IDBObjectStore, choices: Settings): void {
  for (const keys of expired(choices)) store.delete(keys);
  onResult<number>(store.count(), (count) => {
    let excess = count - MOST_VISITS;
    if (excess <= 0) return;
    onResult<IDBCursor | null>(store.openKeyCursor(), (cursor) => {
      if (cursor === null || excess <= 0) return;
      store.delete(cursor.primaryKey);
      excess -= 1;
      cursor.continue();
    });
  });
}

/**
 * The keys of all days but today and those before it that make up the number. Days after tomorrow were noted while the
 * clock was wrong, and nobody knows how old they are; tomorrow may be today where the person was. If the clock is wrong
 * now, they may be right.
 */
function expired(choices: Settings): IDBKeyRange[] {
  const today = dayOf(Date.now());
  const past = IDBKeyRange.upperBound([daysLater(today, 1 - choices.historyDays)]);
  return isClockBehind(choices) ? [past] : [past, IDBKeyRange.lowerBound([daysLater(today, 2)])];
}

/** Delete what is older than it may be. */
export async function pruneVisits(): Promise<void> {
  const choices = await settings();
  const found = expired(choices).map((keys) => read<number>("visits", (store) => store.count(keys)));
  if ((await Promise.all(found)).some((count) => count > 0))
    await write(["visits"], (of) => prune(of("visits"), choices));
}

/** Delete notes; all of them, if nothing is named. */
export function forgetVisits(which: Forgotten): Promise<void> {
  return inTurn(() =>
    write(["visits"], (of) => {
      const store = of("visits");
      if (Object.values(which).every((named) => named === undefined)) store.clear();
      // All at once: a cursor takes many seconds for thousands of notes.
      else
        onResult<IDBValidKey[]>(store.getAllKeys(), (keys) =>
          onResult<Visit[]>(store.getAll(), (noted) => {
            for (const [place, visit] of noted.entries()) forgetIn(store, keys[place]!, visit, which);
          }),
        );
    }),
  );
}

function forgetIn(store: IDBObjectStore, key: IDBValidKey, visit: Visit, { company, topic, site }: Forgotten): void {
  if ((topic ?? visit.topic) !== visit.topic || (site ?? visit.site) !== visit.site) return;
  const rest = visit.companies.filter((one) => company !== undefined && one.company !== company);
  if (rest.length === 0) store.delete(key);
  else if (rest.length < visit.companies.length) store.put({ ...visit, companies: rest }, key);
}

export async function visits(): Promise<Visit[]> {
  await pruneVisits();
  return read<Visit[]>("visits", (store) => store.getAll());
}

export async function historyView(): Promise<HistoryView> {
  const { classifying, history, historyDays } = await settings();
  return { reading: classifying, on: history, days: historyDays, visits: await visits() };
}

function onResult<T>(request: IDBRequest, then: (result: T) => void): void {
  request.onsuccess = () => then(request.result as T);
}
