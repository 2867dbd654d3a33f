/** Which company a host belongs to, from the data of third-party-web (MIT), which the build compiles. */

import { BadInput } from "./bad_input";
import { asObject, isArrayOf, isString, member, parseJson } from "./json";
import { normalHost } from "./site";

export { readHosts } from "./host_list";
export { siteOf } from "./site";

export interface Tracker {
  readonly company: string;
  /** One of third-party-web's: ad, analytics, social, tag-manager, cdn, ... */
  readonly category: string;
}

export interface TrackerTable {
  /** Hosts that are listed themselves. */
  readonly exact: ReadonlyMap<string, Tracker>;
  /** Domains that are listed with all below them. */
  readonly below: ReadonlyMap<string, Tracker>;
}

/**
 * Read `trackers.json`, which the build writes:
 *
 *     {"format": "eitr-trackers", "version": 1, "entities": [[company, category, "host *.domain ..."], ...]}
 *
 * It comes with the extension, so it is trusted; a damaged file is still refused and not half read.
 */
export function readTrackers(bytes: Uint8Array): TrackerTable {
  const file = asObject(parseJson(bytes, "The table of trackers"), "The table of trackers");
  const entities = member(file, "entities");
  if (member(file, "format") !== "eitr-trackers" || member(file, "version") !== 1 || !isArrayOf(entities, isEntity))
    throw new BadInput("The table of trackers is not of format eitr-trackers, version 1.");
  const [exact, below] = [new Map<string, Tracker>(), new Map<string, Tracker>()];
  for (const [company, category, domains] of entities) {
    const tracker = { company, category };
    for (const domain of domains.split(" ")) {
      if (domain.startsWith("*.")) below.set(domain.slice(2), tracker);
      else exact.set(domain, tracker);
    }
  }
  return { exact, below };
}

/** The company behind a host: the host's own entry, else that of the nearest domain above it; null if there is none. */
export function trackerOf(table: TrackerTable, hostname: string): Tracker | null {
  const host = normalHost(hostname);
  return table.exact.get(host) ?? nearest(table.below, host);
}

function nearest(below: ReadonlyMap<string, Tracker>, host: string): Tracker | null {
  // Dots beyond those of any real name are not walked along: a page chooses the names of its hosts.
  for (let name = host.slice(-253); ; ) {
    const found = below.get(name);
    if (found !== undefined) return found;
    const dot = name.indexOf(".");
    if (dot === -1) return null;
    name = name.slice(dot + 1);
  }
}

function isEntity(value: unknown): value is [string, string, string] {
  return isArrayOf(value, isString) && value.length === 3;
}
