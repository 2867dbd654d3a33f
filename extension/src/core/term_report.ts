/**
 * The weightiest words of a person's pages, for a vocabulary that no single party chooses; the same as
 * `eitr.pages.federated_vocabulary.report`.
 */

import { exactSum } from "./exact_sum";
import { ln } from "./logarithm";

/** The words of a page, each once, and how often the page says it. */
export type PageWords = readonly (readonly [word: string, count: number])[];

export interface TermReport {
  /** On how many pages the report rests. */
  readonly samples: number;
  /** Of each word its share of the weight. */
  readonly weights: Record<string, number>;
  /** On how many of the pages each of these words occurs. */
  readonly documents: Record<string, number>;
}

const MOST_TERMS = 2000;
/** What a server takes, in bytes (docs/http-protocol.md). */
export const LARGEST_REPORT = 512 * 1024;

/** Sum up pages: their weightiest words, at most `limit`. Null if there are no words. */
export function termReport(pages: readonly PageWords[], limit: number): TermReport | null {
  const damped = new Map<string, number[]>();
  for (const [word, count] of pages.flat()) {
    const terms = damped.get(word);
    if (terms === undefined) damped.set(word, [1 + ln(count)]);
    else terms.push(1 + ln(count));
  }
  if (damped.size === 0) return null;
  const weighed = [...damped].map(([word, terms]) => ({
    word,
    pages: terms.length,
    weight: (exactSum(terms) * (Math.log((1 + pages.length) / (1 + terms.length)) + 1)) / pages.length,
  }));
  weighed.sort((one, other) => other.weight - one.weight || byCodePoints(one.word, other.word));
  const chosen = weighed.slice(0, limit);
  const total = exactSum(chosen.map(({ weight }) => weight));
  return {
    samples: pages.length,
    weights: Object.fromEntries(chosen.map(({ word, weight }) => [word, weight / total])),
    documents: Object.fromEntries(chosen.map(({ word, pages: count }) => [word, count])),
  };
}

/** A report and its bytes, of half as many words where it would be longer than servers take. */
export function encodedReport(pages: readonly PageWords[]): { report: TermReport; bytes: Uint8Array } | null {
  for (let limit = MOST_TERMS; ; limit /= 2) {
    const report = termReport(pages, limit);
    if (report === null) return null;
    const bytes = new TextEncoder().encode(JSON.stringify(report));
    if (bytes.length <= LARGEST_REPORT) return { report, bytes };
  }
}

/** As Python sorts: JavaScript compares halves of surrogate pairs. */
function byCodePoints(one: string, other: string): number {
  for (let place = 0; ; place += 1) {
    const [ours, theirs] = [one.codePointAt(place) ?? -1, other.codePointAt(place) ?? -1];
    if (ours !== theirs || ours < 0) return ours - theirs;
  }
}
