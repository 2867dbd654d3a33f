import { expect, test } from "vitest";
import { labelPercentage, pagePercentage } from "../src/core/privacy_limit";

// ceil(100 * largest_auc(4, rounds)) of src/eitr/model/private.py, and with half the noise for the label.
test.each([
  [1, 58, 64],
  [2, 60, 70],
  [10, 72, 87],
  [40, 87, 99],
])("after %i rounds", (rounds, page, label) => {
  expect(pagePercentage(rounds)).toBe(page);
  expect(labelPercentage(rounds)).toBe(label);
});
