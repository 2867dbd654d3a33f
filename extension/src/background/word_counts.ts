/** The words of a page with how often it says each: what may be learned from later. */

import type { Vocabulary } from "../core/vocabulary";

/** A word and how often the page says it. */
export type WordCount = [word: string, count: number];

/** How many words are kept that the vocabulary does not know, for the day on which a later one does. */
const MOST_UNKNOWN_WORDS = 500;

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
