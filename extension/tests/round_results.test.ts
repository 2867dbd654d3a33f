import { expect, test } from "vitest";
import { BadInput } from "../src/core/bad_input";
import { readRoundResults } from "../src/core/round_results";

test("rounds that have ended are read; others, and what is not known here, are left out", () => {
  const rounds = [
    { round: 7, outcome: "open", version: null },
    { round: 6, outcome: "aggregating", version: null },
    { round: 5, outcome: "published", version: 9, later: true },
    { round: 4, outcome: "rolled-back", version: 8 },
    { round: 3, outcome: "not-published", version: null },
    { round: 2, outcome: "something newer" },
  ];
  expect([...readRoundResults({ rounds })]).toEqual([
    [5, { outcome: "published", version: 9 }],
    [4, { outcome: "rolled-back", version: 8 }],
    [3, { outcome: "not-published" }],
  ]);
});

test.each([
  null,
  [],
  {},
  { rounds: {} },
  { rounds: [5] },
  { rounds: [{ round: 0, outcome: "not-published" }] },
  { rounds: [{ round: "5", outcome: "published", version: 9 }] },
  { rounds: [{ round: 5, outcome: "published", version: null }] },
  { rounds: [{ round: 5, outcome: "rolled-back", version: 1.5 }] },
])("an answer that makes no sense is refused: %j", (value) => {
  expect(() => readRoundResults(value)).toThrow(BadInput);
});
