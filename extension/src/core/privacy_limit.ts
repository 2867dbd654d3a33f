/**
 * How much updates can tell about a page, at most (docs/page-to-prediction.md, section 9.1). `largest_auc` in
 * `src/eitr/model/private.py` is the same in Python.
 */

import { LEAST_NOISE } from "./training_plan";

/**
 * Return in how many of 100 cases anybody can say at most whether a page was among somebody's, from updates of so many
 * rounds with the least noise that we send: Phi(sqrt(rounds) / (noise sqrt(2))), rounded up.
 */
export function pagePercentage(rounds: number): number {
  return Math.ceil(100 * normalShare(Math.sqrt(rounds / 2) / LEAST_NOISE));
}

/** The same for which of two classes was chosen for a page that they know: the difference is twice as large. */
export function labelPercentage(rounds: number): number {
  return Math.ceil(100 * normalShare((2 * Math.sqrt(rounds / 2)) / LEAST_NOISE));
}

/** The share of a standard normal distribution below x >= 0: Abramowitz and Stegun, 26.2.17, to 7.5e-8. */
function normalShare(x: number): number {
  const t = 1 / (1 + 0.2316419 * x);
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return 1 - (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * series;
}
