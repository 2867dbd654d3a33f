import { expect, test } from "vitest";
import type { Network } from "../src/core/network";
import { sizeOf } from "../src/core/network";
import type { Noise } from "../src/core/private_training";
import { privateTraining, trainedFrom } from "../src/core/private_training";
import type { LabelledPage } from "../src/core/training";
import type { PrivatePlan } from "../src/core/training_plan";
import { page, small } from "./small_network";

const plan: PrivatePlan = {
  method: "private",
  layers: 1,
  cover_pages: 2,
  own_weight: 4,
  clip: 0.1,
  learning_rate: 0.05,
  noise: 4,
};
const own = [page(0, 0), page(1, 1)];
const cover = [page(2, 1), page(3, 0)];
const silent: Noise = (count) => new Float64Array(count);

function finish(network: Network, pages: LabelledPage[], others: LabelledPage[], by: PrivatePlan, noise?: Noise) {
  const run = privateTraining(network, pages, others, by, noise);
  let yields = 0;
  for (;;) {
    const { done, value } = run.next();
    if (done) return { trained: value, yields };
    yields += 1;
  }
}

const length = (numbers: Float32Array) => Math.hypot(...numbers);

test("the first trained parameter is where its layer begins", () => {
  expect(trainedFrom([1000, 256, 32, 6], 1)).toBe(264_480);
  expect(trainedFrom([1000, 256, 32, 6], 2)).toBe(256_256);
  for (const layers of [0, 3, -1]) expect(() => trainedFrom([4, 3, 2], layers)).toThrow("cannot be trained");
});

test.each([1, 2])("own pages move the last %d layers by the reach together, however many they are", (layers) => {
  const page = own[0]!;
  for (const pages of [[page], [page, page], Array(9).fill(page)]) {
    const moved = finish(small, pages, [], { ...plan, layers, clip: 0.01 }, silent).trained;
    const base = small.parameters.subarray(trainedFrom(small.layers, layers));
    expect(moved.length).toBe(base.length);
    expect(length(moved.map((number, n) => number - base[n]!))).toBeCloseTo(0.05 * 4 * 0.01, 6);
  }
});

test.each([1, 2])("a page among others moves the last %d layers by no more than the reach", (layers) => {
  const few = finish(small, own.slice(1), cover, { ...plan, layers, clip: 0.01 }, silent).trained;
  const more = finish(small, own, cover, { ...plan, layers, clip: 0.01 }, silent).trained;
  expect(length(more.map((number, n) => number - few[n]!))).toBeLessThan(0.05 * 4 * 0.01 * 1.001);
});

test("the noise is a multiple of the reach", () => {
  const without = finish(small, own, cover, plan, silent).trained;
  const added = finish(small, own, cover, plan, (count) => new Float64Array(count).fill(2)).trained;
  for (const [n, number] of added.entries()) expect(number - without[n]!).toBeCloseTo(4 * (0.05 * 4 * 0.1) * 2, 5);
});

test("two runs differ by noise that nobody gave them, and the network stays as it is", () => {
  const before = small.parameters.slice();
  const [one, two] = [finish(small, own, cover, plan).trained, finish(small, own, cover, plan).trained];
  expect(one.every((number, n) => number !== two[n])).toBe(true);
  expect(small.parameters).toEqual(before);
});

test.each([1, 2])("no model makes training of the last %d layers fail on certain pages", (layers) => {
  const widths = [1000, 256, 32, 6];
  const parameters = new Float32Array(sizeOf(widths)).fill(3.4e38);
  // Of the last layer, which noise is added to, only one unit speaks; another number would be too large for a float32.
  parameters.fill(1, trainedFrom(widths, layers));
  parameters.fill(3.4e38, 264_480, 264_481);
  const loud: LabelledPage = {
    vector: { indices: Int32Array.from({ length: 1000 }, (_, n) => n), values: new Float32Array(1000).fill(1) },
    label: 1,
  };
  const { trained } = finish({ layers: widths, parameters }, [loud], [], { ...plan, layers, clip: 1000 }, silent);
  expect(trained.every(Number.isFinite)).toBe(true);
  expect(
    length(trained.map((number, n) => number - parameters[parameters.length - trained.length + n]!)),
  ).toBeGreaterThan(0);
});

test("what cannot be learnt from is refused", () => {
  expect(() => finish(small, [], cover, plan)).toThrow("no pages");
  expect(() => finish(small, [page(4, 0)], cover, plan)).toThrow("beyond");
  expect(() => finish(small, own, [page(0, 2)], plan)).toThrow("label");
});

test("a step that is not finite is an error, never a result", () => {
  expect(() => finish(small, own, cover, { ...plan, noise: 1e300 })).toThrow("not finite");
});

test("there is a pause after every page", () => {
  expect(finish(small, own, cover, plan).yields).toBe(4);
});
