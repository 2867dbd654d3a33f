/**
 * What is said of a page: to the person, and to everything else. What a site could notice follows the published model
 * and never the person's labels or what was learned from them in this browser: a hostile page could find those out
 * otherwise.
 */

import { type Answer, answerOf } from "../core/answer";
import { NON_SENSITIVE } from "../core/taxonomy";
import type { Verdict } from "../messages";
import type { Settings } from "../settings";
import type { SeenDocument } from "./documents";

/** What the person is told: their own word, else what model and local copy can tell; null if it was not read yet. */
export function shownAnswer({ label, verdict }: SeenDocument, choices: Settings): Answer | null {
  return label === null ? modelAnswer(verdict, choices) : { topic: label, cannotTell: null };
}

/** What the published model says; null if the page was not read yet. */
export function publishedAnswer({ published }: SeenDocument, choices: Settings): Answer | null {
  return modelAnswer(published, choices);
}

/** The topic that the published model gives a page; not sensitive, too, where it cannot tell. */
export function publishedTopic(seen: SeenDocument, choices: Settings): number | null {
  const answer = publishedAnswer(seen, choices);
  return answer && (answer.topic ?? NON_SENSITIVE);
}

function modelAnswer(verdict: Verdict | null, { threshold }: Settings): Answer | null {
  return verdict && answerOf(verdict.probabilities, verdict.language, verdict.knownWords, threshold);
}
