/**
 * Rules for single tabs: from the verdict on a page, or from the beginning of a visit to a page that is known, until
 * the tab shows another one. They are session rules, which outlive the worker but not the browser; which tabs they are
 * for is in `storage.session`, written before the rules are.
 *
 * They end by themselves when the tab shows a page of another host, before the worker may have heard of it: they hold
 * under pages of certain hosts only (`topDomains`). Firefox, and Chromium before 145, do not know this condition; there, a
 * rule for pages of all other hosts allows everything. Chromium may apply that one too late for the first requests of a
 * page. When the tab goes to another page of the same host, the worker ends them.
 */

import { browser } from "../../browser";
import { trackerOf } from "../../core/trackers";
import { hostOf } from "../address";
import { currentDocument, documentsLoaded, openTabs, type SeenDocument } from "../documents";
import { settings } from "../settings_store";
import { leadsToTask, taskOf } from "../study/task_pages";
import { trackerData } from "../third_parties";
import { isKnown, isToBeBlocked, mayBlock } from "./may_block";
import { MOST_OWNERS, ownerNumbers, PRIORITIES, TABS } from "./rule_numbers";
import { domainsOfOwner, fitsRule, trackerDomains } from "./tracker_domains";

type Rule = chrome.declarativeNetRequest.Rule;
type Condition = chrome.declarativeNetRequest.RuleCondition & { topDomains?: string[] };

interface ProtectedTab {
  host: string;
  /** The page of a study: nothing is blocked, whatever its host. */
  task: boolean;
}

type Tabs = Map<number, ProtectedTab>;

const STORED = "protected";
const MAIN_FRAME = ["main_frame"] as chrome.declarativeNetRequest.ResourceType[];
const NUMBERS = [TABS.block, TABS.elsewhere, TABS.task, ...ownerNumbers(TABS.owners)];

let held: Promise<Tabs> | null = null;
/** Whether the browser knows `topDomains`, as far as it has been tried. */
let knowsTopDomains = true;
/** Whether the rules may differ from what they should be: the browser refused the last ones. */
let refused = false;
let queue: Promise<unknown> = Promise.resolve();

/** A tab begins to go to an address: block from the first request on if it is known, else end what holds for the tab. */
export async function beforeNavigation(tab: number, url: string): Promise<void> {
  const host = hostOf(url);
  const task = host !== "" && (await leadsToTask(tab, url));
  const known = host !== "" && !task && mayBlock(await settings(), host) && (await isKnown(url));
  await change((all) => {
    if (task || known) all.set(tab, { host, task });
    // Elsewhere its rules do not hold, and until it is there, the page before is protected by them.
    else if (all.get(tab)?.host === host) all.delete(tab);
  });
}

/** A tab shows a document, or more is known of it: block its trackers, or do not any more. */
export async function protectTab(seen: SeenDocument): Promise<void> {
  const [task, block] = [(await taskOf(seen)) !== null, await isToBeBlocked(seen, await settings())];
  await change((all) => {
    if (currentDocument(seen.tab) !== seen) return;
    if (task || block) all.set(seen.tab, { host: hostOf(seen.url), task });
    else all.delete(seen.tab);
  });
}

/** A tab was closed, or shows nothing that is known. */
export async function releaseTab(tab: number): Promise<void> {
  await change((all) => all.delete(tab));
}

/** Make the rules those that settings, lists and open documents ask for. */
export async function syncTabRules(): Promise<void> {
  await documentsLoaded();
  const choices = await settings();
  await change((all) => {
    for (const [tab, { host, task }] of all)
      if (!choices.classifying || (!task && !mayBlock(choices, host))) all.delete(tab);
  }, true);
  await Promise.all(openTabs().map((tab) => protectTab(currentDocument(tab)!)));
}

/** Change which tabs have rules, and then the rules, unless all is as it was. */
function change(work: (all: Tabs) => void, always = false): Promise<void> {
  const turn = queue.then(async () => {
    const all = await tabs();
    const before = JSON.stringify([...all]);
    work(all);
    if (!always && !refused && JSON.stringify([...all]) === before) return;
    refused = true;
    if (all.size > 0) await browser.storage.session.set({ [STORED]: [...all] });
    else await browser.storage.session.remove(STORED);
    await replaceRules(all);
    refused = false;
  });
  queue = turn.catch(() => undefined);
  return turn;
}

async function replaceRules(all: Tabs): Promise<void> {
  try {
    await browser.declarativeNetRequest.updateSessionRules({ removeRuleIds: NUMBERS, addRules: await rulesFor(all) });
  } catch (error) {
    if (!knowsTopDomains) throw error;
    knowsTopDomains = false;
    await replaceRules(all);
  }
}

async function rulesFor(all: Tabs): Promise<Rule[]> {
  const tasks = [...all].flatMap(([tab, { task }]) => (task ? [tab] : []));
  const blocked = [...all].filter(([, { host, task }]) => !task && fitsRule(host));
  const rules: Rule[] = tasks.length === 0 ? [] : [rule(TABS.task, PRIORITIES.task, "allow", { tabIds: tasks })];
  if (blocked.length === 0) return rules;
  const tabIds = blocked.map(([tab]) => tab);
  const hosts = [...new Set(blocked.map(([, { host }]) => host))];
  const trackers: Condition = { tabIds, requestDomains: await trackerDomains(), domainType: "thirdParty" };
  const elsewhere: Condition = { tabIds, resourceTypes: MAIN_FRAME, excludedRequestDomains: hosts };
  const block = knowsTopDomains
    ? [rule(TABS.block, PRIORITIES.tab, "block", { ...trackers, topDomains: hosts })]
    : [
        rule(TABS.block, PRIORITIES.tab, "block", trackers),
        rule(TABS.elsewhere, PRIORITIES.tabElsewhere, "allowAllRequests", elsewhere),
      ];
  return [...rules, ...block, ...(await ownerRules(blocked))];
}

/** A company is no third party on its own pages. */
async function ownerRules(blocked: [number, ProtectedTab][]): Promise<Rule[]> {
  const data = await trackerData();
  const owned = blocked.filter(([, { host }]) => trackerOf(data.table, host) !== null).slice(0, MOST_OWNERS);
  return owned.map(([tab, { host }], place) =>
    rule(TABS.owners + place, PRIORITIES.tabOwner, "allow", {
      tabIds: [tab],
      requestDomains: domainsOfOwner(data, host),
    }),
  );
}

function rule(id: number, priority: number, type: "allow" | "allowAllRequests" | "block", condition: Condition): Rule {
  return { id, priority, action: { type }, condition };
}

function tabs(): Promise<Tabs> {
  held ??= browser.storage.session
    .get(STORED)
    .then((stored) => new Map((stored[STORED] as [number, ProtectedTab][] | undefined) ?? []));
  return held;
}
