import { beforeAll, expect, test, vi } from "vitest";
import type { LabelledWords } from "../src/background/labelled_pages";
import type { judgedAsSaid } from "../src/background/learning/judged_pages";
import type { Model } from "../src/background/model";
import { NON_SENSITIVE } from "../src/core/taxonomy";
import { readVocabulary } from "../src/core/vocabulary";
import { bytes } from "./bytes";

const [HEALTH, POLITICS] = [0, 1];
const words = ["fever", "vote", "snow", "ice"];
const vocabulary = readVocabulary(
  bytes(JSON.stringify({ format: "eitr-vocabulary", version: 1, words, idf: [1, 1, 1, 1], forms: {} })),
);
/** "fever" speaks for health, "vote" for politics, "snow" and "ice" for not sensitive. */
const parameters = new Float32Array(4 * 6 + 6);
for (const [word, topic] of [HEALTH, POLITICS, NON_SENSITIVE, NON_SENSITIVE].entries())
  parameters[6 * word + topic] = 5;
const model: Model = { version: 2, server: "", network: { layers: [4, 6], parameters }, vocabulary };

let judge: typeof judgedAsSaid;

beforeAll(async () => {
  vi.stubGlobal("chrome", {}); // only looked up here, never called
  judge = (await import("../src/background/learning/judged_pages")).judgedAsSaid;
});

function page(label: number, said: string, language?: string): LabelledWords {
  const counts = said.split(" ").map((word): [string, number] => [word, 2]);
  return { page: said, label, words: counts, time: 0, agreed: false, ...(language === undefined ? {} : { language }) };
}

function right(page: LabelledWords, threshold = 0.45): boolean {
  const work = judge([page], model, threshold);
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value.length === 1;
}

test("a page is judged as the person said if people would be told so", () => {
  expect(right(page(HEALTH, "fever"))).toBe(true);
  expect(right(page(POLITICS, "fever"))).toBe(false);
  expect(right(page(NON_SENSITIVE, "snow ice"))).toBe(true);
});

test("where EITR cannot tell, the page is not judged as the person said", () => {
  expect(right(page(NON_SENSITIVE, "snow")), "too few words").toBe(false);
  expect(right(page(HEALTH, "unheard of")), "no word").toBe(false);
  expect(right(page(HEALTH, "fever vote snow")), "not sure enough").toBe(false);
  expect(right(page(NON_SENSITIVE, "snow ice", "de")), "never told in German").toBe(false);
  expect(right(page(HEALTH, "fever", "other")), "another language").toBe(false);
});

test("the threshold is the one that the person chose", () => {
  expect(right(page(HEALTH, "fever fever snow"), 0.3)).toBe(true);
  expect(right(page(HEALTH, "fever fever snow"), 0.95)).toBe(false);
});
