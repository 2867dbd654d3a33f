import { expect, test } from "vitest";
import { exactSum } from "../src/core/exact_sum";

test("a sum is rounded once, whatever the order", () => {
  expect(exactSum([])).toBe(0);
  expect(exactSum(new Array(10).fill(0.1))).toBe(1);
  expect(exactSum([1e100, 1, -1e100])).toBe(1);
  expect(exactSum([1, 1e100, 1, -1e100])).toBe(2);
});

test("halfway between two numbers the smaller parts decide", () => {
  const half = 2 ** -53;
  expect(exactSum([1, half])).toBe(1);
  expect(exactSum([1, half, 2 ** -120])).toBe(1 + 2 ** -52);
  expect(exactSum([1 + 2 ** -52, half, -(2 ** -120)])).toBe(1 + 2 ** -52);
});
