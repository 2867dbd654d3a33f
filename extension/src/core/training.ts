/**
 * Local training of all layers, as in the paper: stochastic gradient descent with momentum and dropout on sparse pages
 * (docs/page-to-prediction.md, section 9). Rounds use it only where the person allowed it; see `private_training.ts`.
 *
 * It is a generator that yields every few milliseconds, so that its caller can let the browser do something else, or
 * cancel. A step goes page by page: forward, back, and the page's share of the gradient straight
 * into the velocity, so that no more than one page's activations are ever held. Of the first layer, where the work is,
 * only the rows of the batch's words are touched; the others glide on by their velocity and catch up when next needed.
 */

import { BadInput } from "./bad_input";
import type { Layer, Network } from "./network";
import { allFinite, layersOf } from "./network";
import { DROPOUT, draw, keyOf, permutation, SHUFFLE } from "./random";
import type { PaperPlan } from "./training_plan";
import type { SparseVector } from "./vector";

export interface LabelledPage {
  readonly vector: SparseVector;
  readonly label: number;
}

export interface Progress {
  /** The epoch under way, from 1. */
  readonly epoch: number;
  /** Steps done so far, through all epochs. */
  readonly step: number;
  /** Steps to do, through all epochs. */
  readonly steps: number;
}

/** Multiplications between two yields: about a millisecond, a few on a slow machine. */
const BREATH = 200_000;

/** Train, and return new parameters; the network stays as it is. */
export function* training(
  network: Network,
  pages: readonly LabelledPage[],
  plan: PaperPlan,
  seed: number,
): Generator<Progress, Float32Array, void> {
  checkExamples(network, pages);
  if (!Number.isInteger(seed) || seed < 0 || seed > 0xffffffff)
    throw new BadInput("A seed is a whole number of 32 bits.");
  const run = newRun(network, plan, seed);
  const taken = Math.min(pages.length, plan.max_batches * plan.batch_size);
  const steps = plan.epochs * Math.ceil(taken / plan.batch_size);
  yield { epoch: 1, step: 0, steps };
  for (let epoch = 0; epoch < plan.epochs; epoch += 1) {
    const order = permutation(keyOf(seed, SHUFFLE, epoch), pages.length, taken);
    for (let start = 0; start < taken; start += plan.batch_size) {
      const batch = Array.from(order.subarray(start, start + plan.batch_size), (place) => pages[place]!);
      for (const _ of breaths(step(run, batch))) yield { epoch: epoch + 1, step: run.step, steps };
      run.step += 1;
      yield { epoch: epoch + 1, step: run.step, steps };
    }
    if (!allFinite(run.parameters)) throw new BadInput(`Training diverged in epoch ${epoch + 1}.`);
  }
  for (const _ of breaths(catchUpAll(run))) yield { epoch: plan.epochs, step: steps, steps };
  if (!allFinite(run.parameters)) throw new BadInput("Training diverged.");
  return run.parameters;
}

/** Refuse pages that the network cannot be trained on. */
export function checkExamples({ layers }: Network, pages: readonly LabelledPage[]): void {
  const [inputs, outputs] = [layers[0]!, layers.at(-1)!];
  if (pages.length === 0) throw new BadInput("There are no pages to learn from.");
  for (const { vector, label } of pages) {
    if (!Number.isInteger(label) || label < 0 || label >= outputs)
      throw new BadInput(`A label must be from 0 to ${outputs - 1}.`);
    if (vector.indices.length !== vector.values.length || vector.indices.some((index) => index < 0 || index >= inputs))
      throw new BadInput(`A page has a word beyond the ${inputs} of the network.`);
    if (!allFinite(vector.values)) throw new BadInput("A page holds a NaN or an infinity.");
  }
}

/** What the steps of one training change, and what they need. */
interface Run {
  readonly plan: PaperPlan;
  readonly layers: readonly Layer[];
  readonly parameters: Float32Array;
  readonly velocity: Float32Array;
  /** Up to which step each word's parameters have moved. */
  readonly moved: Int32Array;
  step: number;
  readonly dropoutKey: number;
  /** A unit is kept where its random word is at least this. */
  readonly threshold: number;
  readonly scale: number;
  /** One page's outputs of each layer, and the slopes of the loss by them. */
  readonly outputs: readonly Float32Array[];
  readonly errors: readonly Float32Array[];
}

function newRun({ layers: widths, parameters }: Network, plan: PaperPlan, seed: number): Run {
  const layers = layersOf(widths);
  return {
    plan,
    layers,
    parameters: parameters.slice(),
    velocity: new Float32Array(parameters.length),
    moved: new Int32Array(widths[0]!),
    step: 0,
    dropoutKey: keyOf(seed, DROPOUT),
    threshold: Math.floor(plan.dropout * 2 ** 32),
    scale: Math.fround(1 / (1 - plan.dropout)),
    outputs: layers.map(({ outputs }) => new Float32Array(outputs)),
    errors: layers.map(({ outputs }) => new Float32Array(outputs)),
  };
}

/** Run work that yields the cost of each piece, and yield whenever the sum of costs reaches the limit. */
function* breaths(work: Iterable<number>): Generator<void, void, void> {
  let done = 0;
  for (const cost of work) {
    done += cost;
    if (done >= BREATH) {
      done = 0;
      yield;
    }
  }
}

/** One step, in small pieces: velocity = momentum velocity + gradient, then parameters -= rate velocity. */
function* step(run: Run, batch: readonly LabelledPage[]): Generator<number, void, void> {
  const first = run.layers[0]!;
  const words = wordsOf(batch);
  for (const word of words) {
    catchUp(run, word, run.step);
    run.moved[word] = run.step + 1;
    slow(run, first.kernel + word * first.outputs, first.outputs);
    yield 3 * first.outputs;
  }
  const rest = run.parameters.length - first.bias;
  slow(run, first.bias, rest);
  yield rest;
  const stepKey = draw(run.dropoutKey, run.step);
  for (const [sample, page] of batch.entries()) {
    forward(run, page.vector, stepKey, sample);
    yield page.vector.indices.length * first.outputs;
    back(run, page, batch.length);
    yield page.vector.indices.length * first.outputs + rest;
  }
  for (const word of words) {
    move(run, first.kernel + word * first.outputs, first.outputs);
    yield first.outputs;
  }
  move(run, first.bias, rest);
  yield rest;
}

function wordsOf(batch: readonly LabelledPage[]): Set<number> {
  const words = new Set<number>();
  for (const { vector } of batch) for (const index of vector.indices) words.add(index);
  return words;
}

/**
 * Let a word glide through the steps in which no page of the batch had it. After k of them its velocity is
 * momentum^k velocity, and its parameters have moved by -rate times the sum on the way,
 * velocity (momentum + ... + momentum^k).
 */
function catchUp({ layers, parameters, velocity, moved, plan }: Run, word: number, until: number): void {
  const behind = until - moved[word]!;
  // A word that no batch has had yet has no velocity, and stands still.
  if (behind === 0 || moved[word] === 0) return;
  const { kernel, outputs } = layers[0]!;
  const decay = plan.momentum ** behind;
  const glide = (plan.learning_rate * plan.momentum * (1 - decay)) / (1 - plan.momentum);
  const end = kernel + (word + 1) * outputs;
  for (let n = end - outputs; n < end; n += 1) {
    parameters[n]! -= glide * velocity[n]!;
    velocity[n]! *= decay;
  }
}

function* catchUpAll(run: Run): Generator<number, void, void> {
  for (const word of run.moved.keys()) {
    catchUp(run, word, run.step);
    yield 2 * run.layers[0]!.outputs;
  }
}

function slow({ velocity, plan }: Run, start: number, length: number): void {
  const { momentum } = plan;
  for (let n = start; n < start + length; n += 1) velocity[n]! *= momentum;
}

function move({ parameters, velocity, plan }: Run, start: number, length: number): void {
  const { learning_rate } = plan;
  for (let n = start; n < start + length; n += 1) parameters[n]! -= learning_rate * velocity[n]!;
}

/** Fill `run.outputs` for one page: dense layers, ReLU and dropout after each but the last. */
function forward(
  { layers, parameters, outputs, threshold, scale }: Run,
  page: SparseVector,
  stepKey: number,
  sample: number,
): void {
  layers.forEach(({ inputs, outputs: width, kernel, bias }, depth) => {
    const here = outputs[depth]!;
    here.set(parameters.subarray(bias, bias + width));
    if (depth === 0) {
      for (let entry = 0; entry < page.indices.length; entry += 1)
        addScaled(here, parameters, kernel + page.indices[entry]! * width, page.values[entry]!);
    } else {
      const before = outputs[depth - 1]!;
      for (let n = 0; n < inputs; n += 1)
        if (before[n] !== 0) addScaled(here, parameters, kernel + n * width, before[n]!);
    }
    if (depth < layers.length - 1) silence(here, draw(stepKey, depth), sample * width, threshold, scale);
  });
}

/** sums += value * row, where the row lies at `start` of the parameters. */
function addScaled(sums: Float32Array, parameters: Float32Array, start: number, value: number): void {
  for (let unit = 0; unit < sums.length; unit += 1) sums[unit]! += value * parameters[start + unit]!;
}

/** ReLU and dropout: a unit that is active and kept is scaled up, every other becomes 0. */
function silence(units: Float32Array, key: number, counter: number, threshold: number, scale: number): void {
  for (let unit = 0; unit < units.length; unit += 1) {
    const kept = units[unit]! > 0 && draw(key, counter + unit) >= threshold;
    units[unit] = kept ? units[unit]! * scale : 0;
  }
}

/** Add one page's share of the gradient to the velocity, from the last layer to the first. */
function back(
  { layers, parameters, velocity, outputs, errors, scale }: Run,
  { vector, label }: LabelledPage,
  size: number,
): void {
  slopes(outputs.at(-1)!, label, size, errors.at(-1)!);
  for (let depth = layers.length - 1; depth > 0; depth -= 1) {
    const { inputs, outputs: width, kernel, bias } = layers[depth]!;
    const [here, given, before] = [errors[depth]!, outputs[depth - 1]!, errors[depth - 1]!];
    addTo(velocity, bias, here, 1);
    for (let n = 0; n < inputs; n += 1) {
      const active = given[n]! > 0;
      // Above 0 says both active and kept; to all other units neither gradient nor error goes.
      before[n] = active ? scale * product(here, parameters, kernel + n * width) : 0;
      if (active) addTo(velocity, kernel + n * width, here, given[n]!);
    }
  }
  const { outputs: width, kernel, bias } = layers[0]!;
  addTo(velocity, bias, errors[0]!, 1);
  for (let entry = 0; entry < vector.indices.length; entry += 1)
    addTo(velocity, kernel + vector.indices[entry]! * width, errors[0]!, vector.values[entry]!);
}

/** The slope of the mean loss by each logit: (softmax - truth) / size. */
function slopes(logits: Float32Array, label: number, size: number, errors: Float32Array): void {
  const largest = Math.max(...logits);
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - largest);
  for (let unit = 0; unit < logits.length; unit += 1) {
    const probability = Math.exp(logits[unit]! - largest) / total;
    errors[unit] = (probability - (unit === label ? 1 : 0)) / size;
  }
}

function product(errors: Float32Array, parameters: Float32Array, start: number): number {
  let sum = 0;
  for (let unit = 0; unit < errors.length; unit += 1) sum += errors[unit]! * parameters[start + unit]!;
  return sum;
}

function addTo(velocity: Float32Array, start: number, errors: Float32Array, value: number): void {
  for (let unit = 0; unit < errors.length; unit += 1) velocity[start + unit]! += value * errors[unit]!;
}
