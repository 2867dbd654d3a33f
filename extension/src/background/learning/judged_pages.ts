/** How a model judges the pages that the person corrected. */

import { answerOf } from "../../core/answer";
import { probabilities } from "../../core/network";
import { vector } from "../../core/vector";
import type { LabelledWords } from "../labelled_pages";
import type { Model } from "../model";
import { repeatedWords } from "../word_counts";

/** Return the pages of which people would be told, with this threshold, what the person said of them. */
export function* judgedAsSaid(
  pages: readonly LabelledWords[],
  { network, vocabulary }: Model,
  threshold: number,
): Generator<void, LabelledWords[], void> {
  const right: LabelledWords[] = [];
  for (const page of pages) {
    const row = vector(repeatedWords(page.words), vocabulary);
    const chances = [...probabilities(network, row)];
    const { topic } = answerOf(chances, page.language ?? "unknown", row.indices.length, threshold);
    if (topic === page.label) right.push(page);
    yield;
  }
  return right;
}
