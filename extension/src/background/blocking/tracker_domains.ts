/** The domains that are blocked, as the browser's rules name them: each with all below it. */

import { type TrackerTable, trackerOf } from "../../core/trackers";
import { TRACKING, type TrackerData, trackerData } from "../third_parties";

/** A rule with more takes too long to be put into force while a page loads. */
const MOST_LISTED = 10_000;
/** What the browser takes as a name in a rule: one that it does not take makes it refuse all rules. */
const TAKEN = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

const held = new WeakMap<TrackerData, string[]>();

/** Whether a rule of the browser can name this host. */
export function fitsRule(host: string): boolean {
  return TAKEN.test(host);
}

/** The domains of known trackers and those of the person's lists. */
export async function trackerDomains(): Promise<string[]> {
  const data = await trackerData();
  const known = held.get(data) ?? [
    ...new Set([...trackingDomains(data.table), ...[...data.listed].filter(fitsRule).slice(0, MOST_LISTED)]),
  ];
  held.set(data, known);
  return known;
}

/** The domains of companies that track people, of all categories that count as such. */
export function trackingDomains({ exact, below }: TrackerTable): string[] {
  const found = [...exact, ...below].filter(([, { category }]) => TRACKING.has(category));
  return [...new Set(found.map(([domain]) => domain))].filter(fitsRule);
}

/** The domains of the company that a host belongs to: on its own pages it is no third party. */
export function domainsOfOwner({ table: { exact, below } }: TrackerData, host: string): string[] {
  const owner = trackerOf({ exact, below }, host)?.company;
  if (owner === undefined) return [];
  const found = [...exact, ...below].filter(([, { company }]) => company === owner);
  return [...new Set(found.map(([domain]) => domain))].filter(fitsRule);
}
