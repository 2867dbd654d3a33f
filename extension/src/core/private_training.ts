/**
 * Local training that hides which pages it was done with: one step on clipped gradients, with noise
 * (docs/page-to-prediction.md, section 9.1). `src/eitr/model/private.py` is the same in Python.
 *
 * It is a generator that yields after every page, which takes a millisecond at most.
 */

import { BadInput } from "./bad_input";
import type { Layer, Network } from "./network";
import { addRow, allFinite, layersOf } from "./network";
import { secretNoise } from "./secret_random";
import type { LabelledPage } from "./training";
import { checkExamples } from "./training";
import type { PrivatePlan } from "./training_plan";
import type { SparseVector } from "./vector";

/** Return so many independent standard normal numbers, of a source that nobody can predict. */
export type Noise = (count: number) => Float64Array;

/** Return the place of the first trained parameter, if the last `layers` layers are trained. */
export function trainedFrom(widths: readonly number[], layers: number): number {
  const first = layersOf(widths).at(-layers);
  if (layers < 1 || first === undefined)
    throw new BadInput(`The network has ${widths.length - 1} layers; ${layers} of them cannot be trained.`);
  return first.kernel;
}

/**
 * Take one step on the person's own pages and all given cover pages, with noise. Return the parameters from
 * `trainedFrom` on, the only ones that change; the network stays as it is.
 */
export function* privateTraining(
  network: Network,
  own: readonly LabelledPage[],
  cover: readonly LabelledPage[],
  plan: PrivatePlan,
  noise: Noise = secretNoise,
): Generator<void, Float32Array, void> {
  checkExamples(network, own);
  if (cover.length > 0) checkExamples(network, cover);
  const start = trainedFrom(network.layers, plan.layers);
  const base = network.parameters.subarray(start);
  const sum = new Float64Array(base.length);
  for (const page of own) {
    addGradient(sum, network, page, plan);
    yield;
  }
  // All own pages together count as much as one of them can.
  const weight = (plan.own_weight * plan.clip) / Math.max(Math.sqrt(squares(sum)), plan.clip);
  for (let n = 0; n < sum.length; n += 1) sum[n]! *= weight;
  for (const page of cover) {
    addGradient(sum, network, page, plan);
    yield;
  }
  const reach = plan.learning_rate * plan.own_weight * plan.clip;
  const added = noise(base.length);
  const trained = base.map((number, n) => number - plan.learning_rate * sum[n]! + plan.noise * reach * added[n]!);
  if (!allFinite(trained)) throw new BadInput("The step is not finite: the plan's numbers are too large.");
  return trained;
}

/** Add a page's gradient over the trained layers, cut to the length `clip`. */
function addGradient(
  sum: Float64Array,
  { layers: widths, parameters }: Network,
  { vector, label }: LabelledPage,
  plan: PrivatePlan,
): void {
  const layers = layersOf(widths);
  const first = layers.length - plan.layers;
  const given = forward(layers, parameters, vector);
  const errors = back(layers, parameters, given, label, first);
  const length = Math.sqrt(
    errors.reduce((total, error, n) => total + (squares(given[first + n]!) + 1) * squares(error), 0),
  );
  // Always finite: three layers of float32 do not overflow a float64. A page that made training fail could be told from
  // the missing update.
  const scale = length > plan.clip ? plan.clip / length : 1;
  const start = layers[first]!.kernel;
  for (const [n, error] of errors.entries()) {
    const { inputs, outputs, kernel, bias } = layers[first + n]!;
    const here = given[first + n]!;
    for (let unit = 0; unit < inputs; unit += 1)
      if (here[unit] !== 0) addTo(sum, kernel - start + unit * outputs, error, scale * here[unit]!);
    addTo(sum, bias - start, error, scale);
  }
}

/** Return what each layer is given, without dropout, and last the logits. */
function forward(layers: readonly Layer[], parameters: Float32Array, page: SparseVector): Float64Array[] {
  let here = new Float64Array(layers[0]!.inputs);
  for (const [entry, index] of page.indices.entries()) here[index] = page.values[entry]!;
  const given = [here];
  for (const [depth, { inputs, outputs, kernel, bias }] of layers.entries()) {
    const sums = Float64Array.from(parameters.subarray(bias, bias + outputs));
    for (let n = 0; n < inputs; n += 1) if (here[n] !== 0) addRow(sums, parameters, kernel + n * outputs, here[n]!);
    here = depth === layers.length - 1 ? sums : sums.map((number) => Math.max(0, number));
    given.push(here);
  }
  return given;
}

/** Return the slopes of the page's loss by the outputs of each layer from `first` on. */
function back(
  layers: readonly Layer[],
  parameters: Float32Array,
  given: readonly Float64Array[],
  label: number,
  first: number,
): Float64Array[] {
  const errors = [slopes(given.at(-1)!, label)];
  for (let depth = layers.length - 1; depth > first; depth -= 1) {
    const { outputs, kernel } = layers[depth]!;
    const after = errors[0]!;
    errors.unshift(
      given[depth]!.map((number, n) =>
        number > 0
          ? after.reduce((total, error, unit) => total + error * parameters[kernel + n * outputs + unit]!, 0)
          : 0,
      ),
    );
  }
  return errors;
}

/** Return softmax - truth. */
function slopes(logits: Float64Array, label: number): Float64Array {
  const largest = Math.max(...logits);
  const chances = logits.map((logit) => Math.exp(logit - largest));
  const total = chances.reduce((sum, chance) => sum + chance, 0);
  return chances.map((chance, unit) => chance / total - (unit === label ? 1 : 0));
}

function squares(numbers: Float64Array): number {
  return numbers.reduce((sum, number) => sum + number * number, 0);
}

function addTo(sum: Float64Array, start: number, error: Float64Array, scale: number): void {
  for (let unit = 0; unit < error.length; unit += 1) sum[start + unit]! += scale * error[unit]!;
}
