/**
 * Updates what depends on a document: its badge, what is blocked in its tab, and what is known of its host. That this
 * is due is stored with the change, so that the next worker does it if this one is killed.
 */

import { showBadge } from "./badge";
import { protectTab } from "./blocking/tab_rules";
import { currentDocument, dueDocuments, type SeenDocument, saveSoon } from "./documents";
import { noteVisit } from "./history";
import { noteDocument } from "./sensitive_hosts";

const SOON_MS = 150;

const waiting = new Set<SeenDocument>();
/** The latest update of each document: an older one that took longer does not end what is due. */
const latest = new WeakMap<SeenDocument, symbol>();

/** A document changed: store that with what has to follow. */
export function effectsAreDue(seen: SeenDocument): void {
  latest.set(seen, Symbol());
  seen.due = true;
  saveSoon(seen);
}

/** Block the trackers of a document that changed if it is sensitive, show its badge, and note what it is about. */
export async function updateEffects(seen: SeenDocument): Promise<void> {
  const update = latest.get(seen);
  if (currentDocument(seen.tab) === seen) await updateTab(seen);
  // Also of a document that its tab has just left: companies were present on it nevertheless.
  await noteVisit(seen);
  if (seen.due === undefined || latest.get(seen) !== update) return;
  delete seen.due;
  saveSoon(seen);
}

/** Do what the worker before was killed in the middle of. */
export async function finishEffects(): Promise<void> {
  await Promise.all(dueDocuments().map(updateEffects));
}

async function updateTab(seen: SeenDocument): Promise<void> {
  // First: every moment, more is asked for.
  await protectTab(seen);
  await showBadge(seen.tab);
  await noteDocument(seen);
}

/** Do the same a moment later, once for all requests that a loading page makes meanwhile. */
export function updateEffectsSoon(seen: SeenDocument): void {
  effectsAreDue(seen);
  if (waiting.has(seen)) return;
  waiting.add(seen);
  setTimeout(() => {
    waiting.delete(seen);
    void updateEffects(seen);
  }, SOON_MS);
}
