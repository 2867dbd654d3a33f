/**
 * What was seen of each host: which of its pages were sensitive, and which were not. Warnings and blocking before a
 * page was read depend on it.
 *
 * It must not be a list of what somebody visits. Hosts and pages are salted hashes; by name only those hosts are known
 * that count as sensitive (`remembered_hosts.ts`).
 */

import { NON_SENSITIVE } from "../core/taxonomy";
import { dayOf } from "../day";
import { hostOf } from "./address";
import { read, write } from "./database";
import { isLabelledOn } from "./labelled_pages";
import { saltedHash } from "./salted_hash";

export interface SeenHost {
  /** The salted hash of its name. */
  host: string;
  /** The salted hash of each page's address and its topic, the latest last. */
  pages: [page: string, topic: number][];
  /** The topic of the page at "/", if it was seen. */
  front: number | null;
  /** The companies that its sensitive pages sent requests to; what was blocked is not counted. */
  companies: string[];
  /** The person is not asked before visits until this time. */
  quietUntil: number;
  /** The person said that a page of it is not sensitive, and is not asked before visits. */
  harmless?: boolean | undefined;
  time: number;
}

const MOST_HOSTS = 2000;
const MOST_PAGES = 60;
const MOST_COMPANIES = 100;
/** Enough that no two pages of a host have the same. */
const HASH_LENGTH = 16;
/** One article, or two, may be about anything on any portal. */
const LEAST_PAGES = 3;

let queue: Promise<unknown> = Promise.resolve();

/** One after the other: each note begins with what the last one has left. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = queue.then(work);
  queue = turn.catch(() => undefined);
  return turn;
}

/** Note the topic of a page, and who tracked people there if it is sensitive; return what is known of the host now. */
export function notePage(url: string, topic: number, companies: readonly string[]): Promise<SeenHost> {
  return inTurn(async () => {
    const [page, before] = [await pageHash(url), await seenHost(hostOf(url))];
    const others = before.pages.filter(([other]) => other !== page);
    const known = new Set([...before.companies, ...(topic === NON_SENSITIVE ? [] : companies)]);
    const after: SeenHost = {
      host: before.host,
      pages: [...others, [page, topic] satisfies [string, number]].slice(-MOST_PAGES),
      front: isFront(url) ? topic : before.front,
      companies: [...known].slice(0, MOST_COMPANIES),
      quietUntil: before.quietUntil,
      // The person may have said so before the host was forgotten.
      harmless: before.time > 0 ? before.harmless : await isLabelledOn(before.host, NON_SENSITIVE),
      time: Date.now(),
    };
    if (isNew(before, after)) await store(after);
    return after;
  });
}

/** The topic a host is known for; null unless most of what was seen there is sensitive. */
export function topicOfHost({ pages, front }: SeenHost): number | null {
  const topics = pages.map(([, topic]) => topic).filter((topic) => topic !== NON_SENSITIVE);
  const enough = topics.length >= LEAST_PAGES || (front !== null && front !== NON_SENSITIVE);
  if (!enough || 2 * topics.length <= pages.length) return null;
  const count = (topic: number) => topics.filter((other) => other === topic).length;
  return topics.reduce((most, topic) => (count(topic) > count(most) ? topic : most));
}

export interface KnownPage extends Pick<SeenHost, "companies" | "quietUntil" | "harmless"> {
  topic: number;
}

/** What is known of a page that was seen before; null if it is not known as sensitive. */
export async function knownPage(url: string): Promise<KnownPage | null> {
  const [page, { pages, ...host }] = [await pageHash(url), await seenHost(hostOf(url))];
  const topic = pages.find(([other]) => other === page)?.[1] ?? NON_SENSITIVE;
  return topic === NON_SENSITIVE ? null : { ...host, topic };
}

/** Those of these pages, by the salted hashes of their addresses, that were seen of a host. */
export async function seenOf(host: string, hashes: readonly string[]): Promise<string[]> {
  const seen = new Set((await seenHost(host)).pages.map(([page]) => page));
  return hashes.filter((hash) => seen.has(hash.slice(0, HASH_LENGTH)));
}

/** Note why the person is not asked before visits to a host, or is asked again. */
export function noteSeen(host: string, quiet: Partial<Pick<SeenHost, "quietUntil" | "harmless">>): Promise<void> {
  return inTurn(async () => {
    const before = await seenHost(host);
    if (before.time > 0) await store({ ...before, ...quiet });
  });
}

/** Forget all that was seen of some hosts, or of all. */
export function forgetSeen(hosts: readonly string[] | "all"): Promise<void> {
  return inTurn(async () => {
    const hashes = hosts === "all" ? [] : await Promise.all(hosts.map(hostHash));
    await write(["seen"], (of) => {
      if (hosts === "all") of("seen").clear();
      for (const host of hashes) of("seen").delete(host);
    });
  });
}

/** All that was seen, for the export. */
export function seenHosts(): Promise<SeenHost[]> {
  return read<SeenHost[]>("seen", (store) => store.getAll());
}

/** What is known of a host; `time` is 0 if that is nothing. */
export async function seenHost(name: string): Promise<SeenHost> {
  const host = await hostHash(name);
  const found = await read<SeenHost | undefined>("seen", (store) => store.get(host));
  return found ?? { host, pages: [], front: null, companies: [], quietUntil: 0, time: 0 };
}

async function store(seen: SeenHost): Promise<void> {
  const full = seen.pages.length === 1 && (await read<number>("seen", (store) => store.count())) >= MOST_HOSTS;
  const all = full ? await read<SeenHost[]>("seen", (store) => store.getAll()) : [];
  const oldest = all.sort((one, other) => other.time - one.time).slice(MOST_HOSTS - 1);
  await write(["seen"], (of) => {
    of("seen").put(seen);
    for (const { host } of oldest) of("seen").delete(host);
  });
}

/** Whether there is anything to write: most calls tell what is known already, and was seen on the same day. */
function isNew(before: SeenHost, after: SeenHost): boolean {
  const [was, is] = [before, after].map(({ pages, front, companies, time }) =>
    JSON.stringify([pages, front, companies, dayOf(time)]),
  );
  return was !== is;
}

function isFront(url: string): boolean {
  const { pathname, search, hash } = new URL(url);
  return pathname === "/" && search === "" && hash === "";
}

async function pageHash(url: string): Promise<string> {
  return (await saltedHash(url)).slice(0, HASH_LENGTH);
}

async function hostHash(host: string): Promise<string> {
  return saltedHash(host);
}
