/** From a page to a verdict, and to the words that may be learned from later. */

import { mostProbable } from "../core/answer";
import { leadingWords } from "../core/leading_words";
import { localProbabilities } from "../core/local_copy";
import { type Network, probabilities } from "../core/network";
import type { Page } from "../core/page";
import type { Reading } from "../core/reading";
import { NON_SENSITIVE } from "../core/taxonomy";
import { vector } from "../core/vector";
import { readingOf } from "../core/vocabulary";
import type { Verdict } from "../messages";
import { localCopy } from "./learning/local_learning";
import { type Model, model } from "./model";
import { countedWords, repeatedWords, type WordCount } from "./word_counts";

/** What is said of a page. */
export interface Verdicts {
  /** What is shown: by the local copy, where it has a say. */
  verdict: Verdict;
  /** By the published model alone. What a website can notice follows this one, so that no page can query corrections. */
  published: Verdict;
}

export interface Classified extends Verdicts {
  words: WordCount[];
}

export async function classify(page: Page): Promise<Classified> {
  const current = await model();
  const reading = readingOf(page, current.vocabulary);
  return { ...(await verdictsOf(reading, current)), words: countedWords(reading.tokens, current.vocabulary) };
}

/** Judge a page again by its words; undefined if it was read for another model, for which it may need other words. */
export async function classifyAgain(words: readonly WordCount[], before: Verdict): Promise<Verdicts | undefined> {
  const current = await model();
  if (before.version !== current.version) return undefined;
  return verdictsOf({ language: before.language, tokens: repeatedWords(words) }, current);
}

async function verdictsOf({ language, tokens }: Reading, current: Model): Promise<Verdicts> {
  const { vocabulary, version } = current;
  const row = vector(tokens, vocabulary);
  const made = (network: Network, chances: number[]): Verdict => {
    const topic = mostProbable(chances);
    const words = topic === NON_SENSITIVE ? [] : leadingWords(network, vocabulary, tokens, topic);
    return { topic, probabilities: chances, language, knownWords: row.indices.length, words, version };
  };
  const published = made(current.network, [...probabilities(current.network, row)]);
  const copy = await localCopy(current);
  const local = copy && localProbabilities(copy, row);
  return { published, verdict: copy && local ? made(copy.network, [...local]) : published };
}
