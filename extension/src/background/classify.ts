/** From a page to a verdict, and to the words that may be learned from later. */

import { mostProbable } from "../core/answer";
import { leadingWords } from "../core/leading_words";
import { probabilities } from "../core/network";
import type { Page } from "../core/page";
import { NON_SENSITIVE } from "../core/taxonomy";
import { vector } from "../core/vector";
import { readingOf, type Vocabulary } from "../core/vocabulary";
import type { Verdict } from "../messages";
import { model } from "./model";

/** A word and how often the page says it. */
export type WordCount = [word: string, count: number];

export interface Classified {
  verdict: Verdict;
  words: WordCount[];
}

/** How many words are kept that the vocabulary does not know, for the day on which a later one does. */
const MOST_UNKNOWN_WORDS = 500;

export async function classify(page: Page): Promise<Classified> {
  const { network, vocabulary, version } = await model();
  const { language, tokens } = readingOf(page, vocabulary);
  const row = vector(tokens, vocabulary);
  const chances = [...probabilities(network, row)];
  const topic = mostProbable(chances);
  const words = topic === NON_SENSITIVE ? [] : leadingWords(network, vocabulary, tokens, topic);
  const knownWords = row.indices.length;
  const verdict = { topic, probabilities: chances, language, knownWords, words, version };
  return { verdict, words: countedWords(tokens, vocabulary) };
}

/** Count a page's words: all that the vocabulary knows, and the most frequent of the others. */
export function countedWords(words: readonly string[], vocabulary: Vocabulary): WordCount[] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const known: WordCount[] = [];
  const unknown: WordCount[] = [];
  for (const entry of counts) (vocabulary.places.has(entry[0]) ? known : unknown).push(entry);
  unknown.sort((one, other) => other[1] - one[1]);
  return [...known, ...unknown.slice(0, MOST_UNKNOWN_WORDS)];
}

/** The words again, each as often as it was counted: what `vector` takes. */
export function repeatedWords(counts: readonly WordCount[]): string[] {
  return counts.flatMap(([word, count]) => new Array<string>(count).fill(word));
}
