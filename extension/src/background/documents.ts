/**
 * What is known of the documents that are open in tabs: address, verdict, and which hosts were asked for anything.
 *
 * Held in memory and written to `storage.session`, which outlives the worker but not the browser, and which neither web
 * pages nor content scripts can read. Everything hangs on the document, not on the tab: the first requests of a
 * document are seen before it is committed, and a document that comes back from the back/forward cache is still the one
 * it was. Firefox has no ids of documents; there the tab and the address stand for it.
 */

import { browser } from "../browser";
import type { Verdict } from "../messages";
import { pageAddress } from "./address";
import type { WordCount } from "./word_counts";

/** What is noted of a document for the page "Who could know what" (`history.ts`). */
export interface NotedVisit {
  /** The note's key: the day, the site and a random name. */
  key: [day: string, site: string, name: string];
  topic: number;
  /** The companies in it; none until the note is on the disk. */
  companies: string[];
}

export interface SeenDocument {
  id: string;
  tab: number;
  /** The page's address (`pageAddress`). */
  url: string;
  /** What is shown, corrections of similar pages included; null until the page was read at its present address. */
  verdict: Verdict | null;
  /** What the published model alone says; null if `verdict` is. */
  published: Verdict | null;
  /** The class the person chose for this address. */
  label: number | null;
  /** Hosts of all requests, in order of appearance. */
  hosts: string[];
  time: number;
  /** Hosts of which requests were blocked: how often they were asked for anything, and how often that was blocked. */
  blocked?: Record<string, Requests>;
  /** The task of a study that led the tab here; absent where only the address tells (`taskOf`). */
  task?: number;
  /** Its note in the history; absent if there is none. */
  visit?: NotedVisit;
  /** Set while something has changed that badge, rules and notes do not follow yet (`document_effects.ts`). */
  due?: true;
}

export interface Requests {
  asked: number;
  blocked: number;
}

/** Together less than the 10 MB that `storage.session` holds, also for pages that do their worst. */
const MOST_HOSTS = 300;
const MOST_DOCUMENTS = 200;
const MOST_DOCUMENTS_A_TAB = 8;
const MOST_FRAMES = 2000;
const MOST_EARLY = 50;
const WRITE_AFTER_MS = 50;

const documents = new Map<string, SeenDocument>();
const tabs = new Map<number, string>();
/** From a document in a frame to the document of its tab. */
const frames = new Map<string, string>();
/** Requests of documents that are not committed yet, by host. */
const early = new Map<string, Map<string, Requests>>();
/** How often the hosts of a document were asked for anything; needed only while requests are being blocked. */
const asked = new WeakMap<SeenDocument, Map<string, number>>();

const changed = new Set<string>();
let writing: ReturnType<typeof setTimeout> | null = null;
let loading: Promise<void> | null = null;

/** Wait until what an earlier worker knew is known again. */
export function documentsLoaded(): Promise<void> {
  loading ??= browser.storage.session.get(null).then((stored) => {
    for (const [key, value] of Object.entries(stored)) {
      if (key.startsWith("document:")) documents.set(key.slice(9), value as SeenDocument);
      if (key.startsWith("tab:")) tabs.set(Number(key.slice(4)), value as string);
    }
  });
  return loading;
}

export function currentDocument(tab: number): SeenDocument | undefined {
  return documents.get(tabs.get(tab) ?? "");
}

/** A document by its id, if it is the one its tab shows. */
export function shownDocument(id: string): SeenDocument | undefined {
  const found = documents.get(id);
  return found !== undefined && tabs.get(found.tab) === id ? found : undefined;
}

/** The documents whose effects an earlier worker left undone. */
export function dueDocuments(): SeenDocument[] {
  return [...documents.values()].filter(({ due }) => due);
}

export function openTabs(): number[] {
  return [...tabs.keys()];
}

/** A tab shows a new document, or an old one again. */
export function committed(tab: number, documentId: string | undefined, address: string, back: boolean): SeenDocument {
  const url = pageAddress(address);
  const id = documentId ?? `${tab}|${url}`;
  const known = documents.get(id);
  // Without ids a reload looks like the old document; only what comes back from history may be it.
  const same = known !== undefined && (documentId !== undefined || back);
  const found = same ? known : { id, tab, url, verdict: null, published: null, label: null, hosts: [], time: 0 };
  if (found.url !== url) moved(found, url);
  found.tab = tab;
  found.time = Date.now();
  documents.set(id, found);
  const before = tabs.get(tab);
  tabs.set(tab, id);
  // Only the page that is shown can be corrected.
  if (before !== undefined && before !== id) void browser.storage.session.remove(`words:${before}`);
  void keep({ [`tab:${tab}`]: id });
  for (const [host, requests] of early.get(id) ?? []) addRequests(found, host, requests);
  early.delete(id);
  evict(tab);
  saveSoon(found);
  return found;
}

/** A tab shows nothing that we know: an error of the browser's, for one. */
export function tabLeft(tab: number): void {
  tabs.delete(tab);
  void browser.storage.session.remove(`tab:${tab}`);
}

/** A frame shows a new document: what it asks for counts for the document of its tab. */
export function frameCommitted(documentId: string | undefined, parentDocumentId: string | undefined): void {
  if (documentId === undefined || parentDocumentId === undefined) return;
  const top = topOf(parentDocumentId);
  if (top === undefined) return;
  noteFrame(documentId, top);
  for (const [host, requests] of early.get(documentId) ?? []) addRequests(top, host, requests);
  early.delete(documentId);
}

export interface Requested {
  tabId: number;
  frameId: number;
  documentId?: string;
  parentDocumentId?: string;
  documentLifecycle?: string;
}

/**
 * Note that a host was asked for something, that this was blocked, or both; return the document if it is known and this
 * is news: the host, or that requests of it are blocked.
 */
export function requested(request: Requested, host: string, requests: Requests): SeenDocument | undefined {
  const { documentId, parentDocumentId } = request;
  const own = documentId ?? parentDocumentId;
  let found = own === undefined ? currentDocument(request.tabId) : (topOf(own) ?? topOf(parentDocumentId ?? ""));
  if (found === undefined && request.frameId > 0 && request.documentLifecycle === "active")
    found = currentDocument(request.tabId);
  if (found !== undefined) {
    if (documentId !== undefined && documentId !== found.id) noteFrame(documentId, found);
    return addRequests(found, host, requests) ? found : undefined;
  }
  if (own !== undefined) {
    const hosts = early.get(own) ?? new Map<string, Requests>();
    const before = hosts.get(host);
    if (before !== undefined || hosts.size < MOST_HOSTS) hosts.set(host, together(before, requests));
    early.set(own, hosts);
    for (const oldest of early.keys()) if (early.size > MOST_EARLY) early.delete(oldest);
  }
  return undefined;
}

/** The hosts of a document that something was sent to, as far as is known: not all that was asked for was blocked. */
export function reachedHosts({ hosts, blocked = {} }: SeenDocument): string[] {
  return hosts.filter((host) => {
    const of = blocked[host];
    return of === undefined || of.asked > of.blocked;
  });
}

/** The address changed within the document. What was said of the old address no longer holds. */
export function moved(found: SeenDocument, address: string): void {
  found.url = pageAddress(address);
  found.verdict = null;
  found.published = null;
  found.label = null;
  delete found.task;
  delete found.visit;
  saveSoon(found);
}

export function saveSoon(found: SeenDocument): void {
  changed.add(found.id);
  writing ??= setTimeout(() => void saveDocuments(), WRITE_AFTER_MS);
}

/** Write what has changed, now. */
export async function saveDocuments(): Promise<void> {
  if (writing !== null) clearTimeout(writing);
  writing = null;
  const values: Record<string, SeenDocument> = {};
  for (const id of changed) {
    const found = documents.get(id);
    if (found !== undefined) values[`document:${id}`] = found;
  }
  changed.clear();
  await keep(values);
}

/**
 * The words of a document, kept beside it for the case that the person corrects its class. As one text: a list of pairs
 * takes ten times as much of the little room there is.
 */
export async function saveWords(found: SeenDocument, words: WordCount[]): Promise<void> {
  await keep({ [`words:${found.id}`]: words.map(([word, count]) => `${word} ${count}`).join("\n") });
}

export async function savedWords(found: SeenDocument): Promise<WordCount[] | undefined> {
  const key = `words:${found.id}`;
  const text = (await browser.storage.session.get(key))[key] as string | undefined;
  return text?.split("\n").flatMap((line): WordCount[] => {
    const [word, count] = line.split(" ");
    return word && count ? [[word, Number(count)]] : [];
  });
}

export function tabRemoved(tab: number): void {
  tabLeft(tab);
  for (const found of documents.values()) if (found.tab === tab) drop(found);
}

/** Forget everything: the person took back their consent, or deletes everything. */
export async function forgetDocuments(): Promise<void> {
  if (writing !== null) clearTimeout(writing);
  writing = null;
  for (const map of [documents, tabs, frames, early]) map.clear();
  changed.clear();
  await browser.storage.session.clear();
}

function topOf(documentId: string): SeenDocument | undefined {
  return documents.get(documentId) ?? documents.get(frames.get(documentId) ?? "");
}

function noteFrame(documentId: string, top: SeenDocument): void {
  frames.set(documentId, top.id);
  for (const oldest of frames.keys()) if (frames.size > MOST_FRAMES) frames.delete(oldest);
}

/**
 * Write to `storage.session`. If it is full, drop documents that no tab shows; if that is not enough, remove the old
 * values, because stale ones would be wrong.
 */
async function keep(values: Record<string, unknown>): Promise<void> {
  try {
    await browser.storage.session.set(values);
  } catch {
    const shown = new Set(tabs.values());
    for (const found of documents.values()) if (!shown.has(found.id)) drop(found);
    await browser.storage.session.set(values).catch(() => browser.storage.session.remove(Object.keys(values)));
  }
}

function addRequests(found: SeenDocument, host: string, requests: Requests): boolean {
  const isNew = !found.hosts.includes(host);
  if (isNew && found.hosts.length >= MOST_HOSTS) return false;
  if (isNew) found.hosts.push(host);
  const counts = asked.get(found) ?? new Map<string, number>();
  // A worker that was started since has not counted what came before.
  const earlier = counts.get(host) ?? (isNew ? 0 : 1);
  asked.set(found, counts.set(host, earlier + requests.asked));
  const before = found.blocked?.[host];
  if (before !== undefined) found.blocked![host] = together(before, requests);
  else if (requests.blocked > 0)
    found.blocked = { ...found.blocked, [host]: together({ asked: earlier, blocked: 0 }, requests) };
  if (isNew || requests.blocked > 0 || before !== undefined) saveSoon(found);
  return isNew || (before === undefined && requests.blocked > 0);
}

function together(before: Requests | undefined, requests: Requests): Requests {
  return { asked: (before?.asked ?? 0) + requests.asked, blocked: (before?.blocked ?? 0) + requests.blocked };
}

function evict(tab: number): void {
  const shown = new Set(tabs.values());
  const byAge = [...documents.values()].filter((one) => !shown.has(one.id)).sort((one, other) => one.time - other.time);
  const ofTab = byAge.filter((one) => one.tab === tab);
  for (const old of ofTab.slice(0, Math.max(0, ofTab.length - MOST_DOCUMENTS_A_TAB))) drop(old);
  for (const old of byAge) if (documents.size > MOST_DOCUMENTS) drop(old);
}

function drop(found: SeenDocument): void {
  documents.delete(found.id);
  changed.delete(found.id);
  for (const [frame, top] of frames) if (top === found.id) frames.delete(frame);
  void browser.storage.session.remove([`document:${found.id}`, `words:${found.id}`]);
}
