/** Judges the open pages again after a correction, by their words as they were read: nothing is asked of the pages. */

import { classifyAgain } from "./classify";
import { updateEffects } from "./document_effects";
import { currentDocument, documentsLoaded, openTabs, savedWords, saveSoon } from "./documents";
import { localCopyIsCurrent } from "./learning/local_learning";
import { settings } from "./settings_store";

/** Bring the verdicts on all pages that tabs show up to date with corrections and settings. */
export async function judgeAgain(): Promise<void> {
  await documentsLoaded();
  for (const tab of openTabs()) await judgeTabAgain(tab);
}

/** The same, without letting anybody wait for the training that precedes it. */
export function judgeAgainSoon(): void {
  judgeAgain().catch((error: unknown) => console.error("Open pages could not be judged again:", error));
}

/** The same when the worker starts, if the one before was stopped in the middle of it. */
export async function finishJudging(): Promise<void> {
  if (!(await localCopyIsCurrent())) judgeAgainSoon();
}

async function judgeTabAgain(tab: number): Promise<void> {
  const seen = currentDocument(tab);
  if (seen === undefined || seen.published === null || !(await settings()).classifying) return;
  const before = seen.published;
  const words = await savedWords(seen);
  const judged = words && (await classifyAgain(words, before));
  // Meanwhile the tab may have gone elsewhere, or its page may have been read again.
  if (judged === undefined || currentDocument(tab) !== seen || seen.published !== before) return;
  seen.verdict = judged.verdict;
  seen.published = judged.published;
  saveSoon(seen);
  await updateEffects(seen);
}
