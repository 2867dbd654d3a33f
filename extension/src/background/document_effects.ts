/** Updates what depends on a document: its badge, what is blocked in its tab, and what is known of its host. */

import { showBadge } from "./badge";
import { protectTab } from "./blocking/tab_rules";
import { currentDocument, type SeenDocument } from "./documents";
import { noteVisit } from "./history";
import { noteDocument } from "./sensitive_hosts";

const SOON_MS = 150;

const waiting = new Set<SeenDocument>();

/** Block the trackers of a document that changed if it is sensitive, show its badge, and note what it is about. */
export async function updateEffects(seen: SeenDocument): Promise<void> {
  if (currentDocument(seen.tab) === seen) await updateTab(seen);
  // Also of a document that its tab has just left: companies were present on it nevertheless.
  await noteVisit(seen);
}

async function updateTab(seen: SeenDocument): Promise<void> {
  // First: every moment, more is asked for.
  await protectTab(seen);
  await showBadge(seen.tab);
  await noteDocument(seen);
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
