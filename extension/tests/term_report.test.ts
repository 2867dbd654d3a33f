import { expect, test } from "vitest";
import { encodedReport, LARGEST_REPORT, type PageWords, termReport } from "../src/core/term_report";

const COLD: PageWords = [
  ["fever", 1],
  ["cough", 1],
];

test("a report has shares of the weight and counts of pages, of the weightiest words only", () => {
  expect(termReport([COLD, [["fever", 1]]], 1)).toEqual({ samples: 2, weights: { fever: 1 }, documents: { fever: 2 } });
  const report = termReport([COLD, [["fever", 3]]], 10)!;
  expect(report.documents).toEqual({ fever: 2, cough: 1 });
  const [fever, cough] = [2 + Math.log(3), 1 + Math.log(3 / 2)];
  expect(report.weights["fever"]).toBeCloseTo(fever / (fever + cough), 12);
  expect(report.weights["cough"]).toBeCloseTo(cough / (fever + cough), 12);
});

test("pages without words are counted, but make no report by themselves", () => {
  expect(termReport([], 10)).toBeNull();
  expect(termReport([[], []], 10)).toBeNull();
  expect(termReport([[], COLD], 10)!.samples).toBe(2);
});

test("words of equal weight are sorted by code points, and the order of pages changes nothing", () => {
  const words: PageWords[] = [[["𐐨𐐩", 1]], [["﨎﨎", 1]], [["zz", 2]], [["aa", 2]]];
  const report = termReport(words, 10);
  expect(Object.keys(report!.weights)).toEqual(["aa", "zz", "﨎﨎", "𐐨𐐩"]);
  expect(JSON.stringify(termReport(words.toReversed(), 10))).toBe(JSON.stringify(report));
});

test("a word may be named as a member of objects", () => {
  expect(termReport([[["constructor", 1]]], 10)!.weights).toEqual({ constructor: 1 });
});

const letters = (number: number) =>
  [...number.toString().padStart(5, "0")].map((digit) => "abcdefghij"[+digit]).join("");

test("a report has at most 2000 words, and fewer if they are too long for the server", () => {
  const page = (fill: string): PageWords => Array.from({ length: 3000 }, (_, place) => [letters(place) + fill, 1]);
  expect(Object.keys(encodedReport([page("")])!.report.weights)).toHaveLength(2000);
  const { report, bytes } = encodedReport([page("𐐨".repeat(35))])!;
  expect(Object.keys(report.weights)).toHaveLength(1000);
  expect(bytes.length).toBeLessThanOrEqual(LARGEST_REPORT);
  expect(JSON.parse(new TextDecoder().decode(bytes))).toEqual(report);
  expect(encodedReport([])).toBeNull();
});
