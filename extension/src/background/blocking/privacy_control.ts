/**
 * Global Privacy Control: tells every site that the person does not want their data sold or shared. On all pages or on
 * none: a signal on sensitive pages alone would tell a site what its page was taken for.
 */

import { browser } from "../../browser";
import { settings } from "../settings_store";
import { PRIORITIES, SITES } from "./rule_numbers";

const ID = "privacy-control";
const FILE = "content/privacy_control.js";
const ALL_TYPES = [
  "main_frame",
  "sub_frame",
  "stylesheet",
  "script",
  "image",
  "font",
  "object",
  "xmlhttprequest",
  "ping",
  "media",
  "websocket",
  "other",
] as chrome.declarativeNetRequest.ResourceType[];

let queue: Promise<unknown> = Promise.resolve();

/** Say it, or do not any more, as the settings ask. One after the other: registrations collide. */
export function syncPrivacyControl(): Promise<void> {
  const turn = queue.then(sync, sync);
  queue = turn.catch(() => undefined);
  return turn;
}

async function sync(): Promise<void> {
  const { privacyControl } = await settings();
  const present = (await browser.scripting.getRegisteredContentScripts({ ids: [ID] })).length > 0;
  if (privacyControl === present) return;
  await browser.declarativeNetRequest.updateDynamicRules({
    removeRuleIds: [SITES.privacyControl],
    addRules: privacyControl ? [HEADER] : [],
  });
  if (!privacyControl) return browser.scripting.unregisterContentScripts({ ids: [ID] });
  await browser.scripting.registerContentScripts([
    {
      id: ID,
      js: [FILE],
      matches: ["http://*/*", "https://*/*"],
      allFrames: true,
      runAt: "document_start",
      world: "MAIN",
      persistAcrossSessions: true,
    },
  ]);
}

const HEADER: chrome.declarativeNetRequest.Rule = {
  id: SITES.privacyControl,
  priority: PRIORITIES.privacyControl,
  action: { type: "modifyHeaders", requestHeaders: [{ header: "Sec-GPC", operation: "set", value: "1" }] },
  condition: { resourceTypes: ALL_TYPES },
};
