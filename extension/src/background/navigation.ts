/** Where tabs go. A badge never outlives the page it was made for. */

import { browser } from "../browser";
import type { LookAgain } from "../messages";
import { pageAddress } from "./address";
import { settings } from "./choices";
import { consider } from "./consider";
import { committed, currentDocument, documentsLoaded, frameCommitted, moved, openTabs, tabRemoved } from "./documents";
import { showFace } from "./face";
import { endVisits } from "./warnings";

type Committed = chrome.webNavigation.WebNavigationTransitionCallbackDetails & {
  documentId?: string;
  parentDocumentId?: string;
};

export function listenToNavigation(): void {
  browser.webNavigation.onCommitted.addListener((details) => void onCommitted(details));
  browser.webNavigation.onHistoryStateUpdated.addListener((details) => void onMoved(details));
  browser.webNavigation.onReferenceFragmentUpdated.addListener((details) => void onMoved(details));
  browser.tabs.onRemoved.addListener((tab) => void onRemoved(tab));
  browser.tabs.onActivated.addListener(({ tabId }) => void documentsLoaded().then(() => showFace(tabId)));
}

/** Ask the pages of all tabs to be looked at again: the model or the settings changed. */
export async function lookAtAllAgain(): Promise<void> {
  await documentsLoaded();
  await Promise.all(openTabs().map(lookAgain));
}

async function onCommitted(details: Committed): Promise<void> {
  if (!(await settings()).classifying) return;
  await documentsLoaded();
  if (details.frameId !== 0) return frameCommitted(details.documentId, details.parentDocumentId);
  if (details.documentLifecycle === "prerender") return;
  const back = details.transitionQualifiers?.includes("forward_back") ?? false;
  const seen = committed(details.tabId, details.documentId, details.url, back);
  await consider(seen);
  await endVisits();
}

async function onMoved(details: Committed): Promise<void> {
  if (details.frameId !== 0 || !(await settings()).classifying) return;
  await documentsLoaded();
  const seen = currentDocument(details.tabId);
  if (seen === undefined || seen.url === pageAddress(details.url)) return;
  moved(seen, details.url);
  await showFace(seen.tab);
  await lookAgain(seen.tab);
}

async function onRemoved(tab: number): Promise<void> {
  await documentsLoaded();
  tabRemoved(tab);
  await endVisits();
}

async function lookAgain(tab: number): Promise<void> {
  try {
    await browser.tabs.sendMessage(tab, { kind: "look-again" } satisfies LookAgain, { frameId: 0 });
  } catch {
    // No content script there: not a web page, or one that is switched off.
  }
}
