/**
 * Delete everything: what the server keeps, if asked, and then all that is here. Afterwards it is as after the
 * installation.
 */

import { Problem } from "../messages";
import { forgetChoices } from "./choices";
import { deleteDatabase } from "./database";
import { forgetDocuments, openTabs } from "./documents";
import { showFace } from "./face";
import { forgetHeldHosts } from "./hosts";
import { forgetSalt } from "./labels";
import { eraseAt, participants } from "./learning/participant";
import { Refused } from "./learning/server";
import { forgetModel } from "./model";
import { forgetKnowledge } from "./parties";
import { syncEverything } from "./settled";
import { forget } from "./warnings";

export async function eraseEverything(alsoAtServer: boolean): Promise<void> {
  if (alsoAtServer) await eraseAtServers();
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
  for (const participant of await participants()) {
    try {
      await eraseAt(participant);
    } catch (error) {
      // 401: it does not know us, so there is nothing to delete.
      if (!(error instanceof Refused && error.status === 401)) throw new Problem("problem_erase_server");
    }
  }
}
