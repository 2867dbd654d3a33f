/**
 * What people are told about a page: a topic, "not sensitive", or that the model cannot tell and why, as
 * docs/page-to-prediction.md, section 7.1, specifies; `src/eitr/model/answer.py` is the same in Python. Cases in
 * `tests/golden/answers.json`.
 */

import { NON_SENSITIVE } from "./taxonomy";

/** How probable a sensitive topic must be to be shown, unless the person chose otherwise. */
export const THRESHOLD = 0.45;
/** The least threshold on a page in another of the six languages, where there are more false alarms. */
const THRESHOLD_NOT_ENGLISH = 0.6;
/** A page with fewer known words says too little: a single word must not decide. */
const LEAST_KNOWN = 2;
/** How probable non-sensitive must be for "not sensitive", in English or if the page is too short to tell. */
const LEAST_SURE = 0.5;
/** The same on a page in another of the six languages, where the model misses more. */
const LEAST_SURE_NOT_ENGLISH = 0.97;
/** How many known words such a page must have for "not sensitive". */
const LEAST_KNOWN_NOT_ENGLISH = 20;

/** Why the model cannot tell: the page's language, too few known words, or no class that is probable enough. */
export type CannotTell = "language" | "words" | "close";

/** A class, or why there is none. */
export type Answer =
  | { readonly topic: number; readonly cannotTell: null }
  | { readonly topic: null; readonly cannotTell: CannotTell };

/** What to say about a page, given its probabilities, its language and how many words of the vocabulary it has. */
export function answerOf(
  probabilities: readonly number[],
  language: string,
  knownWords: number,
  threshold: number,
): Answer {
  const english = language === "en" || language === "unknown";
  if (language === "other") return cannotTell("language");
  if (knownWords < LEAST_KNOWN) return cannotTell("words");
  const topic = mostProbable(probabilities);
  let least = english ? threshold : Math.max(threshold, THRESHOLD_NOT_ENGLISH);
  if (topic === NON_SENSITIVE) {
    if (!english && knownWords < LEAST_KNOWN_NOT_ENGLISH) return cannotTell("words");
    least = english ? LEAST_SURE : LEAST_SURE_NOT_ENGLISH;
  }
  return probabilities[topic]! >= least ? { topic, cannotTell: null } : cannotTell("close");
}

/** The most probable class; of equals, the first. */
export function mostProbable(probabilities: readonly number[]): number {
  return probabilities.indexOf(Math.max(...probabilities));
}

function cannotTell(why: CannotTell): Answer {
  return { topic: null, cannotTell: why };
}
