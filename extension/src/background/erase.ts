/**
 * Delete everything: what the server keeps, if asked, and then all that is here. Afterwards it is as after the
 * installation.
 */

import { stopCollecting } from "../data_collection";
import { Problem } from "../messages";
import { syncEverything } from "./apply_settings";
import { showEveryBadge } from "./badge";
import { deleteDatabase } from "./database";
import { forgetDocuments, openTabs } from "./documents";
import { forgetVisits } from "./history";
import { stopLearning } from "./learning/learning";
import { forgetLocalCopy } from "./learning/local_learning";
import { eraseAt, participants } from "./learning/participant";
import { Refused } from "./learning/server";
import { forgetModel } from "./model";
import { stopReading } from "./navigation";
import { forgetCachedHosts } from "./remembered_hosts";
import { forgetSalt } from "./salted_hash";
import { forget } from "./sensitive_hosts";
import { changeSettings, forgetSettings } from "./settings_store";
import { forgetStudy } from "./study/study_store";
import { stopStudy } from "./study/study_sync";
import { forgetOpenings } from "./study/task_pages";
import { forgetTrackerData } from "./third_parties";

const HELD = [
  forgetSettings,
  forgetModel,
  forgetLocalCopy,
  forgetTrackerData,
  forgetCachedHosts,
  forgetSalt,
  forgetStudy,
  forgetOpenings,
];

export async function eraseEverything(alsoAtServer: boolean): Promise<void> {
  // Whoever enrols at this moment is deleted with the others.
  await Promise.all([stopLearning(), stopStudy()]);
  if (alsoAtServer) await eraseAtServers();
  // From here on nothing is noted.
  await changeSettings({ classifying: false, contributing: false, studies: false });
  await stopCollecting();
  await stopReading(openTabs());
  await forget(() => true);
  await forgetVisits({});
  await forgetDocuments();
  await deleteDatabase();
  for (const forgetHeld of HELD) forgetHeld();
  await syncEverything();
  await showEveryBadge();
}

/** Delete the participant at every server we ever enrolled with. */
async function eraseAtServers(): Promise<void> {
  const asked = await Promise.allSettled((await participants()).map(eraseAt));
  // 401: it does not know us, so there is nothing to delete.
  const failed = asked.filter(
    (one) => one.status === "rejected" && !(one.reason instanceof Refused && one.reason.status === 401),
  );
  if (failed.length > 0) throw new Problem("problem_erase_server");
}
