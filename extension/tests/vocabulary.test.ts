import { expect, test } from "vitest";
import { BadInput } from "../src/core/bad_input";
import { vector } from "../src/core/vector";
import { readVocabulary } from "../src/core/vocabulary";
import { bytes } from "./bytes";

// tests/extension/test_parity.py holds the refusals against Python's, one by one.
const good = { format: "eitr-vocabulary", version: 1, words: ["vote", "fever"], idf: [1.5, 2], forms: { votes: 0 } };

test("a word and its forms count together", () => {
  const vocabulary = readVocabulary(bytes(JSON.stringify(good)));
  expect([...vocabulary.places]).toEqual([
    ["vote", 0],
    ["fever", 1],
    ["votes", 0],
  ]);
  const { indices, values } = vector(["votes", "snow", "vote"], vocabulary);
  expect([...indices]).toEqual([0]);
  expect([...values]).toEqual([1]);
});

test("a page without a known word is the empty vector", () => {
  expect(vector(["snow"], readVocabulary(bytes(JSON.stringify(good)))).indices).toHaveLength(0);
});

test("a page of the word with the least idf has a vector, and a lower idf is refused", () => {
  const of = (least: number) => readVocabulary(bytes(JSON.stringify({ ...good, idf: [least, 100] })));
  expect([...vector(["vote"], of(0.001)).values]).toEqual([1]);
  const [small, large] = vector(["vote", ...Array<string>(100_000).fill("fever")], of(0.001)).values;
  expect(small).toBeGreaterThan(0);
  expect(large).toBeGreaterThan(small!);
  for (const idf of [0.000999, 1e-200, 0]) expect(() => of(idf)).toThrow("at least 0.001");
});

test("a file of more than 16 MiB is refused unread", () => {
  expect(() => readVocabulary(new Uint8Array(16 * 2 ** 20 + 1))).toThrow("16 MiB");
});

test("bytes that are no UTF-8 are refused", () => {
  expect(() => readVocabulary(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(BadInput);
});

test("more than 100,000 words are refused", () => {
  const words = Array.from({ length: 100_001 }, () => "vote");
  const idf = words.map(() => 1);
  expect(() => readVocabulary(bytes(JSON.stringify({ ...good, words, idf })))).toThrow("1 to 100000 words");
});
