/** Which hosts a page asks for anything. Observed only; nothing is held up or changed. */

import { browser } from "../browser";
import { updateEffectsSoon } from "./document_effects";
import { documentsLoaded, type Requested, requested } from "./documents";
import { settings } from "./settings_store";

export function listenToNetworkRequests(): void {
  browser.webRequest.onBeforeRequest.addListener(
    (details) => {
      if (details.tabId >= 0 && details.type !== "main_frame") void note(details as Requested, details.url);
      return undefined;
    },
    { urls: ["http://*/*", "https://*/*", "ws://*/*", "wss://*/*"] },
  );
}

async function note(request: Requested, url: string): Promise<void> {
  if (!(await settings()).classifying) return;
  await documentsLoaded();
  const seen = requested(request, new URL(url).hostname);
  if (seen !== undefined) updateEffectsSoon(seen);
}
