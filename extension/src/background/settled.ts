/** Make everything as the settings ask: after a change, and whenever the worker starts. */

import type { Settings } from "../settings";
import { forgetDocuments, openTabs } from "./documents";
import { showAllFaces, showFace } from "./face";
import { forgetFailures, syncAlarm } from "./learning/learning";
import { dropUpdate, waitingUpdate } from "./learning/outbox";
import { readOpenTabs, syncScripts } from "./scripts";
import { syncRules } from "./warnings";

export async function applySettings(before: Settings, after: Settings): Promise<void> {
  await syncEverything();
  if (before.classifying && !after.classifying) {
    const tabs = openTabs();
    await forgetDocuments();
    await Promise.all(tabs.map(showFace));
  }
  // Whoever takes back their word, or goes elsewhere, sends nothing more there.
  if (!after.contributing || before.server !== after.server) await dropWaiting();
  if (before.server !== after.server) await forgetFailures();
  const switchedOn = after.classifying && (!before.classifying || before.offSites.length > after.offSites.length);
  if (switchedOn) await readOpenTabs();
  await showAllFaces();
}

export async function syncEverything(): Promise<void> {
  await Promise.all([syncScripts(), syncRules(), syncAlarm()]);
}

async function dropWaiting(): Promise<void> {
  const waiting = await waitingUpdate();
  if (waiting !== undefined) await dropUpdate(waiting, false);
}
