/**
 * What people are told about a page: a topic, "not sensitive", or that the model cannot tell and why, as
 * docs/page-to-prediction.md, section 7.1, specifies; `src/eitr/model/answer.py` is the same in Python. Cases in
 * `tests/golden/answers.json`.
 */

import { NON_SENSITIVE } from "./taxonomy";

/** How probable a sensitive topic must be to be shown, unless the person chose otherwise. */
export const THRESHOLD = 0.45;
/** The least threshold on a page that is not in English, where there are more false alarms. */
const THRESHOLD_NOT_ENGLISH = 0.6;
/** The least threshold on a page with a single known word, which decides only if it has one meaning. */
const THRESHOLD_ONE_WORD = 0.8;
/** The least threshold on a page with few known words: one word with several meanings outweighs the others. */
const THRESHOLD_FEW_WORDS = 0.6;
/** A page with at most so many known words has few of them. */
const FEW_WORDS = 2;
/** How many known words a page must have for "not sensitive". */
const LEAST_KNOWN = 2;
/** How probable non-sensitive must be for "not sensitive", in English or if the page is too short to tell. */
const LEAST_SURE = 0.5;

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
  if (knownWords === 0) return cannotTell("words");
  const topic = mostProbable(probabilities);
  let least = Math.max(threshold, leastThreshold(english, knownWords));
  if (topic === NON_SENSITIVE) {
    // In other languages the model knows too few words to be sure that a page has none of a topic.
    if (knownWords < LEAST_KNOWN || !english) return cannotTell("words");
    least = LEAST_SURE;
  }
  if (probabilities[topic]! >= least) return { topic, cannotTell: null };
  return cannotTell(knownWords < LEAST_KNOWN ? "words" : "close");
}

/** The lowest threshold that may be chosen for a page. */
function leastThreshold(english: boolean, knownWords: number): number {
  if (knownWords === 1) return THRESHOLD_ONE_WORD;
  const few = knownWords <= FEW_WORDS ? THRESHOLD_FEW_WORDS : 0;
  return english ? few : Math.max(few, THRESHOLD_NOT_ENGLISH);
}

/** The most probable class; of equals, the first. */
export function mostProbable(probabilities: readonly number[]): number {
  return probabilities.indexOf(Math.max(...probabilities));
}

function cannotTell(why: CannotTell): Answer {
  return { topic: null, cannotTell: why };
}
