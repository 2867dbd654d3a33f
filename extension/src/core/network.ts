/** The network as one flat vector, and its forward pass on sparse pages (docs/page-to-prediction.md, section 7). */

import { BadInput } from "./bad_input";
import type { SparseVector } from "./vector";

export interface Network {
  /** The width of the input, of each hidden layer, and of the output. */
  readonly layers: readonly number[];
  /** Layer by layer: the kernel, one row per input, then the bias. */
  readonly parameters: Float32Array;
}

/** Where a dense layer lies in the flat vector. */
export interface Layer {
  readonly inputs: number;
  readonly outputs: number;
  /** The weight from input i to output o is at `kernel + i * outputs + o`. */
  readonly kernel: number;
  readonly bias: number;
}

export function layersOf(widths: readonly number[]): Layer[] {
  let kernel = 0;
  return widths.slice(1).map((outputs, depth) => {
    const inputs = widths[depth]!;
    const bias = kernel + inputs * outputs;
    const layer = { inputs, outputs, kernel, bias };
    kernel = bias + outputs;
    return layer;
  });
}

/** The number of parameters. */
export function sizeOf(widths: readonly number[]): number {
  return layersOf(widths).reduce((total, { inputs, outputs }) => total + (inputs + 1) * outputs, 0);
}

/**
 * Read parameters, float32 little-endian as on every machine that browsers run on; refuse another length than that of
 * the layers, a NaN and an infinity. The bytes are used where they are.
 */
export function readNetwork(bytes: Uint8Array, layers: readonly number[]): Network {
  if (layers.length < 2 || !layers.every((width) => Number.isSafeInteger(width) && width > 0))
    throw new BadInput("A network needs at least two layers, each at least one wide.");
  const size = sizeOf(layers);
  if (bytes.length !== 4 * size) throw new BadInput(`The weights are ${bytes.length} bytes, not ${4 * size}.`);
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const parameters = new Float32Array(buffer, byteOffset, size);
  if (!allFinite(parameters)) throw new BadInput("The weights hold a NaN or an infinity.");
  return { layers: [...layers], parameters };
}

/** The probability of each class. */
export function probabilities(network: Network, page: SparseVector): Float64Array {
  return softmax(logitsOf(network, firstSums(network, page)));
}

/** What the units of the first layer add up, before ReLU: only the rows of the page's words are touched. */
export function firstSums({ layers, parameters }: Network, page: SparseVector): Float64Array {
  const { inputs, outputs, kernel, bias } = layersOf(layers)[0]!;
  if (page.indices.some((index) => index < 0 || index >= inputs))
    throw new BadInput(`A page has a word beyond the ${inputs} of the network.`);
  const sums = Float64Array.from(parameters.subarray(bias, bias + outputs));
  for (const [entry, index] of page.indices.entries())
    addRow(sums, parameters, kernel + index * outputs, page.values[entry]!);
  return sums;
}

/** The logits that follow from the sums of the first layer. */
export function logitsOf({ layers, parameters }: Network, sums: Float64Array): Float64Array {
  let outputs = sums;
  for (const layer of layersOf(layers).slice(1)) {
    const inputs = outputs;
    outputs = Float64Array.from(parameters.subarray(layer.bias, layer.bias + layer.outputs));
    for (let n = 0; n < layer.inputs; n += 1) {
      // A unit that ReLU silences adds nothing. Not `> 0`: a NaN must come through and be refused.
      if (!(inputs[n]! <= 0)) addRow(outputs, parameters, layer.kernel + n * layer.outputs, inputs[n]!);
    }
  }
  if (!allFinite(outputs)) throw new BadInput("The numbers of the model are so large that its outputs overflow.");
  return outputs;
}

/** sums += value * row, where the row lies at `start` of the parameters. */
export function addRow(sums: Float64Array, parameters: Float32Array, start: number, value: number): void {
  for (let unit = 0; unit < sums.length; unit += 1) sums[unit]! += value * parameters[start + unit]!;
}

/** Whether there is neither a NaN nor an infinity; eight times as fast as `every`. */
export function allFinite(numbers: Float32Array | Float64Array): boolean {
  for (let n = 0; n < numbers.length; n += 1) if (!Number.isFinite(numbers[n])) return false;
  return true;
}

export function softmax(logits: Float64Array): Float64Array {
  const largest = Math.max(...logits);
  const logSum = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0));
  return logits.map((logit) => Math.exp(logit - largest - logSum));
}
