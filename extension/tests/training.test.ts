import { expect, test } from "vitest";
import { BadInput } from "../src/core/bad_input";
import type { Network } from "../src/core/network";
import { sizeOf } from "../src/core/network";
import type { LabelledPage } from "../src/core/training";
import { training } from "../src/core/training";
import type { PaperPlan } from "../src/core/training_plan";
import { page, small } from "./small_network";

const usual: PaperPlan = {
  method: "paper",
  epochs: 2,
  max_batches: 30,
  batch_size: 2,
  learning_rate: 0.01,
  momentum: 0.8,
  dropout: 0.5,
};
const pages = [page(0, 0), page(1, 1), page(2, 0), page(3, 1), page(0, 1)];

function finish(network: Network, examples: readonly LabelledPage[], plan: PaperPlan, seed = 1) {
  const run = training(network, examples, plan, seed);
  const seen = [];
  for (;;) {
    const { done, value } = run.next();
    if (done) return { parameters: value, seen };
    seen.push(value);
  }
}

test("progress counts the steps of all epochs, and ends at the last", () => {
  const { seen } = finish(small, pages, usual);
  expect(seen.filter((now, n) => now.step !== seen[n - 1]?.step)).toEqual(
    [0, 1, 2, 3, 4, 5, 6].map((step) => ({ epoch: step <= 3 ? 1 : 2, step, steps: 6 })),
  );
});

test("the network that training starts from stays as it is", () => {
  const before = small.parameters.slice();
  expect(finish(small, pages, usual).parameters).not.toEqual(before);
  expect(small.parameters).toEqual(before);
});

test("the same seed leads to the same parameters, another to others", () => {
  expect(finish(small, pages, usual, 5).parameters).toEqual(finish(small, pages, usual, 5).parameters);
  expect(finish(small, pages, usual, 5).parameters).not.toEqual(finish(small, pages, usual, 6).parameters);
});

test("of many pages no more are used than the plan allows", () => {
  const { seen } = finish(small, pages, { ...usual, max_batches: 1 });
  expect(seen.at(-1)).toEqual({ epoch: 2, step: 2, steps: 2 });
});

test.each([
  ["no pages", []],
  ["a label too large", [page(0, 2)]],
  ["a label of half", [page(0, 0.5)]],
  ["a word beyond", [page(4, 0)]],
  ["a word before", [page(-1, 0)]],
  ["a NaN", [{ vector: { indices: Int32Array.of(0), values: Float32Array.of(NaN) }, label: 0 }]],
])("%s cannot be learnt from", (_, examples) => {
  expect(() => finish(small, examples, usual)).toThrow(BadInput);
});

test.each([-1, 2 ** 32, 0.5])("%d is no seed", (seed) => {
  expect(() => finish(small, pages, usual, seed)).toThrow("seed");
});

test("a run that diverges is an error, never a result", () => {
  const wild: Network = { ...small, parameters: small.parameters.map((number) => number * 1e30) };
  expect(() => finish(wild, pages, { ...usual, learning_rate: 1, dropout: 0 })).toThrow("diverged");
});

test("a large step is done in many pieces, so that nothing waits long", () => {
  const layers = [1000, 256, 32, 6];
  const network: Network = {
    layers,
    parameters: Float32Array.from({ length: sizeOf(layers) }, (_, n) => Math.sin(n) / 20),
  };
  const indices = Int32Array.from({ length: 500 }, (_, n) => 2 * n);
  const long: LabelledPage = { vector: { indices, values: new Float32Array(500).fill(0.05) }, label: 1 };
  const { seen } = finish(
    network,
    Array.from({ length: 64 }, () => long),
    { ...usual, epochs: 1, batch_size: 64 },
  );
  // 64 pages of 500 words and 256 units, there and back: 16 million multiplications.
  expect(seen.length).toBeGreaterThan(50);
});
