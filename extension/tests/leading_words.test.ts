import { expect, test } from "vitest";
import { leadingWords } from "../src/core/leading_words";
import type { Network } from "../src/core/network";
import { readVocabulary } from "../src/core/vocabulary";
import { bytes } from "./bytes";

const vocabulary = readVocabulary(
  bytes(
    JSON.stringify({
      format: "eitr-vocabulary",
      version: 1,
      words: ["vote", "fever", "snow"],
      idf: [1, 1, 1],
      forms: { fevers: 1, feverish: 1 },
    }),
  ),
);
/** "vote" speaks for class 0, "fever" twice as loud for class 1, "snow" for none. */
const network: Network = { layers: [3, 2], parameters: Float32Array.of(1, 0, 0, 2, 0, 0, 0, 0) };

test("the word that spoke for a topic is named as the page spells it most often", () => {
  const words = ["fever", "fevers", "snow", "fevers", "vote"];
  expect(leadingWords(network, vocabulary, words, 1)).toEqual([{ word: "fevers", share: 1 }]);
});

test("of forms that are equally frequent the first is named", () => {
  expect(leadingWords(network, vocabulary, ["feverish", "fever"], 1)[0]?.word).toBe("feverish");
});

test("a page without known words has no reasons", () => {
  expect(leadingWords(network, vocabulary, ["rain"], 0)).toEqual([]);
});

test("the loudest words are named first, with their shares", () => {
  const both: Network = { layers: [3, 2], parameters: Float32Array.of(1, 0, 3, 0, 0, 0, 0, 0) };
  expect(leadingWords(both, vocabulary, ["vote", "fever"], 0)).toEqual([
    { word: "fever", share: 0.75 },
    { word: "vote", share: 0.25 },
  ]);
});

test("a word that speaks against the topic, or hardly for it, is not named", () => {
  const faint: Network = { layers: [3, 2], parameters: Float32Array.of(0, 1, 3, 0, 0.01, 0, 0, 0) };
  const words = ["vote", "fever", "snow"];
  expect(leadingWords(faint, vocabulary, words, 0)).toEqual([{ word: "fever", share: 1 }]);
});

test("at most eight words are named", () => {
  const nine = ["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii"];
  const known = readVocabulary(
    bytes(JSON.stringify({ format: "eitr-vocabulary", version: 2, words: nine, idf: nine.map(() => 1), forms: {} })),
  );
  const all: Network = { layers: [9, 2], parameters: Float32Array.from([...nine.flatMap(() => [1, 0]), 0, 0]) };
  expect(leadingWords(all, known, nine, 0).map(({ word }) => word)).toEqual(nine.slice(0, 8));
});
