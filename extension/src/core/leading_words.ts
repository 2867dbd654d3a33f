/** The words of a page that led to its verdict. */

import type { Network } from "./network";
import { addRow, firstSums, layersOf, logitsOf } from "./network";
import { vector } from "./vector";
import type { Vocabulary } from "./vocabulary";

/** Of a long page, so many words are tried: each takes a pass through the network, and the lightest decide nothing. */
const MOST_TRIED = 40;
const MOST_NAMED = 8;
/** A word that moves the log-odds by less is no reason. */
const MIN_WEIGHT = 0.01;

/**
 * The words that spoke for a topic, at most eight, those that spoke most first, in the spelling found on the page; and
 * the share of each in what all words that were tried said for it.
 *
 * Each word is left out of the vector in turn and the page judged again, so a reason is what the model really did: how
 * far the topic's log-odds fall. The other words keep their values: the vector is not brought back to length 1. Only
 * the first layer's sums change, by one row. `Classifier.reasons` in Python computes the same.
 */
export function leadingWords(
  network: Network,
  vocabulary: Vocabulary,
  words: readonly string[],
  topic: number,
): { word: string; share: number }[] {
  const page = vector(words, vocabulary);
  const { outputs, kernel } = layersOf(network.layers)[0]!;
  const sums = firstSums(network, page);
  const odds = logOdds(topic, logitsOf(network, sums));
  const tried = heaviest(page.values).map((entry) => {
    const index = page.indices[entry]!;
    const without = sums.slice();
    addRow(without, network.parameters, kernel + index * outputs, -page.values[entry]!);
    return { index, weight: odds - logOdds(topic, logitsOf(network, without)) };
  });
  const spoke = tried.filter(({ weight }) => weight >= MIN_WEIGHT).sort((one, other) => other.weight - one.weight);
  const total = spoke.reduce((sum, { weight }) => sum + weight, 0);
  const spelling = spellings(words, vocabulary);
  return spoke.slice(0, MOST_NAMED).map(({ index, weight }) => ({ word: spelling.get(index)!, share: weight / total }));
}

/** The logarithm of how much likelier the topic is than all others together. */
function logOdds(topic: number, logits: Float64Array): number {
  const others = logits.filter((_, other) => other !== topic);
  const largest = Math.max(...others);
  return logits[topic]! - largest - Math.log(others.reduce((sum, logit) => sum + Math.exp(logit - largest), 0));
}

/** The places of the largest values, largest first. */
function heaviest(values: Float32Array): number[] {
  return [...values.keys()].sort((one, other) => values[other]! - values[one]!).slice(0, MOST_TRIED);
}

/** For each word of the vocabulary, which of its forms the page uses most; of equals, the first. */
function spellings(words: readonly string[], vocabulary: Vocabulary): Map<number, string> {
  const counts = new Map<string, number>();
  for (const word of words) if (vocabulary.places.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const found = new Map<number, string>();
  for (const [word, count] of counts) {
    const place = vocabulary.places.get(word)!;
    const rival = found.get(place);
    if (rival === undefined || count > counts.get(rival)!) found.set(place, word);
  }
  return found;
}
