/**
 * Delete everything: what the server keeps, if asked, and then all that is here. Afterwards it is as after the
 * installation.
 */

import { stopCollecting } from "../collection";
import { Problem } from "../messages";
import { changeSettings, forgetChoices } from "./choices";
import { deleteDatabase } from "./database";
import { forgetDocuments, openTabs } from "./documents";
import { showFace } from "./face";
import { forgetHeldHosts } from "./hosts";
import { forgetSalt } from "./labels";
import { stopLearning } from "./learning/learning";
import { eraseAt, participants } from "./learning/participant";
import { Refused } from "./learning/server";
import { forgetModel } from "./model";
import { letRest } from "./navigation";
import { forgetKnowledge } from "./parties";
import { syncEverything } from "./settled";
import { forget } from "./warnings";

export async function eraseEverything(alsoAtServer: boolean): Promise<void> {
  // Whoever enrols at this moment is deleted with the others.
  await stopLearning();
  if (alsoAtServer) await eraseAtServers();
  // From here on nothing is noted.
  await changeSettings({ classifying: false, contributing: false, studies: false });
  await stopCollecting();
  await letRest(openTabs());
  await forget(() => true);
  const tabs = openTabs();
  await forgetDocuments();
  await deleteDatabase();
  for (const forgetHeld of [forgetChoices, forgetModel, forgetKnowledge, forgetHeldHosts, forgetSalt]) forgetHeld();
  await syncEverything();
  await Promise.all(tabs.map(showFace));
}

/** Also at servers of earlier days. */
async function eraseAtServers(): Promise<void> {
  const asked = await Promise.allSettled((await participants()).map(eraseAt));
  // 401: it does not know us, so there is nothing to delete.
  const failed = asked.filter(
    (one) => one.status === "rejected" && !(one.reason instanceof Refused && one.reason.status === 401),
  );
  if (failed.length > 0) throw new Problem("problem_erase_server");
}
