import { expect, test } from "vitest";
import { readManifest, readRound } from "../src/core/manifest";
import { TOPICS } from "../src/core/taxonomy";

const hash = "0123456789abcdef".repeat(4);
const manifest = {
  protocol: 1,
  version: 7,
  created: "2027-01-31T12:00:00+00:00",
  classes: TOPICS.map(({ name }) => name),
  layers: [1000, 256, 32, 6],
  parameters: 264_678,
  weights: { url: "/api/v1/models/7/weights", sha256: hash, bytes: 1_058_712 },
  vocabulary: { url: "/api/v1/models/7/vocabulary", sha256: hash },
};
const round = {
  id: 12,
  base: 7,
  deadline: "2027-01-31T13:00:00+00:00",
  training: { epochs: 10, max_batches: 30, batch_size: 64, learning_rate: 0.01, momentum: 0.8, dropout: 0.5 },
};

test("a server's manifest is read, and members that are not known are ignored", () => {
  expect(readManifest({ ...manifest, safetensors: "...", tfjs: "...", later: {} })).toEqual(manifest);
});

test.each([
  ["nothing", null],
  ["a list", []],
  ["another protocol", { ...manifest, protocol: 2 }],
  ["a protocol of text", { ...manifest, protocol: "1" }],
  ["version 0", { ...manifest, version: 0 }],
  ["a version of half", { ...manifest, version: 1.5 }],
  ["a version too large to count", { ...manifest, version: 2 ** 53 }],
  ["a version of text", { ...manifest, version: "7" }],
  ["no time", { ...manifest, created: "yesterday" }],
  ["a time of megabytes", { ...manifest, created: `2027-01-31T12:00:00${" ".repeat(1e6)}` }],
  ["other classes", { ...manifest, classes: [...manifest.classes].reverse() }],
  ["fewer classes", { ...manifest, classes: manifest.classes.slice(1) }],
  ["other layers", { ...manifest, layers: [1000, 256, 6] }],
  ["layers of text", { ...manifest, layers: ["1000", "256", "32", "6"] }],
  ["other parameters", { ...manifest, parameters: 1 }],
  ["other bytes", { ...manifest, weights: { ...manifest.weights, bytes: 4 } }],
  ["no weights", { ...manifest, weights: null }],
  ["no vocabulary", { ...manifest, vocabulary: "/api/v1/models/7/vocabulary" }],
  ["a short hash", { ...manifest, vocabulary: { ...manifest.vocabulary, sha256: hash.slice(1) } }],
  ["a hash in capitals", { ...manifest, vocabulary: { ...manifest.vocabulary, sha256: hash.toUpperCase() } }],
])("%s is refused", (_, value) => {
  expect(() => readManifest(value)).toThrow();
});

test.each([
  "https://elsewhere.example/api/v1/models/7/weights",
  "//elsewhere.example/api/v1/models/7/weights",
  "/\\elsewhere.example/api/v1/models/7/weights",
  "/api/v1/../../secret",
  "/api/v1/./models",
  "/api/v1//elsewhere.example",
  "/api/v1/%2e%2e/secret",
  "/api/v1/models/7/weights?x=1",
  "/api/v1/models/7/weights#x",
  "/api/v1/models/7/weights\n",
  "/api/v1/",
  "/api/v2/models/7/weights",
  "api/v1/models/7/weights",
  `/api/v1/${"a".repeat(300)}`,
  "",
  7,
])("the address %j is refused", (url) => {
  expect(() => readManifest({ ...manifest, weights: { ...manifest.weights, url } })).toThrow("address");
});

test("a round is read, and members that are not known are ignored", () => {
  expect(readRound({ ...round, later: 1 })).toEqual(round);
});

test.each([
  ["no id", { ...round, id: undefined }],
  ["id 0", { ...round, id: 0 }],
  ["a base of text", { ...round, base: "7" }],
  ["no deadline", { ...round, deadline: null }],
  ["no plan", { ...round, training: null }],
  ["a plan of hours", { ...round, training: { ...round.training, epochs: 1e9 } }],
])("a round with %s is refused", (_, value) => {
  expect(() => readRound(value)).toThrow();
});
