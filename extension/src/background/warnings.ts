/**
 * The warning before the next visit. For hosts known as sensitive there are rules by which the browser itself leads a
 * navigation to our page instead of the host, before any request leaves, also while the worker sleeps. On other hosts
 * single pages are known: a tab that arrives at one is led to our page then.
 *
 * A *visit* lasts as long as any tab shows the host: the host that was just found may be read on.
 */

import { browser } from "../browser";
import { NON_SENSITIVE } from "../core/taxonomy";
import { siteOf } from "../core/trackers";
import { dayOf } from "../day";
import type { Quiet, WarningView } from "../messages";
import { mayRead, type Settings } from "../settings";
import { hostOf, pageAddress } from "./address";
import { mayBlock } from "./blocking/may_block";
import { currentDocument, documentsLoaded, openTabs, type SeenDocument } from "./documents";
import { isLabelledOn, labelAt, labelledKeys } from "./labelled_pages";
import { noteHost, type RememberedHost, rememberedHosts, rememberHost } from "./remembered_hosts";
import { knownPage, noteSeen, type SeenHost, seenHost, seenOf } from "./seen_hosts";
import { settings } from "./settings_store";

type Rule = chrome.declarativeNetRequest.Rule;

/** The browser takes 1000 rules with regular expressions. */
const MOST_HOSTS = 900;
/** Above those of blocking (`blocking/rule_numbers.ts`). */
const PRIORITIES = { ask: 11, visit: 12, task: 13 } as const;
/** Hosts that the person is on the way to, after they were asked, and how long they may take to arrive. */
const CONTINUED = "continued";
const ARRIVES_MS = 5 * 60 * 1000;
/** The number of the rule by which a tab opens a task; those of hosts are lower. */
const TASK_RULE = MOST_HOSTS + 100;
const DAY_MS = 24 * 60 * 60 * 1000;
const ALARM = "warnings";

/** A day for which a person did not want to be asked is over, or the time to arrive at a host. */
export function listenToWarningAlarms(): void {
  browser.alarms.onAlarm.addListener(({ name }) => {
    if (name === ALARM) void syncRules();
    if (name === CONTINUED) void documentsLoaded().then(endVisits);
  });
}

/** A host is known as sensitive: remember it, and warn from the next visit on if the person wants that. */
export async function remember(host: string, topic: number, seen: SeenHost): Promise<void> {
  const { companies, quietUntil, harmless } = seen;
  const before = (await rememberedHosts()).get(host);
  const same =
    before?.topic === topic &&
    dayOf(before.time) === dayOf(Date.now()) &&
    (before.harmless ?? false) === (harmless ?? false) &&
    // A worker that was killed may have noted it of what was seen and no more.
    before.quietUntil === quietUntil &&
    companies.every((company) => before.companies.includes(company));
  if (same || (before === undefined && !(await takesRuleFor(host)))) return;
  const oldest = await rememberHost({ host, topic, companies, quietUntil, harmless }, MOST_HOSTS);
  await dropRules(oldest);
  await syncRules();
}

/** Whether the person wants to be asked before they visit a host, or a page of it, about a topic. */
function isToBeAsked(choices: Settings, host: string, topic: number, companies: readonly string[]): boolean {
  const { warnings, warnedTopics, offSites, unwarnedSites } = choices;
  if (!mayRead(choices) || !warnings || companies.length === 0) return false;
  const site = siteOf(host);
  return warnedTopics.includes(topic) && !offSites.includes(site) && !unwarnedSites.includes(site);
}

function hasRule(choices: Settings, known: RememberedHost): boolean {
  return !isQuiet(known) && isToBeAsked(choices, known.host, known.topic, known.companies);
}

/** Whether the person said that a page of a host is not sensitive, or does not want to be asked for a day. */
function isQuiet({ quietUntil, harmless }: Pick<SeenHost, "quietUntil" | "harmless">): boolean {
  return harmless === true || quietUntil > Date.now();
}

/** Whether any tab shows a host. */
export function isOpen(host: string): boolean {
  return openTabs().some((tab) => hostOf(currentDocument(tab)?.url ?? "") === host);
}

/**
 * A tab arrived at an address although there may be something to ask: no rule stops what a site's own service worker
 * answers, what comes back from history, forms, nor single pages. What the person did not ask for is led to the warning
 * after all; the others are on a visit. `isKnown`: the page was known when the visit to its host began.
 */
export async function arrived(
  seen: SeenDocument,
  address: string,
  toBeAsked: boolean,
  isKnown: boolean,
): Promise<void> {
  const host = hostOf(address);
  if (host === "") return;
  const continued = await endContinue(host);
  const known = (await rememberedHosts()).get(host);
  if (known !== undefined && hasRule(await settings(), known)) {
    const { declarativeNetRequest: rules } = browser;
    // No rule yet: the host is being noted. An exception: the visit is under way.
    if (!ourRules(await rules.getDynamicRules()).has(known.rule)) return;
    if (ourRules(await rules.getSessionRules()).has(known.rule)) return;
    if (!toBeAsked) return allow([known]);
  } else if (!toBeAsked || !isKnown || continued) return;
  // Meanwhile the tab may have gone elsewhere.
  if (currentDocument(seen.tab) !== seen) return;
  // Not from within the page: its script would be told where it leads, and could stay.
  await browser.tabs.update(seen.tab, { url: `${warningPage()}?late#${address}` });
}

let queue: Promise<unknown> = Promise.resolve();

/** One after the other: each looks at what the last has left. */
function inTurn(work: () => Promise<void>): Promise<void> {
  const turn = queue.then(work);
  queue = turn.catch(() => undefined);
  return turn;
}

/** Remove the rules of hosts that are forgotten; another host may have got the number of one meanwhile. */
export function dropRules(gone: readonly RememberedHost[]): Promise<void> {
  if (gone.length === 0) return Promise.resolve();
  return inTurn(async () => {
    const { declarativeNetRequest: rules } = browser;
    const known = await rememberedHosts();
    const taken = new Set([...known.values()].map(({ rule }) => rule));
    const free = gone.map(({ rule }) => rule).filter((rule) => !taken.has(rule));
    if (free.length > 0) await rules.updateDynamicRules({ removeRuleIds: free });
    // Under a number that is taken, the exception may still be that of the host that had it before; not if that host
    // was noted again meanwhile.
    const old = new Map(gone.flatMap(({ host, rule }) => (known.has(host) ? [] : [[rule, pattern(host)]])));
    const over = (await rules.getSessionRules()).filter(
      ({ id, condition }) => free.includes(id) || (old.has(id) && old.get(id) === condition.regexFilter),
    );
    if (over.length > 0) await rules.updateSessionRules({ removeRuleIds: over.map(({ id }) => id) });
  });
}

/** Make the browser's rules those that settings and known hosts ask for. */
export function syncRules(): Promise<void> {
  return inTurn(sync);
}

async function sync(): Promise<void> {
  const choices = await settings();
  const hosts = [...(await rememberedHosts()).values()];
  const wanted = hosts.filter((known) => hasRule(choices, known));
  const present = await browser.declarativeNetRequest.getDynamicRules();
  const patterns = new Map(present.map(({ id, condition }) => [id, condition.regexFilter]));
  // Also those that an earlier version wrote in another way; its pattern was shorter, and longer names did fit.
  const changed = wanted.filter(({ host, rule }) => patterns.get(rule) !== pattern(host));
  const fits = await Promise.all(changed.map(({ host }) => takesRuleFor(host)));
  const missing = changed.filter((_, place) => fits[place]);
  const staying = new Set(wanted.filter((known) => !changed.includes(known)).map(({ rule }) => rule));
  const removeRuleIds = [...ourRules(present)].filter((id) => !staying.has(id));
  await syncAlarm(hosts);
  if (missing.length === 0 && removeRuleIds.length === 0) return;
  // First the exceptions: visits under way are not interrupted.
  if (missing.length > 0) await allowShown(missing);
  try {
    await browser.declarativeNetRequest.updateDynamicRules({ addRules: missing.map(redirection), removeRuleIds });
  } catch (error) {
    // All or nothing: a rule that is refused must not keep those that nobody wants.
    await browser.declarativeNetRequest.updateDynamicRules({ removeRuleIds });
    throw error;
  }
}

/** Wake up when the first of the days is over for which the person did not want to be asked. */
async function syncAlarm(hosts: readonly RememberedHost[]): Promise<void> {
  const ends = hosts.flatMap(({ quietUntil }) => (quietUntil > Date.now() ? [quietUntil] : []));
  if (ends.length > 0) await browser.alarms.create(ALARM, { when: Math.min(...ends) });
  else await browser.alarms.clear(ALARM);
}

/**
 * Do not warn in a tab until it has arrived where it is led, whatever hosts are on the way. `null` stands for a tab that
 * is opened next: the number of a tab is not known before the tab is there.
 */
export async function allowTab(tab: number | null): Promise<void> {
  const others = tab === null ? (await browser.tabs.query({})).flatMap(({ id }) => id ?? []) : [];
  const tabs = tab === null ? { excludedTabIds: others } : { tabIds: [tab] };
  await browser.declarativeNetRequest.updateSessionRules({
    addRules: [
      {
        id: TASK_RULE,
        priority: PRIORITIES.task,
        action: { type: "allow" },
        condition: { ...tabs, resourceTypes: ["main_frame"] },
      },
    ],
    removeRuleIds: [TASK_RULE],
  });
}

/** Warn in all tabs again. */
export async function endAllowedTab(): Promise<void> {
  await browser.declarativeNetRequest.updateSessionRules({ removeRuleIds: [TASK_RULE] });
}

/** End the visits of hosts that no tab shows any more. */
export async function endVisits(): Promise<void> {
  const allowed = ourRules(await browser.declarativeNetRequest.getSessionRules());
  if (allowed.size === 0) return;
  const continued = await continuedHosts();
  const going = [...(await rememberedHosts()).values()].filter(({ host }) => isOpen(host) || continued.has(host));
  const staying = new Set(going.map(({ rule }) => rule));
  const removeRuleIds = [...allowed].filter((id) => !staying.has(id));
  if (removeRuleIds.length > 0) await browser.declarativeNetRequest.updateSessionRules({ removeRuleIds });
}

/** The numbers of rules for hosts. */
function ourRules(rules: readonly Rule[]): Set<number> {
  return new Set(rules.map(({ id }) => id).filter((id) => id < TASK_RULE));
}

/** What the interstitial shows for an address; null if there is nothing to warn of, or not any more. */
export async function warningView(target: string): Promise<WarningView | null> {
  const host = hostOf(target);
  if (host === "") return null;
  const choices = await settings();
  const known = (await rememberedHosts()).get(host);
  const found = known !== undefined && hasRule(choices, known) ? known : await knownPage(pageAddress(target));
  if (found === null || isQuiet(found)) return null;
  const { topic, companies } = found;
  if (!isToBeAsked(choices, host, topic, companies)) return null;
  return { target: new URL(target).href, host, topic, companies, blocks: mayBlock(choices, host) };
}

/** Let the person through, and do not ask again for as long as they say; for a site of which nobody wants to hear, ever. */
export async function continueTo({ target, host }: WarningView, quiet: Quiet): Promise<void> {
  const end = Date.now() + ARRIVES_MS;
  await keepContinued((await continuedHosts()).set(host, end));
  await browser.alarms.create(CONTINUED, { when: end });
  const known = (await rememberedHosts()).get(hostOf(target));
  if (known !== undefined) await allow([known]);
  if (quiet === "day") await note(host, { quietUntil: Date.now() + DAY_MS });
}

/**
 * The person said of a page that it is not sensitive, or that it is after all: ask before visits to its host, unless
 * they say of another of its pages that it is not. What an earlier version noted so is a time that never comes. Return
 * what is known of the host now.
 */
export async function updateHarmless(host: string): Promise<SeenHost> {
  const before = await seenHost(host);
  // Earlier versions did not store the host with what was said: then its latest pages tell.
  const labels = await Promise.all((await seenOf(host, await labelledKeys())).map(labelAt));
  const harmless = labels.includes(NON_SENSITIVE) || (await isLabelledOn(before.host, NON_SENSITIVE));
  if (before.quietUntil === Number.MAX_SAFE_INTEGER) await note(host, { harmless, quietUntil: 0 });
  else if (harmless !== (before.harmless === true)) await note(host, { harmless });
  return seenHost(host);
}

async function note(host: string, quiet: Partial<Pick<SeenHost, "quietUntil" | "harmless">>): Promise<void> {
  await noteSeen(host, quiet);
  await noteHost(host, quiet);
  await syncRules();
}

/** The hosts that the person is on the way to, each with the time until which they may arrive: not all do. */
async function continuedHosts(): Promise<Map<string, number>> {
  const stored = (await browser.storage.session.get(CONTINUED))[CONTINUED] as [string, number][] | undefined;
  return new Map(stored?.filter(([, end]) => end > Date.now()));
}

async function keepContinued(hosts: Map<string, number>): Promise<void> {
  await browser.storage.session.set({ [CONTINUED]: [...hosts] });
}

/** A tab shows a host: whoever was on the way has arrived. Return whether somebody was. */
async function endContinue(host: string): Promise<boolean> {
  const continued = await continuedHosts();
  if (!continued.delete(host)) return false;
  await keepContinued(continued);
  return true;
}

/** Allow those of some hosts that tabs show, and no others. */
async function allowShown(hosts: RememberedHost[]): Promise<void> {
  const shown = await shownIn(hosts);
  if (shown.length > 0) await allow(shown);
  // A tab may have left its host before there was an exception to end, or in a pause, in which nobody ends them.
  const [staying, continued] = [await shownIn(shown), await continuedHosts()];
  const over = hosts.filter((known) => !staying.includes(known) && !continued.has(known.host));
  const removeRuleIds = over.map(({ rule }) => rule);
  if (removeRuleIds.length > 0) await browser.declarativeNetRequest.updateSessionRules({ removeRuleIds });
}

/** Return the hosts that tabs show. The browser is asked: after a pause, what tabs show is not known here yet. */
async function shownIn(hosts: RememberedHost[]): Promise<RememberedHost[]> {
  const open = new Set((await browser.tabs.query({})).map(({ url = "" }) => hostOf(url)));
  return hosts.filter(({ host }) => open.has(host));
}

async function allow(hosts: RememberedHost[]): Promise<void> {
  await browser.declarativeNetRequest.updateSessionRules({
    addRules: hosts.map((known) => ({
      ...redirection(known),
      priority: PRIORITIES.visit,
      action: { type: "allow" as const },
    })),
    removeRuleIds: hosts.map(({ rule }) => rule),
  });
}

/** The browser compiles a rule's pattern in little memory: a very long name does not fit. */
async function takesRuleFor(host: string): Promise<boolean> {
  const { isSupported } = await browser.declarativeNetRequest.isRegexSupported({
    regex: pattern(host),
    requireCapturing: true,
  });
  return isSupported;
}

/** Credentials, port and path may be anything; the host is this one, with the dot that may end its name or without. */
function pattern(host: string): string {
  return `^https?://([^/?#]*@)?${host.replace(/[^a-z0-9-]/gi, "\\$&")}[.]?(:[0-9]+)?(/.*)?$`;
}

/** Its fixed address: `getURL` gives one that changes with every start, and rules outlive the start. */
function warningPage(): string {
  return new URL("/pages/warning/warning.html", self.location.origin).href;
}

function redirection({ host, rule }: RememberedHost): Rule {
  return {
    id: rule,
    priority: PRIORITIES.ask,
    action: { type: "redirect", redirect: { regexSubstitution: `${warningPage()}#\\0` } },
    condition: {
      regexFilter: pattern(host),
      resourceTypes: ["main_frame"],
      requestMethods: ["get"],
    },
  };
}
