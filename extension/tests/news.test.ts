import { expect, test } from "vitest";
import messages from "../src/_locales/en/messages.json";
import { newsSentences } from "../src/news";

const said: Record<string, { message: string }> = messages;

function text(corrected: number, right: number, before = 0): string {
  return newsSentences({ version: 5, corrected, right, before })
    .slice(1)
    .map(([key, ...gaps]) =>
      gaps.reduce((sentence, gap, n) => sentence.replace(`$${n + 1}`, String(gap)), said[key]!.message),
    )
    .join(" ");
}

test("the version that includes the round comes first, alone if nothing was corrected", () => {
  expect(newsSentences({ version: 5, corrected: 0, right: 0, before: 0 })).toEqual([["news_round", 5]]);
  expect(newsSentences({ version: 5, corrected: 4, right: 3, before: 0 })[0]).toEqual(["news_round", 5]);
});

test.each([
  [4, 3, 0, "3 of the 4 pages you had corrected are now judged as you said."],
  [4, 3, 3, "3 of the 4 pages you had corrected are now judged as you said."],
  [4, 1, 0, "1 of the 4 pages you had corrected is now judged as you said."],
  [4, 4, 2, "All 4 pages you had corrected are now judged as you said."],
  [4, 0, 0, "None of the 4 pages you had corrected is judged as you said yet."],
  [1, 1, 0, "The page you had corrected is now judged as you said."],
  [1, 0, 0, "The page you had corrected is not judged as you said yet."],
])("%i corrected, %i right, %i before", (corrected, right, before, expected) => {
  expect(text(corrected, right, before)).toBe(expected);
});

test.each([
  [4, 2, 3, "2 of the 4 pages you had corrected are now judged as you said. With the version before, it was 3."],
  [4, 1, 2, "1 of the 4 pages you had corrected is now judged as you said. With the version before, it was 2."],
  [4, 0, 1, "0 of the 4 pages you had corrected are now judged as you said. With the version before, it was 1."],
  [1, 0, 1, "The page you had corrected is no longer judged as you said."],
])("fewer than before is said: %i corrected, %i right, %i before", (corrected, right, before, expected) => {
  expect(text(corrected, right, before)).toBe(expected);
});
