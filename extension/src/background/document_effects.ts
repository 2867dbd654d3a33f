/** Updates what depends on a document: its badge, and the list of sensitive hosts with trackers. */

import { NON_SENSITIVE } from "../core/taxonomy";
import { siteOf } from "../core/trackers";
import { hostOf } from "./address";
import { showBadge, shownAnswer } from "./badge";
import { currentDocument, type SeenDocument } from "./documents";
import { settings } from "./settings_store";
import { taskOf } from "./study/task_pages";
import { companies, thirdPartiesOf, trackerData } from "./third_parties";
import { remember } from "./warnings";

const SOON_MS = 150;

const waiting = new Set<SeenDocument>();

/** Show the badge of a document that changed, and remember its host if it is sensitive and has trackers. */
export async function updateEffects(seen: SeenDocument): Promise<void> {
  if (currentDocument(seen.tab) !== seen) return;
  await showBadge(seen.tab);
  const choices = await settings();
  const host = hostOf(seen.url);
  const topic = shownAnswer(seen, choices)?.topic ?? NON_SENSITIVE;
  if (!choices.classifying || host === "" || choices.offSites.includes(siteOf(host))) return;
  // On the pages of a study nobody is warned: the person was asked to come.
  if (topic === NON_SENSITIVE || (await taskOf(seen)) !== null) return;
  const found = companies(thirdPartiesOf(seen, await trackerData()).trackers);
  if (found.length > 0) await remember(host, topic, found);
}

/** Do the same a moment later, once for all requests that a loading page makes meanwhile. */
export function updateEffectsSoon(seen: SeenDocument): void {
  if (waiting.has(seen)) return;
  waiting.add(seen);
  setTimeout(() => {
    waiting.delete(seen);
    void updateEffects(seen);
  }, SOON_MS);
}
