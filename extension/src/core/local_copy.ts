/**
 * A copy of the model's last layer that learned from the person's corrections, and the pages that it may judge. It
 * changes what is shown in this browser and is never sent (docs/page-to-prediction.md, section 9.2).
 *
 * Two things keep it from changing the verdicts on other pages. While it learns, public pages hold it to what the
 * published model says of them. And it judges a page only if the words of the page are similar to those of a page that
 * the person corrected, and only by giving it the same class as that page.
 */

import { mostProbable } from "./answer";
import { BadInput } from "./bad_input";
import { allFinite, firstSums, type Layer, layersOf, logitsOf, type Network, probabilities } from "./network";
import { type Pool, pageOf } from "./pool";
import { checkExamples, type LabelledPage } from "./training";
import type { SparseVector } from "./vector";

/** A page that the person judged. */
export interface JudgedPage extends LabelledPage {
  /** Whether the published model had said something else. */
  readonly corrected: boolean;
}

export interface LocalCopy {
  /** The published network with the trained last layer. */
  readonly network: Network;
  readonly pages: readonly JudgedPage[];
  /** The least cosine between the words of a page and those of a corrected one. */
  readonly similarity: number;
}

/** What training finds, and what is kept of it. */
export type LocalTraining = Omit<LocalCopy, "network"> & { readonly lastLayer: Float32Array };

/** Increase it when any of the numbers below changes: copies of an earlier way are then made anew. */
export const LOCAL_METHOD = 1;
const STEPS = 60;
const LEARNING_RATE = 0.05;
const MOMENTUM = 0.9;
/** How much one judged page counts, where all cover pages together count 1. */
const PAGE_WEIGHT = 0.05;
/** How much all judged pages together count at most. */
const MOST_WEIGHT = 1;
const LEAST_SIMILARITY = 0.35;
/** At most this share of the cover pages may get another class than the published model gives them. */
const MOST_CHANGED = 0.01;
/** A page with fewer known words says too little about others: a single common word would make them similar. */
export const LEAST_KNOWN_WORDS = 5;

/** Train the last layer on the judged pages; the network stays as it is. The same input gives the same numbers. */
export function* localTraining(
  network: Network,
  pages: readonly JudgedPage[],
  pool: Pool,
): Generator<void, LocalTraining, void> {
  if (network.layers.length < 3) throw new BadInput("A network of one layer has no last layer to train.");
  checkExamples(network, pages);
  const cover = yield* allPages(pool);
  const last = layersOf(network.layers).at(-1)!;
  const base = network.parameters.subarray(last.kernel);
  const own = yield* examples(network, pages, (_, { label }) => oneAt(label, last.outputs));
  const held = yield* examples(network, cover, (given) => chancesOf(base, given, last));
  const layer = Float64Array.from(base);
  const velocity = new Float64Array(layer.length);
  const weight = Math.min(MOST_WEIGHT, PAGE_WEIGHT * pages.length);
  for (let step = 0; step < STEPS; step += 1) {
    const gradient = new Float64Array(layer.length);
    yield* addGradients(gradient, layer, own, last, weight / own.length);
    yield* addGradients(gradient, layer, held, last, 1 / held.length);
    for (let n = 0; n < layer.length; n += 1) {
      velocity[n] = MOMENTUM * velocity[n]! - LEARNING_RATE * gradient[n]!;
      layer[n]! += velocity[n]!;
    }
  }
  const lastLayer = Float32Array.from(layer);
  if (!allFinite(lastLayer)) throw new BadInput("The numbers of the model are too large to learn from corrections.");
  const changes = yield* changedCover(pages, cover, held, (given) => chancesOf(lastLayer, given, last), network);
  return { pages, lastLayer, similarity: limitedSimilarity(changes, cover.length) };
}

/** The copy that training led to. */
export function localCopyOf({ layers, parameters }: Network, trained: LocalTraining): LocalCopy {
  const { lastLayer, ...others } = trained;
  const copied = parameters.slice();
  copied.set(lastLayer, parameters.length - lastLayer.length);
  return { ...others, network: { layers, parameters: copied } };
}

/** The probabilities by the copy; null if it has no say about this page, and the published model's verdict holds. */
export function localProbabilities({ network, pages, similarity }: LocalCopy, page: SparseVector): Float64Array | null {
  const nearest = mostSimilar(pages, page, network.layers[0]!);
  if (nearest === null || nearest.cosine < similarity || !nearest.page.corrected) return null;
  const chances = probabilities(network, page);
  return mostProbable([...chances]) === nearest.page.label ? chances : null;
}

/** The judged page with the most similar words; of equals, the first. */
function mostSimilar(
  pages: readonly JudgedPage[],
  { indices, values }: SparseVector,
  width: number,
): { page: JudgedPage; cosine: number } | null {
  const dense = new Float64Array(width);
  for (const [entry, index] of indices.entries()) dense[index] = values[entry]!;
  let nearest: { page: JudgedPage; cosine: number } | null = null;
  for (const page of pages) {
    let cosine = 0;
    const { vector } = page;
    for (let entry = 0; entry < vector.indices.length; entry += 1)
      cosine += dense[vector.indices[entry]!]! * vector.values[entry]!;
    if (nearest === null || cosine > nearest.cosine) nearest = { page, cosine };
  }
  return nearest;
}

function* allPages(pool: Pool): Generator<void, LabelledPage[], void> {
  const pages: LabelledPage[] = [];
  for (const page of pool.labels.keys()) {
    pages.push(pageOf(pool, page));
    yield;
  }
  return pages;
}

/** A page as the last layer sees it, and the probabilities it is to learn. */
interface Example {
  readonly given: Float64Array;
  readonly wanted: Float64Array;
}

function* examples<T extends LabelledPage>(
  { layers, parameters }: Network,
  pages: readonly T[],
  wantedOf: (given: Float64Array, page: T) => Float64Array,
): Generator<void, Example[], void> {
  // Without its last layer the network is another one, whose outputs are what the last layer is given.
  const lower: Network = { layers: layers.slice(0, -1), parameters };
  const found: Example[] = [];
  for (const page of pages) {
    const given = logitsOf(lower, firstSums(lower, page.vector)).map((sum) => Math.max(0, sum));
    found.push({ given, wanted: wantedOf(given, page) });
    yield;
  }
  return found;
}

function oneAt(label: number, length: number): Float64Array {
  const found = new Float64Array(length);
  found[label] = 1;
  return found;
}

const PAGES_AT_A_TIME = 200;

/** Add weight * (probabilities - wanted), by each number of the last layer. */
function* addGradients(
  gradient: Float64Array,
  layer: Float64Array,
  examples: readonly Example[],
  { inputs, outputs }: Layer,
  weight: number,
): Generator<void, void, void> {
  const bias = inputs * outputs;
  for (const [place, { given, wanted }] of examples.entries()) {
    const errors = chancesOf(layer, given, { inputs, outputs });
    for (let unit = 0; unit < outputs; unit += 1) errors[unit] = weight * (errors[unit]! - wanted[unit]!);
    for (let n = 0; n < inputs; n += 1)
      if (given[n] !== 0)
        for (let unit = 0; unit < outputs; unit += 1) gradient[n * outputs + unit]! += given[n]! * errors[unit]!;
    for (let unit = 0; unit < outputs; unit += 1) gradient[bias + unit]! += errors[unit]!;
    if (place % PAGES_AT_A_TIME === PAGES_AT_A_TIME - 1) yield;
  }
  yield;
}

/** The probabilities that a last layer, kernel before bias, makes of what it is given. */
function chancesOf(
  layer: Float64Array | Float32Array,
  given: Float64Array,
  { inputs, outputs }: Pick<Layer, "inputs" | "outputs">,
): Float64Array {
  const chances = Float64Array.from(layer.subarray(inputs * outputs));
  for (let n = 0; n < inputs; n += 1)
    if (given[n] !== 0)
      for (let unit = 0; unit < outputs; unit += 1) chances[unit]! += given[n]! * layer[n * outputs + unit]!;
  let largest = Number.NEGATIVE_INFINITY;
  for (let unit = 0; unit < outputs; unit += 1) largest = Math.max(largest, chances[unit]!);
  let total = 0;
  for (let unit = 0; unit < outputs; unit += 1) {
    chances[unit] = Math.exp(chances[unit]! - largest);
    total += chances[unit]!;
  }
  for (let unit = 0; unit < outputs; unit += 1) chances[unit]! /= total;
  return chances;
}

/** How similar each cover page that could get another class is to the corrected page that is to blame. */
function* changedCover(
  pages: readonly JudgedPage[],
  cover: readonly LabelledPage[],
  held: readonly Example[],
  chances: (given: Float64Array) => Float64Array,
  { layers }: Network,
): Generator<void, number[], void> {
  const changes: number[] = [];
  for (const [place, { given, wanted }] of held.entries()) {
    yield;
    const topic = mostProbable([...chances(given)]);
    if (topic === mostProbable([...wanted])) continue;
    const nearest = mostSimilar(pages, cover[place]!.vector, layers[0]!);
    if (nearest?.page.corrected === true && nearest.page.label === topic) changes.push(nearest.cosine);
  }
  return changes;
}

/** The least similarity with which few enough of the cover pages get another class. */
function limitedSimilarity(changes: readonly number[], pages: number): number {
  const ordered = [...changes].sort((one, other) => other - one);
  const oneTooMany = ordered[Math.floor(MOST_CHANGED * pages)] ?? 0;
  return Math.max(LEAST_SIMILARITY, oneTooMany + Number.EPSILON);
}
