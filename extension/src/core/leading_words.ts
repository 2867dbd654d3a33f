/** The words of a page that led to its verdict. */

import type { Network } from "./network";
import { addRow, firstSums, layersOf, logitsOf } from "./network";
import { vector } from "./vector";
import type { Vocabulary } from "./vocabulary";

/** Of a long page, so many words are tried: each takes a pass through the network, and the lightest decide nothing. */
const MOST_TRIED = 40;

/**
 * The words that spoke most for a topic, in the spelling found on the page, and the share of each in what all words
 * that were tried said for it.
 *
 * Each word is left out of the vector in turn and the page judged again, so a reason is what the model really did: how
 * far the topic's log-probability falls against that of the best other. The other words keep their values, as in
 * `eitr.model.classifier`: the vector is not brought back to length 1. Only the first layer's sums change, by one row.
 */
export function leadingWords(
  network: Network,
  vocabulary: Vocabulary,
  words: readonly string[],
  topic: number,
  most = 8,
): { word: string; share: number }[] {
  const page = vector(words, vocabulary);
  const { outputs, kernel } = layersOf(network.layers)[0]!;
  const sums = firstSums(network, page);
  const lead = leadOf(topic, logitsOf(network, sums));
  const spoke = heaviest(page.values).map((entry) => {
    const index = page.indices[entry]!;
    const without = sums.slice();
    addRow(without, network.parameters, kernel + index * outputs, -page.values[entry]!);
    return { index, fall: lead - leadOf(topic, logitsOf(network, without)) };
  });
  const positive = spoke.filter(({ fall }) => fall > 0).sort((one, other) => other.fall - one.fall);
  const total = positive.reduce((sum, { fall }) => sum + fall, 0);
  const spelling = spellings(words, vocabulary);
  return positive.slice(0, most).map(({ index, fall }) => ({ word: spelling.get(index)!, share: fall / total }));
}

/** How far the topic's log-probability is above that of the best other: the logits' difference, for the sum cancels. */
function leadOf(topic: number, logits: Float64Array): number {
  return logits[topic]! - Math.max(...logits.filter((_, other) => other !== topic));
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
