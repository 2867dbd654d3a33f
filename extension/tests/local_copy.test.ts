import { expect, test } from "vitest";
import { type JudgedPage, localCopyOf, localProbabilities, localTraining } from "../src/core/local_copy";
import { type Network, probabilities, sizeOf } from "../src/core/network";
import { type Pool, readPool } from "../src/core/pool";
import type { SparseVector } from "../src/core/vector";

const [WORDS, PAGES] = [40, 600];
const layers = [WORDS, 16, 8, 6];
/** Each group of words speaks for one class, clearly but not overwhelmingly. */
const network: Network = {
  layers,
  parameters: Float32Array.from({ length: sizeOf(layers) }, (_, n) => 1.5 * Math.sin(3.7 * n * n + n)),
};

/** Cover pages of three words each, spread over all words but the last four. */
const pool: Pool = readPool(poolFile(), WORDS);

function poolFile(): Uint8Array {
  const bytes = new Uint8Array(44 + 3 * PAGES + 9 * PAGES);
  const view = new DataView(bytes.buffer);
  bytes.set([0x45, 0x50, 0x4c, 0x31]);
  view.setUint32(4, PAGES, true);
  view.setUint32(8, 3 * PAGES, true);
  for (let page = 0; page < PAGES; page += 1) {
    view.setUint16(44 + PAGES + 2 * page, 3, true);
    const words = [page % 12, 12 + ((page * 5) % 12), 24 + ((page * 7) % 12)];
    for (const [n, word] of words.entries()) {
      view.setUint16(44 + 3 * PAGES + 2 * (3 * page + n), word, true);
      bytes[44 + 3 * PAGES + 6 * PAGES + 3 * page + n] = n === 0 ? 255 : 100 + ((page * (n + 3)) % 100);
    }
  }
  return bytes;
}

function row(...words: number[]): SparseVector {
  const indices = Int32Array.from(words).sort();
  return { indices, values: new Float32Array(words.length).fill(1 / Math.sqrt(words.length)) };
}

function topicOf(page: SparseVector): number {
  const chances = [...probabilities(network, page)];
  return chances.indexOf(Math.max(...chances));
}

/** Pages that share four words; the person says of each that it is of another class than the model thinks. */
const kind = (n: number) => row(36, 37, 38, 39, n);
const said = (topicOf(kind(0)) + 1) % 6;
const corrections: JudgedPage[] = [0, 1, 2, 3, 4, 5].map((n) => ({ vector: kind(n), label: said, corrected: true }));

function trained(pages: readonly JudgedPage[]) {
  const run = localTraining(network, pages, pool);
  for (let pieces = 0; ; pieces += 1) {
    const { done, value } = run.next();
    if (done) return { pieces, training: value, copy: localCopyOf(network, value) };
  }
}

test("six corrections change a page of the same kind", () => {
  const sibling = kind(9);
  expect(topicOf(sibling)).not.toBe(said);
  const chances = localProbabilities(trained(corrections).copy, sibling)!;
  expect(chances.indexOf(Math.max(...chances))).toBe(said);
});

test("a page with other words keeps the published verdict", () => {
  const { copy } = trained(corrections);
  for (let word = 0; word < 30; word += 1) expect(localProbabilities(copy, row(word, word + 1, word + 5))).toBeNull();
  expect(localProbabilities(copy, row()), "without a known word").toBeNull();
});

test("a page that is most similar to one the person agreed with keeps the published verdict", () => {
  const agreed: JudgedPage = { vector: kind(9), label: topicOf(kind(9)), corrected: false };
  const { copy } = trained([...corrections, agreed]);
  expect(localProbabilities(copy, kind(9))).toBeNull();
});

test("the same corrections give the same numbers", () => {
  const [one, two] = [trained(corrections), trained(corrections)];
  expect(one.training).toEqual(two.training);
});

test("it begins from the published model, changes the last layer alone, and leaves the network as it is", () => {
  const before = network.parameters.slice();
  const first = trained(corrections);
  expect(network.parameters).toEqual(before);
  const lower = before.length - first.training.lastLayer.length;
  expect(first.training.lastLayer.length).toBe(8 * 6 + 6);
  expect(first.copy.network.parameters.subarray(0, lower)).toEqual(before.subarray(0, lower));
  expect(first.copy.network.parameters.subarray(lower)).not.toEqual(before.subarray(lower));
});

test("public pages are held to the published verdict: at most one in a hundred changes", () => {
  const { copy } = trained(corrections.map((page) => ({ ...page, vector: row(0, 12, 24) })));
  let changed = 0;
  for (let page = 0; page < PAGES; page += 1) {
    const [start, end] = [pool.starts[page]!, pool.starts[page + 1]!];
    const own = Array.from(pool.weights.subarray(start, end));
    const length = Math.hypot(...own);
    const vector: SparseVector = {
      indices: Int32Array.from(pool.columns.subarray(start, end)),
      values: Float32Array.from(own, (weight) => weight / length),
    };
    const chances = localProbabilities(copy, vector);
    if (chances !== null && chances.indexOf(Math.max(...chances)) !== topicOf(vector)) changed += 1;
  }
  expect(changed).toBeLessThanOrEqual(PAGES / 100);
  expect(copy.similarity, "many pages are similar, so more similarity is asked for").toBeGreaterThan(0.35);
});

test("it pauses often", () => {
  expect(trained(corrections).pieces).toBeGreaterThan(PAGES + 60 * 3);
});

test("there is nothing to learn without pages, and a page must fit the network", () => {
  expect(() => trained([])).toThrow("no pages");
  expect(() => trained([{ ...corrections[0]!, label: 6 }])).toThrow("label");
  expect(() => trained([{ ...corrections[0]!, vector: row(WORDS) }])).toThrow("beyond");
});
