/**
 * Rules for hosts known as sensitive: the browser applies them to the first request of every visit, also while the
 * worker sleeps. They are few, however many hosts there are.
 */

import { browser } from "../../browser";
import { trackerOf } from "../../core/trackers";
import { rememberedHosts } from "../remembered_hosts";
import { settings } from "../settings_store";
import { type TrackerData, trackerData } from "../third_parties";
import { mayBlock } from "./may_block";
import { MOST_OWNERS, ownerNumbers, PRIORITIES, SITES } from "./rule_numbers";
import { domainsOfOwner, fitsRule, trackerDomains } from "./tracker_domains";

type Rule = chrome.declarativeNetRequest.Rule;

const NUMBERS = [SITES.block, SITES.elsewhere, ...ownerNumbers(SITES.owners)];

let queue: Promise<unknown> = Promise.resolve();

/** Make the rules those that settings, lists and known hosts ask for. One after the other: each looks at the last. */
export function syncSiteRules(): Promise<void> {
  const turn = queue.then(sync, sync);
  queue = turn.catch(() => undefined);
  return turn;
}

async function sync(): Promise<void> {
  const choices = await settings();
  const hosts = [...(await rememberedHosts()).keys()]
    .filter((host) => fitsRule(host) && mayBlock(choices, host))
    .sort();
  const present = (await browser.declarativeNetRequest.getDynamicRules()).filter(({ id }) => NUMBERS.includes(id));
  const wanted = hosts.length === 0 ? [] : rulesFor(hosts, await trackerDomains(), await trackerData());
  if (summary(present) === summary(wanted)) return;
  await browser.declarativeNetRequest.updateDynamicRules({ removeRuleIds: NUMBERS, addRules: wanted });
}

function rulesFor(hosts: string[], requestDomains: string[], data: TrackerData): Rule[] {
  return [
    {
      id: SITES.block,
      priority: PRIORITIES.site,
      action: { type: "block" },
      condition: { initiatorDomains: hosts, requestDomains, domainType: "thirdParty" },
    },
    {
      // Another site that shows such a host in a frame must not see from what is blocked there that it is known.
      id: SITES.elsewhere,
      priority: PRIORITIES.siteElsewhere,
      action: { type: "allowAllRequests" },
      condition: { resourceTypes: ["main_frame"], excludedRequestDomains: hosts },
    },
    ...ownerRules(hosts, data),
  ];
}

/** A company is no third party on its own pages. */
function ownerRules(hosts: string[], data: TrackerData): Rule[] {
  const owned = new Map<string, string[]>();
  for (const host of hosts) {
    const owner = trackerOf(data.table, host)?.company;
    if (owner !== undefined) owned.set(owner, [...(owned.get(owner) ?? []), host]);
  }
  return [...owned.values()].slice(0, MOST_OWNERS).map((own, place) => ({
    id: SITES.owners + place,
    priority: PRIORITIES.siteOwner,
    action: { type: "allow" },
    condition: { initiatorDomains: own, requestDomains: domainsOfOwner(data, own[0]!) },
  }));
}

/** What distinguishes rules, whatever else the browser adds to them. */
function summary(rules: Rule[]): string {
  const parts = rules.map(({ id, condition }) => [
    id,
    condition.initiatorDomains,
    condition.requestDomains,
    condition.excludedRequestDomains,
  ]);
  return JSON.stringify(parts.sort(([one], [other]) => Number(one) - Number(other)));
}
