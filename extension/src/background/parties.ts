/**
 * Who looks on while a page is read: third parties by company and category, from the shipped table and the person's own
 * lists.
 */

import { readTrackers, siteOf, type TrackerTable, trackerOf } from "../core/trackers";
import type { Party } from "../messages";
import { read, write } from "./database";
import type { SeenDocument } from "./documents";
import { packagedFile } from "./model";

/** A list of hosts that the person imported. */
export interface HostList {
  name: string;
  hosts: string[];
}

/** What is known about hosts. */
export interface Knowledge {
  table: TrackerTable;
  listed: ReadonlySet<string>;
}

export interface Parties {
  trackers: Party[];
  /** Third parties that are not known to follow people: stores of scripts and fonts, and those nobody knows. */
  others: string[];
}

/** Categories of third-party-web whose business is to know who reads what. */
const TRACKING = new Set(["ad", "analytics", "social", "video", "marketing", "customer-success", "tag-manager"]);
/** The category of hosts that stand in a list the person imported. */
const LISTED = "list";

let held: Promise<Knowledge> | null = null;

export function knowledge(): Promise<Knowledge> {
  held ??= load().catch((error: unknown) => {
    held = null;
    throw error;
  });
  return held;
}

async function load(): Promise<Knowledge> {
  const lists = await hostLists();
  return {
    table: readTrackers(await packagedFile("trackers.json")),
    listed: new Set(lists.flatMap((list) => list.hosts)),
  };
}

export function hostLists(): Promise<HostList[]> {
  return read<HostList[]>("lists", (store) => store.getAll());
}

export async function addHostList(list: HostList): Promise<void> {
  await write(["lists"], (of) => of("lists").put(list));
  held = null;
}

export async function removeHostList(name: string): Promise<void> {
  await write(["lists"], (of) => of("lists").delete(name));
  held = null;
}

/** Forget what is held, after the database was deleted. */
export function forgetKnowledge(): void {
  held = null;
}

/** The third parties of a document; a company is no third party on its own pages. */
export function partiesOf({ url, hosts }: SeenDocument, { table, listed }: Knowledge): Parties {
  const top = hostOf(url);
  const [site, owner] = [siteOf(top), trackerOf(table, top)?.company];
  const trackers = new Map<string, Party>();
  const others = new Set<string>();
  for (const host of hosts) {
    if (siteOf(host) === site) continue;
    const known = trackerOf(table, host);
    if (known !== null && known.company === owner) continue;
    if (isListed(host, listed)) add(trackers, known?.company ?? siteOf(host), known?.category ?? LISTED, host);
    else if (known !== null && TRACKING.has(known.category)) add(trackers, known.company, known.category, host);
    else others.add(known?.company ?? siteOf(host));
  }
  return { trackers: [...trackers.values()], others: [...others] };
}

function add(trackers: Map<string, Party>, company: string, category: string, host: string): void {
  const key = `${company}\n${category}`;
  const party = trackers.get(key) ?? { company, category, hosts: [] };
  party.hosts.push(host);
  trackers.set(key, party);
}

/** Whether a list names the host or a domain above it. */
function isListed(host: string, listed: ReadonlySet<string>): boolean {
  if (listed.size === 0) return false;
  for (let name = host; ; ) {
    if (listed.has(name)) return true;
    const dot = name.indexOf(".");
    if (dot === -1) return false;
    name = name.slice(dot + 1);
  }
}

/** How many companies follow the reader. */
export function companies(trackers: readonly Party[]): string[] {
  return [...new Set(trackers.map(({ company }) => company))];
}

/** The host of a web page; empty for every other address. */
export function hostOf(url: string): string {
  try {
    const { protocol, hostname } = new URL(url);
    return protocol === "http:" || protocol === "https:" ? hostname : "";
  } catch {
    return "";
  }
}
