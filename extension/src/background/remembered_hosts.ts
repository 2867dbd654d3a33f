/**
 * Hosts of which most of what was seen is sensitive (`seen_hosts.ts`): trackers are blocked there from the first request
 * on, links to them can be marked, and the person may be asked before the next visit.
 */

import { normalHost } from "../core/site";
import { read, write } from "./database";

export interface RememberedHost {
  host: string;
  topic: number;
  /** Who its sensitive pages sent requests to; nobody is warned of a host where no tracker got any. */
  companies: string[];
  time: number;
  /** The number of the browser's rule for this host. */
  rule: number;
  /** The person is not asked before this time. */
  quietUntil: number;
  /** The person said that a page of it is not sensitive, and is not asked. */
  harmless?: boolean | undefined;
}

const MOST_COMPANIES = 100;

let held: Promise<Map<string, RememberedHost>> | null = null;

export function rememberedHosts(): Promise<Map<string, RememberedHost>> {
  held ??= stored().catch((error: unknown) => {
    held = null;
    throw error;
  });
  return held;
}

async function stored(): Promise<Map<string, RememberedHost>> {
  const all = await read<RememberedHost[]>("hosts", (store) => store.getAll());
  // An earlier version kept the dot that may end a name, and nothing is found under such a name.
  const old = all.filter(({ host }) => host !== normalHost(host));
  if (old.length > 0)
    await write(["hosts"], (of) => {
      for (const { host } of old) of("hosts").delete(host);
    });
  return new Map(all.filter((known) => !old.includes(known)).map((known) => [known.host, known]));
}

/** Note a host and return what has to be forgotten for it, so that there are never more than `most`. */
export async function rememberHost(
  { host, topic, companies, quietUntil, harmless }: Omit<RememberedHost, "time" | "rule">,
  most: number,
): Promise<RememberedHost[]> {
  const hosts = await rememberedHosts();
  const rule = hosts.get(host)?.rule ?? freeRule(hosts);
  // Last in the map is latest seen.
  hosts.delete(host);
  const named = companies.slice(0, MOST_COMPANIES);
  const known = { host, topic, companies: named, time: Date.now(), rule, quietUntil, harmless };
  hosts.set(host, known);
  const oldest = [...hosts.values()]
    .sort((one, other) => one.time - other.time)
    .slice(0, Math.max(0, hosts.size - most));
  for (const old of oldest) hosts.delete(old.host);
  await write(["hosts"], (of) => {
    of("hosts").put(known);
    for (const old of oldest) of("hosts").delete(old.host);
  });
  return oldest;
}

/** Note why the person is not asked before visits to a host, or is asked again. */
export async function noteHost(
  host: string,
  quiet: Partial<Pick<RememberedHost, "quietUntil" | "harmless">>,
): Promise<void> {
  const hosts = await rememberedHosts();
  const before = hosts.get(host);
  if (before === undefined) return;
  const known = { ...before, ...quiet };
  hosts.set(host, known);
  await write(["hosts"], (of) => of("hosts").put(known));
}

/** Forget hosts and return those that were known. */
export async function forgetHosts(which: (host: string) => boolean): Promise<RememberedHost[]> {
  const hosts = await rememberedHosts();
  const gone = [...hosts.values()].filter(({ host }) => which(host));
  for (const { host } of gone) hosts.delete(host);
  await write(["hosts"], (of) => {
    for (const { host } of gone) of("hosts").delete(host);
  });
  return gone;
}

/** Forget what is held, after the database was deleted. */
export function forgetCachedHosts(): void {
  held = null;
}

function freeRule(hosts: Map<string, RememberedHost>): number {
  const taken = new Set([...hosts.values()].map(({ rule }) => rule));
  let rule = 1;
  while (taken.has(rule)) rule += 1;
  return rule;
}
