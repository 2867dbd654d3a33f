/** Firefox keeps a list of what add-ons may pass on, and asks the person itself; other browsers have no such list. */

import { browser } from "../../browser";

type Wish = chrome.permissions.Permissions & { data_collection?: string[] };

/** Whether the browser lets us contribute. To be called in answer to a click. */
export async function mayContribute(): Promise<boolean> {
  const settings = browser.runtime.getManifest() as { browser_specific_settings?: unknown };
  if (settings.browser_specific_settings === undefined) return true;
  const wish: Wish = { data_collection: ["websiteContent"] };
  return browser.permissions.request(wish);
}
