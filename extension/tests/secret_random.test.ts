import { afterEach, expect, test, vi } from "vitest";
import { secretBelow, secretDraw, secretNoise } from "../src/core/secret_random";

afterEach(() => vi.restoreAllMocks());

/** Let the operating system give these words next. */
function given(...words: number[]): void {
  vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
    const target = array as unknown as Uint32Array;
    for (let n = 0; n < target.length; n += 1) target[n] = words.shift()!;
    return array;
  });
}

test("a word beyond the last whole multiple is drawn again: every number is equally likely", () => {
  // 2^32 = 3 * 1431655765 + 1, so the largest word would make 0 likelier than 1 and 2.
  given(0xffffffff, 0xfffffffe);
  expect(secretBelow(3)).toBe(2);
  given(0xffffffff);
  expect(secretBelow(2 ** 32)).toBe(0xffffffff);
});

test("a draw has different items, each of them equally often, and all if there are too few", () => {
  const counts = new Map<string, number>();
  for (let turn = 0; turn < 6000; turn += 1) {
    const drawn = secretDraw(["a", "b", "c"], 2);
    expect(new Set(drawn).size).toBe(2);
    for (const item of drawn) counts.set(item, (counts.get(item) ?? 0) + 1);
  }
  for (const item of ["a", "b", "c"]) expect(Math.abs(counts.get(item)! - 4000)).toBeLessThan(300);
  expect(secretDraw(["a", "b"], 4).sort()).toEqual(["a", "b"]);
});

test("noise is normal, independent, and never the same", () => {
  const [one, two] = [secretNoise(50_001), secretNoise(50_001)];
  expect(one.length).toBe(50_001);
  const mean = (numbers: Float64Array) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  expect(Math.abs(mean(one))).toBeLessThan(0.03);
  expect(Math.abs(mean(one.map((number) => number ** 2)) - 1)).toBeLessThan(0.05);
  expect(Math.abs(mean(one.map((number) => number ** 4)) - 3)).toBeLessThan(0.4);
  expect(Math.abs(mean(one.map((number) => (Math.abs(number) > 1.96 ? 1 : 0))) - 0.05)).toBeLessThan(0.01);
  expect(Math.abs(mean(one.map((number, n) => number * two[n]!)))).toBeLessThan(0.03);
  expect(Math.abs(mean(one.map((number, n) => number * one[(n + 1) % one.length]!)))).toBeLessThan(0.03);
});

test.each([0, 0xffffffff])("words that are all %d give finite numbers", (word) => {
  given(word, word, word, word);
  expect(secretNoise(2).every(Number.isFinite)).toBe(true);
});
