/**
 * The content script is registered only while somebody has agreed that pages are read: before that, no code of ours
 * runs in any page. Sites that are switched off are left out in the same way.
 */

import { browser } from "../browser";
import { mayRead } from "../settings";
import { settings } from "./settings_store";

const ID = "page";
const FILE = "content/content.js";
const WEB = ["http://*/*", "https://*/*"];

let queue: Promise<unknown> = Promise.resolve();

/** Register, change or remove the content script, as the settings ask. One after the other: registrations collide. */
export function syncContentScripts(): Promise<void> {
  const turn = queue.then(sync, sync);
  queue = turn;
  return turn;
}

/** Look at the pages that are open already. */
export async function readOpenTabs(): Promise<void> {
  const tabs = await browser.tabs.query({ url: WEB });
  await Promise.allSettled(
    tabs
      .filter((tab) => tab.id !== undefined && !tab.incognito && !tab.discarded)
      .map((tab) => browser.scripting.executeScript({ target: { tabId: tab.id! }, files: [FILE] })),
  );
}

async function sync(): Promise<void> {
  const choices = await settings();
  const present = (await browser.scripting.getRegisteredContentScripts({ ids: [ID] }))[0];
  if (!mayRead(choices)) {
    if (present !== undefined) await browser.scripting.unregisterContentScripts({ ids: [ID] });
    return;
  }
  const excludeMatches = choices.offSites.map((site) => (/[a-z]$/i.test(site) ? `*://*.${site}/*` : `*://${site}/*`));
  if (present === undefined) {
    const script = { id: ID, js: [FILE], matches: WEB, runAt: "document_idle" as const, persistAcrossSessions: true };
    // An odd name in the list must not keep the others from being read; the worker looks at the list as well.
    await browser.scripting
      .registerContentScripts([{ ...script, excludeMatches }])
      .catch(() => browser.scripting.registerContentScripts([script]));
  } else if (String(present.excludeMatches ?? []) !== String(excludeMatches)) {
    await browser.scripting.updateContentScripts([{ id: ID, js: [FILE], excludeMatches }]).catch(() => undefined);
  }
}
