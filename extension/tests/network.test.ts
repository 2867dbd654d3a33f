import { expect, test } from "vitest";
import { BadInput } from "../src/core/bad_input";
import type { Network } from "../src/core/network";
import { layersOf, probabilities, readNetwork, sizeOf } from "../src/core/network";

const page = { indices: Int32Array.of(1), values: Float32Array.of(1) };

function bytesOf(numbers: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * numbers.length));
  for (const [n, number] of numbers.entries()) view.setFloat32(4 * n, number, true);
  return new Uint8Array(view.buffer);
}

test("the layers lie where the protocol says", () => {
  expect(sizeOf([1000, 256, 32, 6])).toBe(264_678);
  expect(layersOf([1000, 256, 32, 6]).map(({ kernel, bias }) => [kernel, bias])).toEqual([
    [0, 256_000],
    [256_256, 264_448],
    [264_480, 264_672],
  ]);
});

test("parameters are read little-endian, also from the middle of a buffer", () => {
  const bytes = Uint8Array.of(9, ...bytesOf([1, 2, 3, 4, 5, 6]));
  expect([...readNetwork(bytes.subarray(1), [2, 2]).parameters]).toEqual([1, 2, 3, 4, 5, 6]);
});

test("weights of another length are refused", () => {
  expect(() => readNetwork(bytesOf([1, 2, 3, 4, 5]), [2, 2])).toThrow("20 bytes, not 24");
});

test.each([NaN, Infinity, -Infinity])("weights with %d are refused", (number) => {
  expect(() => readNetwork(bytesOf([1, 2, 3, 4, 5, number]), [2, 2])).toThrow("NaN or an infinity");
});

test.each([[[]], [[2]], [[2, 0]], [[2, 1.5]], [[2, -1]]])("layers %j are refused", (layers) => {
  expect(() => readNetwork(new Uint8Array(0), layers)).toThrow(BadInput);
});

test("probabilities sum to 1 and are safe for logits of any size", () => {
  const network = readNetwork(bytesOf([0, 0, 1e4, 1e4, 0, Math.fround(-1e4)]), [2, 2]);
  const [first, second] = probabilities(network, page);
  expect(first).toBeCloseTo(1);
  expect(second).toBe(0);
});

test("a page without words is judged by the biases", () => {
  const network = readNetwork(bytesOf([9, 9, 9, 9, 0, 0]), [2, 2]);
  expect([...probabilities(network, { indices: new Int32Array(0), values: new Float32Array(0) })]).toEqual([0.5, 0.5]);
});

test("a word beyond the network's is refused", () => {
  const network: Network = { layers: [2, 2], parameters: new Float32Array(6) };
  expect(() => probabilities(network, { ...page, indices: Int32Array.of(2) })).toThrow("beyond the 2");
});

test("a model that overflows is refused, not believed", () => {
  const network: Network = { layers: [2, 1, 2], parameters: Float32Array.of(0, 3e38, 3e38, 3e38, 3e38, 0, 0) };
  const huge: Network = { ...network, parameters: network.parameters.map((number) => number * 1e30) };
  expect(() => probabilities(huge, page)).toThrow("overflow");
});
