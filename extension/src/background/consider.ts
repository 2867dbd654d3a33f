/** A document changed, or became known better: show it, and remember its host if it is both sensitive and tracked. */

import { NON_SENSITIVE } from "../core/taxonomy";
import { siteOf } from "../core/trackers";
import { settings } from "./choices";
import { currentDocument, type SeenDocument } from "./documents";
import { showFace, shownTopic } from "./face";
import { companies, hostOf, knowledge, partiesOf } from "./parties";
import { remember } from "./warnings";

const SOON_MS = 150;

const waiting = new Set<SeenDocument>();

export async function consider(seen: SeenDocument): Promise<void> {
  if (currentDocument(seen.tab) !== seen) return;
  await showFace(seen.tab);
  const choices = await settings();
  const host = hostOf(seen.url);
  const topic = shownTopic(seen, choices);
  if (!choices.classifying || host === "" || choices.offSites.includes(siteOf(host))) return;
  if (topic === null || topic === NON_SENSITIVE) return;
  const found = companies(partiesOf(seen, await knowledge()).trackers);
  if (found.length > 0) await remember(host, topic, found);
}

/** The same, but once for the many requests of a page that loads. */
export function considerSoon(seen: SeenDocument): void {
  if (waiting.has(seen)) return;
  waiting.add(seen);
  setTimeout(() => {
    waiting.delete(seen);
    void consider(seen);
  }, SOON_MS);
}
