/** What was blocked on a document. */

import { siteOf } from "../../core/trackers";
import type { BlockingView } from "../../messages";
import type { Settings } from "../../settings";
import { hostOf } from "../address";
import type { SeenDocument } from "../documents";
import { companies, thirdPartiesOf, trackerData } from "../third_parties";
import { isToBeBlocked, mayBlock } from "./may_block";

/** What Chromium and Firefox say of a request that a rule of an extension blocked. */
const BLOCKED = /^(?:net::ERR_BLOCKED_BY_CLIENT|NS_ERROR_ABORT)$/;

export function isBlocked(error: string): boolean {
  return BLOCKED.test(error);
}

/**
 * What the popup shows of blocking. Other extensions block, too, and the browser does not say who did: only known
 * trackers on pages where we block them are counted.
 */
export async function blockingView(seen: SeenDocument | undefined, choices: Settings): Promise<BlockingView> {
  const site = siteOf(hostOf(seen?.url ?? ""));
  const siteAllowed = site !== "" && choices.unblockedSites.includes(site);
  const nothing: BlockingView = { on: choices.blocking, siteAllowed, active: false, blocked: 0, companies: [] };
  if (seen === undefined || !mayBlock(choices, hostOf(seen.url))) return nothing;
  const { trackers } = thirdPartiesOf({ ...seen, hosts: Object.keys(seen.blocked ?? {}) }, await trackerData());
  const hosts = trackers.flatMap((party) => party.hosts);
  const blocked = hosts.reduce((sum, host) => sum + (seen.blocked?.[host]?.blocked ?? 0), 0);
  return { ...nothing, active: await isToBeBlocked(seen, choices), blocked, companies: companies(trackers) };
}
