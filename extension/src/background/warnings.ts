/**
 * The warning before the next visit: rules by which the browser itself leads a navigation to our page instead of the
 * host, before any request leaves, also while the worker sleeps.
 *
 * A *visit* lasts as long as any tab shows the host: the host that was just found may be read on. Continue holds until
 * the browser is closed.
 */

import { browser } from "../browser";
import { siteOf } from "../core/trackers";
import type { WarningView } from "../messages";
import { hostOf } from "./address";
import { currentDocument, openTabs } from "./documents";
import { forgetHosts, type RememberedHost, rememberedHosts, rememberHost } from "./remembered_hosts";
import { settings } from "./settings_store";

/** The browser takes 1000 rules with regular expressions. */
const MOST_HOSTS = 900;
const CONTINUED = "continued";
/** The number of the rule by which a tab opens a task; those of hosts are lower. */
const TASK_RULE = MOST_HOSTS + 100;

/** A sensitive page with trackers was seen: warn from the next visit on. */
export async function remember(host: string, topic: number, companies: string[]): Promise<void> {
  const { warnings, unwarnedSites } = await settings();
  if (!warnings || unwarnedSites.includes(siteOf(host))) return;
  const before = (await rememberedHosts()).get(host);
  if (
    before !== undefined &&
    before.topic === topic &&
    companies.every((company) => before.companies.includes(company))
  )
    return;
  if (before === undefined && !(await takesRuleFor(host))) return;
  const oldest = await rememberHost(host, topic, companies, MOST_HOSTS);
  if (before !== undefined) return;
  const known = (await rememberedHosts()).get(host)!;
  // First the exception: the visit under way is not interrupted.
  await allow([known]);
  await browser.declarativeNetRequest.updateDynamicRules({
    addRules: [redirection(known)],
    removeRuleIds: [known.rule, ...oldest.map(({ rule }) => rule)],
  });
}

/**
 * A tab arrived at an address although its host may be one to warn of: no rule stops what a site's own service worker
 * answers, what comes back from history, nor forms. What the person did not ask for is led to the warning after all;
 * the others are on a visit.
 */
export async function arrived(tab: number, address: string, toBeAsked: boolean): Promise<void> {
  const { classifying, warnings } = await settings();
  const known = (await rememberedHosts()).get(hostOf(address));
  if (known === undefined || !classifying || !warnings) return;
  const { declarativeNetRequest: rules } = browser;
  const isIn = (some: chrome.declarativeNetRequest.Rule[]) => some.some(({ id }) => id === known.rule);
  // No rule yet: the host is being noted. An exception: the visit is under way.
  if (!isIn(await rules.getDynamicRules()) || isIn(await rules.getSessionRules())) return;
  if (!toBeAsked) return allow([known]);
  const page = browser.runtime.getURL("pages/warning/warning.html");
  // From within the page, so that it does not stay in the tab's history, where "Go back" would find it.
  await browser.scripting.executeScript({
    target: { tabId: tab },
    injectImmediately: true,
    func: (to: string) => location.replace(to),
    args: [`${page}?late#${address}`],
  });
}

/** Do not warn of these hosts any more. */
export async function forget(which: (host: string) => boolean): Promise<void> {
  const removeRuleIds = (await forgetHosts(which)).map(({ rule }) => rule);
  await browser.declarativeNetRequest.updateDynamicRules({ removeRuleIds });
  await browser.declarativeNetRequest.updateSessionRules({ removeRuleIds });
}

/** Make the browser's rules those that settings and known hosts ask for. */
export async function syncRules(): Promise<void> {
  const { classifying, warnings } = await settings();
  const hosts = await rememberedHosts();
  const wanted = classifying && warnings ? [...hosts.values()] : [];
  const present = new Set((await browser.declarativeNetRequest.getDynamicRules()).map(({ id }) => id));
  const missing = wanted.filter(({ rule }) => !present.has(rule));
  const numbers = new Set(wanted.map(({ rule }) => rule));
  const removeRuleIds = [...present].filter((id) => !numbers.has(id));
  if (missing.length === 0 && removeRuleIds.length === 0) return;
  await browser.declarativeNetRequest.updateDynamicRules({ addRules: missing.map(redirection), removeRuleIds });
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
        priority: 3,
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
  const allowed = (await browser.declarativeNetRequest.getSessionRules()).map(({ id }) => id);
  if (allowed.length === 0) return;
  const open = new Set(openTabs().map((tab) => hostOf(currentDocument(tab)?.url ?? "")));
  const continued = await continuedHosts();
  const going = [...(await rememberedHosts()).values()].filter(
    ({ host }) => open.has(host) || continued.includes(host),
  );
  const staying = new Set(going.map(({ rule }) => rule));
  const removeRuleIds = allowed.filter((id) => id !== TASK_RULE && !staying.has(id));
  if (removeRuleIds.length > 0) await browser.declarativeNetRequest.updateSessionRules({ removeRuleIds });
}

/** What the interstitial shows for an address; null if there is nothing to warn of, or not any more. */
export async function warningView(target: string): Promise<WarningView | null> {
  const known = (await rememberedHosts()).get(hostOf(target));
  if (known === undefined) return null;
  const { host, topic, companies, time } = known;
  return { target: new URL(target).href, host, topic, companies, time };
}

/** Let the person through until the browser is closed. */
export async function continueTo(target: string): Promise<void> {
  const known = (await rememberedHosts()).get(hostOf(target));
  if (known === undefined) return;
  const continued = new Set([...(await continuedHosts()), known.host]);
  await browser.storage.session.set({ [CONTINUED]: [...continued] });
  await allow([known]);
}

async function continuedHosts(): Promise<string[]> {
  return ((await browser.storage.session.get(CONTINUED))[CONTINUED] as string[] | undefined) ?? [];
}

async function allow(hosts: RememberedHost[]): Promise<void> {
  await browser.declarativeNetRequest.updateSessionRules({
    addRules: hosts.map((known) => ({ ...redirection(known), priority: 2, action: { type: "allow" as const } })),
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

/** Credentials, port and path may be anything; the host is this one. */
function pattern(host: string): string {
  return `^https?://([^/?#]*@)?${host.replace(/[^a-z0-9-]/gi, "\\$&")}(:[0-9]+)?(/.*)?$`;
}

function redirection({ host, rule }: RememberedHost): chrome.declarativeNetRequest.Rule {
  // By its fixed address: `getURL` gives one that changes with every start, and the rule outlives the start.
  const page = new URL("/pages/warning/warning.html", self.location.origin).href;
  return {
    id: rule,
    priority: 1,
    action: { type: "redirect", redirect: { regexSubstitution: `${page}#\\0` } },
    condition: {
      regexFilter: pattern(host),
      resourceTypes: ["main_frame"],
      requestMethods: ["get"],
    },
  };
}
