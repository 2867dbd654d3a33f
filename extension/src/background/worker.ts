/**
 * The background of the extension. The browser stops it when there is nothing to do and starts it anew for each event,
 * so all listeners are there before the first promise, and nothing is known only here.
 */

import { browser } from "../browser";
import { settings } from "./choices";
import { listenAtTheDoor } from "./door";
import { documentsLoaded } from "./documents";
import { showAllFaces } from "./face";
import { listenToAlarms } from "./learning/learning";
import { listenToNavigation } from "./navigation";
import { listenToRequests } from "./requests";
import { syncEverything } from "./settled";

listenAtTheDoor();
listenToNavigation();
listenToRequests();
listenToAlarms();

browser.runtime.onInstalled.addListener(() => void welcome());
// So that it starts with the browser, and badges, rules and alarms are as they should be.
browser.runtime.onStartup.addListener(() => undefined);

/** Ask what we may do, unless that was answered before. */
async function welcome(): Promise<void> {
  if ((await settings()).asked > 0) return;
  await browser.tabs.create({ url: browser.runtime.getURL("pages/welcome/welcome.html") });
}

/** Tests wait for this before they navigate. */
const ready = self as typeof self & { ready?: boolean };

void documentsLoaded()
  .then(() => Promise.all([syncEverything(), showAllFaces()]))
  .catch((error: unknown) => console.error("The worker did not start as it should:", error))
  .finally(() => {
    ready.ready = true;
  });
