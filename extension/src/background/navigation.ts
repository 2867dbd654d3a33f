/** Where tabs go. A badge never outlives the page it was made for. */

import { browser } from "../browser";
import type { WorkerMessage } from "../messages";
import { mayRead } from "../settings";
import { hostOf, pageAddress } from "./address";
import { showBadge } from "./badge";
import { beforeNavigation, protectTab, releaseTab } from "./blocking/tab_rules";
import { updateEffects } from "./document_effects";
import {
  committed,
  currentDocument,
  documentsLoaded,
  frameCommitted,
  moved,
  openTabs,
  tabLeft,
  tabRemoved,
} from "./documents";
import { settings } from "./settings_store";
import { arrivedTask, endOpening, openingFailed, taskOf } from "./study/task_pages";
import { arrived, endVisits, isOpen, warningView } from "./warnings";

type Committed = chrome.webNavigation.WebNavigationTransitionCallbackDetails & {
  documentId?: string;
  parentDocumentId?: string;
};

interface Begun {
  tabId: number;
  frameId: number;
  url: string;
  documentLifecycle?: string;
}

type Failed = chrome.webNavigation.WebNavigationFramedErrorCallbackDetails;

const ASKED = ["typed", "auto_bookmark", "generated", "keyword", "keyword_generated", "reload"];

export function listenToNavigation(): void {
  browser.webNavigation.onBeforeNavigate.addListener((details) => void onBeforeNavigate(details));
  browser.webNavigation.onCommitted.addListener((details) => void onCommitted(details));
  browser.webNavigation.onErrorOccurred.addListener((details) => void onErrorOccurred(details));
  browser.webNavigation.onHistoryStateUpdated.addListener((details) => void onMoved(details));
  browser.webNavigation.onReferenceFragmentUpdated.addListener((details) => void onMoved(details));
  browser.tabs.onRemoved.addListener((tab) => void onRemoved(tab));
  browser.tabs.onActivated.addListener(({ tabId }) => void documentsLoaded().then(() => showBadge(tabId)));
}

/** Ask the pages of all tabs to be looked at again: the model or the settings changed. */
export async function readAllAgain(): Promise<void> {
  await documentsLoaded();
  await Promise.all(openTabs().map((tab) => tellPage(tab, "look-again")));
}

/** Ask the pages of tabs not to be looked at any more. */
export async function stopReading(tabs: number[]): Promise<void> {
  await Promise.all(tabs.map((tab) => tellPage(tab, "rest")));
}

/** Before anything is asked for, as far as the browser tells in time. */
async function onBeforeNavigate(details: Begun): Promise<void> {
  if (details.frameId !== 0 || details.documentLifecycle === "prerender") return;
  if (!(await settings()).classifying) return;
  await documentsLoaded();
  await beforeNavigation(details.tabId, pageAddress(details.url));
}

async function onCommitted(details: Committed): Promise<void> {
  if (!mayRead(await settings())) return;
  await documentsLoaded();
  if (details.frameId !== 0) return frameCommitted(details.documentId, details.parentDocumentId);
  if (details.documentLifecycle === "prerender") return;
  const { tabId } = details;
  const back = details.transitionQualifiers?.includes("forward_back") ?? false;
  const task = await arrivedTask(tabId, details.url, currentDocument(tabId), cause(details));
  // Asked for before the page can be read: what is learned of it on this visit counts from the next one on.
  const known = isOpen(hostOf(details.url)) ? null : warningView(details.url);
  const seen = committed(tabId, details.documentId, details.url, back);
  if (task !== undefined) seen.task = task;
  await updateEffects(seen);
  const asked = back || details.transitionType === "form_submit" || (await taskOf(seen)) !== null;
  await arrived(seen, details.url, !asked, (await known) !== null);
  await endVisits();
}

/** Forget the document if the tab shows an error page. Downloads also end here, but then the page is still shown. */
async function onErrorOccurred({ tabId, frameId, error }: Failed): Promise<void> {
  if (frameId !== 0 || !mayRead(await settings())) return;
  await documentsLoaded();
  // What is given up for another navigation has not failed.
  if (!/ABORTED/.test(error)) await openingFailed(tabId);
  const current = currentDocument(tabId);
  if (current === undefined) return;
  const shown: Partial<chrome.webNavigation.GetFrameResultDetails> | null = await browser.webNavigation
    .getFrame({ tabId, frameId })
    .catch(() => null);
  const same =
    shown?.documentId === undefined ? pageAddress(shown?.url ?? "") === current.url : shown.documentId === current.id;
  if (currentDocument(tabId) !== current) return;
  // The page that was to be left stays.
  if (same && shown?.errorOccurred !== true) return protectTab(current);
  tabLeft(tabId);
  await releaseTab(tabId);
  await showBadge(tabId);
  await endVisits();
}

/** Whether the page led on by itself, or the person asked the browser for another one. */
function cause({ transitionType, transitionQualifiers = [] }: Committed): "asked" | "redirected" | "other" {
  if (transitionQualifiers.includes("from_address_bar") || ASKED.includes(transitionType)) return "asked";
  return transitionQualifiers.includes("client_redirect") ? "redirected" : "other";
}

async function onMoved(details: Committed): Promise<void> {
  if (details.frameId !== 0 || !mayRead(await settings())) return;
  await documentsLoaded();
  const seen = currentDocument(details.tabId);
  if (seen === undefined || seen.url === pageAddress(details.url)) return;
  const task = await arrivedTask(seen.tab, details.url, seen, cause(details));
  moved(seen, details.url);
  if (task !== undefined) seen.task = task;
  await protectTab(seen);
  await showBadge(seen.tab);
  await tellPage(seen.tab, "look-again");
}

async function onRemoved(tab: number): Promise<void> {
  await documentsLoaded();
  tabRemoved(tab);
  await releaseTab(tab);
  await endOpening(tab);
  await endVisits();
}

async function tellPage(tab: number, kind: WorkerMessage["kind"]): Promise<void> {
  try {
    await browser.tabs.sendMessage(tab, { kind } satisfies WorkerMessage, { frameId: 0 });
  } catch {
    // No content script there: not a web page, or one that is switched off.
  }
}
