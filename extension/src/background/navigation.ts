/** Where tabs go. A badge never outlives the page it was made for. */

import { browser } from "../browser";
import type { WorkerMessage } from "../messages";
import { pageAddress } from "./address";
import { showBadge } from "./badge";
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
import { arrived, endVisits } from "./warnings";

type Committed = chrome.webNavigation.WebNavigationTransitionCallbackDetails & {
  documentId?: string;
  parentDocumentId?: string;
};

export function listenToNavigation(): void {
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

async function onCommitted(details: Committed): Promise<void> {
  if (!(await settings()).classifying) return;
  await documentsLoaded();
  if (details.frameId !== 0) return frameCommitted(details.documentId, details.parentDocumentId);
  if (details.documentLifecycle === "prerender") return;
  const back = details.transitionQualifiers?.includes("forward_back") ?? false;
  const seen = committed(details.tabId, details.documentId, details.url, back);
  await updateEffects(seen);
  const asked = back || details.transitionType === "form_submit";
  await arrived(details.tabId, details.url, !asked);
  await endVisits();
}

/** Forget the document if the tab shows an error page. Downloads also end here, but then the page is still shown. */
async function onErrorOccurred({ tabId, frameId }: { tabId: number; frameId: number }): Promise<void> {
  if (frameId !== 0 || !(await settings()).classifying) return;
  await documentsLoaded();
  const current = currentDocument(tabId);
  if (current === undefined) return;
  const shown: Partial<chrome.webNavigation.GetFrameResultDetails> | null = await browser.webNavigation
    .getFrame({ tabId, frameId })
    .catch(() => null);
  const same =
    shown?.documentId === undefined ? pageAddress(shown?.url ?? "") === current.url : shown.documentId === current.id;
  if (currentDocument(tabId) !== current || (same && shown?.errorOccurred !== true)) return;
  tabLeft(tabId);
  await showBadge(tabId);
  await endVisits();
}

async function onMoved(details: Committed): Promise<void> {
  if (details.frameId !== 0 || !(await settings()).classifying) return;
  await documentsLoaded();
  const seen = currentDocument(details.tabId);
  if (seen === undefined || seen.url === pageAddress(details.url)) return;
  moved(seen, details.url);
  await showBadge(seen.tab);
  await tellPage(seen.tab, "look-again");
}

async function onRemoved(tab: number): Promise<void> {
  await documentsLoaded();
  tabRemoved(tab);
  await endVisits();
}

async function tellPage(tab: number, kind: WorkerMessage["kind"]): Promise<void> {
  try {
    await browser.tabs.sendMessage(tab, { kind } satisfies WorkerMessage, { frameId: 0 });
  } catch {
    // No content script there: not a web page, or one that is switched off.
  }
}
