/**
 * Hosts of which most of what was seen is sensitive (`seen_hosts.ts`): trackers are blocked there from the first request
 * on, links to them can be marked, and the person may be asked before the next visit.
 */

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
}

const MOST_COMPANIES = 100;

let held: Promise<Map<string, RememberedHost>> | null = null;

export function rememberedHosts(): Promise<Map<string, RememberedHost>> {
  held ??= read<RememberedHost[]>("hosts", (store) => store.getAll()).then(
    (hosts) => new Map(hosts.map((known) => [known.host, known])),
    (error: unknown) => {
      held = null;
      throw error;
    },
  );
  return held;
}

/** Note a host and return what has to be forgotten for it, so that there are never more than `most`. */
export async function rememberHost(
  { host, topic, companies, quietUntil }: Omit<RememberedHost, "time" | "rule">,
  most: number,
): Promise<RememberedHost[]> {
  const hosts = await rememberedHosts();
  const rule = hosts.get(host)?.rule ?? freeRule(hosts);
  // Last in the map is latest seen.
  hosts.delete(host);
  const named = companies.slice(0, MOST_COMPANIES);
  const known = { host, topic, companies: named, time: Date.now(), rule, quietUntil };
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

/** Do not ask before visits to a host until a time. */
export async function quietHost(host: string, quietUntil: number): Promise<void> {
  const hosts = await rememberedHosts();
  const before = hosts.get(host);
  if (before === undefined) return;
  const known = { ...before, quietUntil };
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
