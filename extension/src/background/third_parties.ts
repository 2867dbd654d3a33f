/** Finds the third parties of a page, by company and category, with the shipped table and the person's own lists. */

import { readTrackers, siteOf, type TrackerTable, trackerOf } from "../core/trackers";
import type { ThirdParty } from "../messages";
import { hostOf } from "./address";
import { read, write } from "./database";
import type { SeenDocument } from "./documents";
import { packagedFile } from "./model";

/** A list of hosts that the person imported. */
export interface HostList {
  name: string;
  hosts: string[];
}

/** What is known about hosts. */
export interface TrackerData {
  table: TrackerTable;
  listed: ReadonlySet<string>;
}

export interface ThirdParties {
  trackers: ThirdParty[];
  /** Third parties that are not known trackers: hosts of scripts and fonts, and unknown hosts. */
  others: string[];
}

/** Categories of third-party-web that count as trackers. */
export const TRACKING: ReadonlySet<string> = new Set([
  "ad",
  "analytics",
  "social",
  "video",
  "marketing",
  "customer-success",
  "tag-manager",
]);
/** The category of hosts that stand in a list the person imported. */
const LISTED = "list";

let held: Promise<TrackerData> | null = null;

export function trackerData(): Promise<TrackerData> {
  held ??= load().catch((error: unknown) => {
    held = null;
    throw error;
  });
  return held;
}

async function load(): Promise<TrackerData> {
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
export function forgetTrackerData(): void {
  held = null;
}

/** The third parties of a document; a company is no third party on its own pages. */
export function thirdPartiesOf({ url, hosts }: SeenDocument, { table, listed }: TrackerData): ThirdParties {
  const top = hostOf(url);
  const [site, owner] = [siteOf(top), trackerOf(table, top)?.company];
  const trackers = new Map<string, ThirdParty>();
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

function add(trackers: Map<string, ThirdParty>, company: string, category: string, host: string): void {
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

/** Return the names of the companies, each once. */
export function companies(trackers: readonly { company: string }[]): string[] {
  return [...new Set(trackers.map(({ company }) => company))];
}
