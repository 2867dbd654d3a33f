import { expect, test } from "vitest";
import { BadInput } from "../src/core/bad_input";
import { PlanRefused, readPlan } from "../src/core/training_plan";

const WIDTHS = [1000, 256, 32, 6];
const paper = {
  method: "paper",
  epochs: 10,
  max_batches: 30,
  batch_size: 64,
  learning_rate: 0.01,
  momentum: 0.8,
  dropout: 0.5,
};
const hidden = {
  method: "private",
  layers: 1,
  cover_pages: 200,
  own_weight: 4,
  clip: 0.133,
  learning_rate: 0.05,
  noise: 4,
};

test.each([paper, hidden])("the usual plan is read, and members that are not known are ignored", (plan) => {
  expect(readPlan({ ...plan, later: true }, WIDTHS)).toEqual(plan);
});

test.each([
  [paper, "epochs", [0, 101, 1.5, NaN]],
  [paper, "max_batches", [0, 1001]],
  [paper, "batch_size", [0, 1025]],
  [paper, "learning_rate", [0, -1, 1.1, NaN, Infinity]],
  [paper, "momentum", [-0.1, 1, NaN]],
  [paper, "dropout", [-0.1, 0.91, 1, NaN]],
  [hidden, "layers", [0, -1, 3, 4, 1.5, NaN]],
  [hidden, "cover_pages", [-1, 0.5, 100_001, Infinity]],
  [hidden, "own_weight", [0, -1, 1000.1, NaN, Infinity]],
  [hidden, "clip", [0, -1, 1001, NaN, Infinity]],
  [hidden, "learning_rate", [0, -1, 1001, NaN, Infinity]],
  [hidden, "noise", [3.999, 0, -4, NaN, Infinity]],
])("a plan like %j with %s out of bounds is refused", (plan, name, values) => {
  for (const value of values) {
    const read = () => readPlan({ ...plan, [name]: value }, WIDTHS);
    expect(read).toThrow(PlanRefused);
    expect(read).toThrow(name);
  }
});

test("as many layers as may be are all but the first, and no cover page is enough", () => {
  expect(readPlan({ ...hidden, layers: 2, cover_pages: 0 }, WIDTHS)).toEqual({ ...hidden, layers: 2, cover_pages: 0 });
  expect(() => readPlan({ ...hidden, layers: 1 }, [4, 2])).toThrow(PlanRefused);
});

test.each([undefined, null, "8", true, [], {}])("%j is no number of a plan", (value) => {
  for (const [plan, name] of [[paper, "dropout"] as const, [hidden, "noise"] as const]) {
    expect(() => readPlan({ ...plan, [name]: value }, WIDTHS)).toThrow(BadInput);
  }
});

test.each([null, [], "plan", {}])("%j is no plan", (value) => {
  expect(() => readPlan(value, WIDTHS)).toThrow(BadInput);
});

test.each([undefined, "Private", "secret", 1, "constructor"])("the method %j is refused: EITR is too old", (method) => {
  expect(() => readPlan({ ...hidden, method }, WIDTHS)).toThrow("Update EITR");
});
