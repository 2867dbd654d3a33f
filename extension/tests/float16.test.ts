import { expect, test } from "vitest";
import { difference16 } from "../src/core/float16";

// tests/extension/test_parity.py compares every half number, and the middle to the next, with numpy's.
test("a difference of one half is 0x3800, little-endian", () => {
  expect([...difference16(Float32Array.of(1), Float32Array.of(1.5))]).toEqual([0x00, 0x38]);
});

test("a difference beyond the range is the largest number", () => {
  for (const number of [65504, 65519, 65520, 1e30, Infinity]) {
    expect([...difference16(Float32Array.of(0), Float32Array.of(number))], String(number)).toEqual([0xff, 0x7b]);
    expect([...difference16(Float32Array.of(0), Float32Array.of(-number))], String(-number)).toEqual([0xff, 0xfb]);
  }
});

test("NaN is refused", () => {
  expect(() => difference16(Float32Array.of(0), Float32Array.of(NaN))).toThrow("not a number");
});

test("vectors of two lengths have no difference", () => {
  expect(() => difference16(new Float32Array(1), new Float32Array(2))).toThrow("length");
});
