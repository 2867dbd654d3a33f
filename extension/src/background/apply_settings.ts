/** Applies the settings, after a change and whenever the worker starts. */

import { isResting, mayRead, type Settings } from "../settings";
import { showAllBadges, showEveryBadge } from "./badge";
import { syncPrivacyControl } from "./blocking/privacy_control";
import { syncSiteRules } from "./blocking/site_rules";
import { syncTabRules } from "./blocking/tab_rules";
import { readOpenTabs, syncContentScripts } from "./content_scripts";
import { forgetDocuments, openTabs } from "./documents";
import { pruneVisits } from "./history";
import { judgeAgain } from "./judge_again";
import { forgetFailures, stopLearning, syncAlarm } from "./learning/learning";
import { dropUpdate } from "./learning/outbox";
import { stopReading } from "./navigation";
import { syncPauseAlarm } from "./pause_alarm";
import { type Change, changeSettings } from "./settings_store";
import { dropStudy } from "./study/study_store";
import { stopStudy, syncStudy } from "./study/study_sync";
import { forgetOpenings } from "./study/task_pages";
import { syncRules } from "./warnings";

/** Change settings, and everything that depends on them; return them. */
export async function changeAndApply(change: Change): Promise<Settings> {
  const [before, after] = await changeSettings(change);
  await applySettings(before, after);
  return after;
}

async function applySettings(before: Settings, after: Settings): Promise<void> {
  // What is taken back comes first, whatever else may fail.
  if (mayRead(before) && !mayRead(after)) {
    const tabs = openTabs();
    forgetOpenings();
    await forgetDocuments();
    await Promise.all([stopReading(tabs), showEveryBadge()]);
  }
  const takenBack = !after.contributing || (before.allLayers && !after.allLayers);
  if (takenBack || before.server !== after.server) {
    await stopLearning();
    await dropUpdate();
  }
  if (!after.studies || before.server !== after.server) await endStudy(before);
  if (before.server !== after.server) await forgetFailures();
  if (before.localLearning !== after.localLearning) await judgeAgain();
  const pauseEnds = before.pausedUntil > 0 && !isResting(after);
  await (pauseEnds ? showEveryBadge() : showAllBadges());
  await syncEverything();
  const switchedOn = !mayRead(before) || pauseEnds || before.offSites.length > after.offSites.length;
  if (mayRead(after) && switchedOn) await readOpenTabs();
  if (after.studies && (!before.studies || before.server !== after.server)) void syncStudy(true);
}

/** The person wants no studies any more, or another server: what was not sent yet never will be. */
async function endStudy({ studies }: Settings): Promise<void> {
  if (!studies) return;
  await stopStudy();
  await dropStudy();
}

/** Each for itself: what is wrong with one must not keep the others from being done. */
export async function syncEverything(): Promise<void> {
  const done = await Promise.allSettled([
    syncContentScripts(),
    syncRules(),
    syncSiteRules(),
    syncTabRules(),
    syncPrivacyControl(),
    syncAlarm(),
    syncPauseAlarm(),
    pruneVisits(),
  ]);
  for (const one of done) if (one.status === "rejected") throw one.reason;
}
