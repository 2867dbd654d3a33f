/** The study in the words of `_locales`. */

import { labelPercentage, pagePercentage } from "../../core/privacy_limit";
import { say } from "../../localise";
import type { StudyView } from "../../messages";

/** Rounds in which every page that is no task may be used. */
const ORDINARY_ROUNDS = 2;

/** Where the person is: at a task, at the end, or in a study that is over. */
export function placeText({ open, here, next, tasks }: StudyView): string {
  if (!open) return say("study_closed");
  const at = here ?? next;
  return at === null ? say("study_finished") : say("study_task", String(at.number), String(tasks));
}

/** What is sent of the words of task pages; empty if nothing is. */
export function termsText({ open, terms }: StudyView): string {
  return open && terms ? say("study_terms") : "";
}

/** What can be inferred about task pages from what is sent for training. */
export function limitText({ uses, allLayers }: StudyView): string {
  if (allLayers) return say("study_limit_none");
  const sentences = [say("study_limit", String(uses), String(labelPercentage(uses)), String(pagePercentage(uses)))];
  if (uses > ORDINARY_ROUNDS)
    sentences.push(
      say("study_limit_higher", String(labelPercentage(ORDINARY_ROUNDS)), String(pagePercentage(ORDINARY_ROUNDS))),
    );
  return sentences.join(" ");
}
