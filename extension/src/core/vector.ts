/** From a page's words to the numbers a model reads (docs/page-to-prediction.md, section 5). */

import { ln } from "./logarithm";
import type { Vocabulary } from "./vocabulary";

export interface SparseVector {
  /** Ascending. */
  readonly indices: Int32Array;
  readonly values: Float32Array;
}

/** weight = (1 + ln tf) idf of each known word, divided by the Euclidean norm of all; empty if no word is known. */
export function vector(words: readonly string[], vocabulary: Vocabulary): SparseVector {
  const counts = new Map<number, number>();
  for (const word of words) {
    const place = vocabulary.places.get(word);
    if (place !== undefined) counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const indices = Int32Array.from(counts.keys()).sort();
  const weights = Float64Array.from(indices, (place) => (1 + ln(counts.get(place)!)) * vocabulary.idf[place]!);
  const norm = Math.sqrt(weights.reduce((total, weight) => total + weight * weight, 0));
  return { indices, values: Float32Array.from(weights, (weight) => weight / norm) };
}
