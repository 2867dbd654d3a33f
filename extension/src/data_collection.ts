/** Firefox keeps a list of what add-ons may pass on, and asks the person itself; other browsers have no such list. */

import { browser } from "./browser";

type Wish = chrome.permissions.Permissions & { data_collection?: string[] };
const WISH: Wish = { data_collection: ["websiteContent"] };

function hasList(): boolean {
  const manifest = browser.runtime.getManifest() as { browser_specific_settings?: unknown };
  return manifest.browser_specific_settings !== undefined;
}

/** Ask the person, by the browser, whether we may contribute. To be called in answer to a click. */
export async function askToCollect(): Promise<boolean> {
  return !hasList() || browser.permissions.request(WISH);
}

/** Whether the browser lets us contribute. */
export async function mayCollect(): Promise<boolean> {
  return !hasList() || browser.permissions.contains(WISH);
}

/** Give the browser's permission back. */
export async function stopCollecting(): Promise<void> {
  if (hasList()) await browser.permissions.remove(WISH);
}

/** Call when the person takes it back, in the browser's own pages. */
export function onNoMoreCollecting(call: () => void): void {
  if (!hasList()) return;
  browser.permissions.onRemoved.addListener((removed: Wish) => {
    if (removed.data_collection?.includes("websiteContent")) call();
  });
}
