import { afterEach, expect, test, vi } from "vitest";
import { secretBelow, secretNoise } from "../src/core/secret_random";

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
