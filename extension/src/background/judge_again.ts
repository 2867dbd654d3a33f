/** Judges the open pages again after a correction, by their words as they were read: nothing is asked of the pages. */

import { browser } from "../browser";
import { classifyAgain } from "./classify";
import { effectsAreDue, updateEffects } from "./document_effects";
import { currentDocument, documentsLoaded, openTabs, savedWords } from "./documents";
import { labelOf, labelsRevision } from "./labelled_pages";
import { settings } from "./settings_store";

/** What the open pages were judged by when this was last done to the end. */
const JUDGED = "judged";

/** Bring the verdicts on all pages that tabs show up to date with corrections and settings. */
export async function judgeAgain(): Promise<void> {
  await documentsLoaded();
  const judged = await judgedBy();
  for (const tab of openTabs()) await judgeTabAgain(tab);
  await browser.storage.session.set({ [JUDGED]: judged });
}

/** The same, without letting anybody wait for the training that precedes it. */
export function judgeAgainSoon(): void {
  judgeAgain().catch((error: unknown) => console.error("Open pages could not be judged again:", error));
}

/** The same when the worker starts, if the one before was stopped in the middle of it. */
export async function finishJudging(): Promise<void> {
  const judged = (await browser.storage.session.get(JUDGED))[JUDGED];
  if (openTabs().length > 0 && judged !== (await judgedBy())) judgeAgainSoon();
}

async function judgedBy(): Promise<string> {
  return JSON.stringify([(await settings()).localLearning, await labelsRevision()]);
}

async function judgeTabAgain(tab: number): Promise<void> {
  const seen = currentDocument(tab);
  if (seen === undefined || seen.published === null || !(await settings()).classifying) return;
  const { published: before, label: said } = seen;
  const words = await savedWords(seen);
  const [judged, label] = await Promise.all([words && classifyAgain(words, before), labelOf(seen.url)]);
  // Meanwhile the tab may have gone elsewhere, or its page may have been read again.
  if (judged === undefined || currentDocument(tab) !== seen || seen.published !== before) return;
  seen.verdict = judged.verdict;
  seen.published = judged.published;
  // A worker that was killed may have stored what the person said and no more. What they say meanwhile counts.
  if (seen.label === said) seen.label = label;
  effectsAreDue(seen);
  await updateEffects(seen);
}
