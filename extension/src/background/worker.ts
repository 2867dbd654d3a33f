/**
 * The background of the extension. The browser stops it when there is nothing to do and starts it anew for each event,
 * so all listeners are there before the first promise, and nothing is known only here.
 */

import { browser } from "../browser";
import { onNoMoreCollecting } from "../data_collection";
import { mayRead } from "../settings";
import { changeAndApply, syncEverything } from "./apply_settings";
import { showAllBadges } from "./badge";
import { readOpenTabs } from "./content_scripts";
import { finishEffects } from "./document_effects";
import { documentsLoaded } from "./documents";
import { finishJudging } from "./judge_again";
import { listenToAlarms } from "./learning/learning";
import { listenToMessages } from "./message_router";
import { listenToNavigation } from "./navigation";
import { listenToNetworkRequests } from "./network_requests";
import { endPauseIfOver, listenToPauseAlarm } from "./pause";
import { settings } from "./settings_store";
import { listenToWarningAlarms } from "./warnings";

listenToMessages();
listenToNavigation();
listenToNetworkRequests();
listenToAlarms();
listenToWarningAlarms();
listenToPauseAlarm();

onNoMoreCollecting(() => void changeAndApply({ contributing: false, studies: false }));

browser.runtime.onInstalled.addListener(() => void installed());
// A listener makes the browser start the worker, which restores badges, rules and alarms.
browser.runtime.onStartup.addListener(() => undefined);

/** Ask what we may do. If that was answered before, it was an update, and open pages have lost their reader. */
async function installed(): Promise<void> {
  const choices = await settings();
  if (choices.asked === 0) await browser.tabs.create({ url: browser.runtime.getURL("pages/welcome/welcome.html") });
  else if (mayRead(choices)) await readOpenTabs();
}

/** Tests wait for this before they navigate. */
const ready = self as typeof self & { ready?: boolean };

void documentsLoaded()
  .then(endPauseIfOver)
  .then(() => Promise.all([syncEverything(), showAllBadges(), finishEffects(), finishJudging()]))
  .catch((error: unknown) => console.error("The worker did not start as it should:", error))
  .finally(() => {
    ready.ready = true;
  });
