/**
 * Which hosts a page asks for anything, and which of that the browser blocked by our rules. Observed only: nothing is
 * held up or changed here.
 */

import { browser } from "../browser";
import { normalHost } from "../core/site";
import { mayRead } from "../settings";
import { isBlocked } from "./blocking/blocked_requests";
import { updateEffectsSoon } from "./document_effects";
import { documentsLoaded, type Requested, type Requests, requested } from "./documents";
import { settings } from "./settings_store";

type Details = Requested & { requestId: string; url: string; type: string };

const WEB = { urls: ["http://*/*", "https://*/*", "ws://*/*", "wss://*/*"] };
const MOST_STARTED = 1000;

/** Requests that were seen to begin: Firefox does not report the beginning of those that it blocks. */
const started = new Set<string>();

export function listenToNetworkRequests(): void {
  browser.webRequest.onBeforeRequest.addListener((details) => {
    if (isOfPage(details)) void begun(details as Details);
    return undefined;
  }, WEB);
  browser.webRequest.onErrorOccurred.addListener((details) => {
    if (isOfPage(details) && isBlocked(details.error)) void blocked(details as Details);
  }, WEB);
}

function isOfPage({ tabId, type }: { tabId: number; type: string }): boolean {
  return tabId >= 0 && type !== "main_frame";
}

async function begun(request: Details): Promise<void> {
  started.add(request.requestId);
  for (const oldest of started) if (started.size > MOST_STARTED) started.delete(oldest);
  await note(request, { asked: 1, blocked: 0 });
}

async function blocked(request: Details): Promise<void> {
  await note(request, { asked: started.has(request.requestId) ? 0 : 1, blocked: 1 });
}

async function note(request: Details, requests: Requests): Promise<void> {
  if (!mayRead(await settings())) return;
  await documentsLoaded();
  const seen = requested(request, normalHost(new URL(request.url).hostname), requests);
  if (seen !== undefined) updateEffectsSoon(seen);
}
