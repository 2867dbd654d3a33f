import { expect, test } from "vitest";
import { readManifest, readRound } from "../src/core/manifest";
import { TOPICS } from "../src/core/taxonomy";

const hash = "0123456789abcdef".repeat(4);
const manifest = {
  protocol: 2,
  version: 7,
  created: "2027-01-31T12:00:00+00:00",
  classes: TOPICS.map(({ name }) => name),
  layers: [1000, 256, 32, 6],
  parameters: 264_678,
  weights: { url: "/api/v2/models/7/weights", sha256: hash, bytes: 1_058_712 },
  vocabulary: { url: "/api/v2/models/7/vocabulary", sha256: hash },
  pool: { url: `/api/v2/pools/${hash}`, sha256: hash, bytes: 128_432 },
};
const sent = {
  ...manifest,
  pool: { ...manifest.pool, pages: 2014 },
  training: { method: "private", layers: 1, clip: 0.133 },
};
const round = {
  id: 12,
  base: 7,
  deadline: "2027-01-31T13:00:00+00:00",
  training: {
    method: "private",
    layers: 1,
    cover_pages: 200,
    own_weight: 4,
    clip: 0.133,
    learning_rate: 0.05,
    noise: 4,
  },
};

test("a server's manifest is read, and members that are not known are ignored", () => {
  expect(readManifest({ ...sent, safetensors: "...", tfjs: "...", later: {} })).toEqual(manifest);
});

test("a server that trains as in the paper needs no pool", () => {
  expect(readManifest({ ...sent, pool: undefined, training: { method: "paper" } })).toEqual({
    ...manifest,
    pool: null,
  });
});

test.each([
  ["nothing", null],
  ["a list", []],
  ["another protocol", { ...sent, protocol: 1 }],
  ["a protocol of text", { ...sent, protocol: "2" }],
  ["version 0", { ...sent, version: 0 }],
  ["a version of half", { ...sent, version: 1.5 }],
  ["a version too large to count", { ...sent, version: 2 ** 53 }],
  ["a version of text", { ...sent, version: "7" }],
  ["no time", { ...sent, created: "yesterday" }],
  ["a time of megabytes", { ...sent, created: `2027-01-31T12:00:00${" ".repeat(1e6)}` }],
  ["other classes", { ...sent, classes: [...sent.classes].reverse() }],
  ["fewer classes", { ...sent, classes: manifest.classes.slice(1) }],
  ["other layers", { ...sent, layers: [1000, 256, 6] }],
  ["layers of text", { ...sent, layers: ["1000", "256", "32", "6"] }],
  ["other parameters", { ...sent, parameters: 1 }],
  ["other bytes", { ...sent, weights: { ...sent.weights, bytes: 4 } }],
  ["no pool", { ...sent, pool: undefined }],
  ["a pool of more than a megabyte", { ...sent, pool: { ...sent.pool, bytes: 2 ** 20 + 1 } }],
  ["a pool elsewhere", { ...sent, pool: { ...sent.pool, url: "//elsewhere.example/pool" } }],
  ["no method of training", { ...sent, training: null }],
  ["a method of training that is not known", { ...sent, training: { method: "other" } }],
  ["no weights", { ...sent, weights: null }],
  ["no vocabulary", { ...sent, vocabulary: "/api/v2/models/7/vocabulary" }],
  ["a short hash", { ...sent, vocabulary: { ...sent.vocabulary, sha256: hash.slice(1) } }],
  ["a hash in capitals", { ...sent, vocabulary: { ...sent.vocabulary, sha256: hash.toUpperCase() } }],
])("%s is refused", (_, value) => {
  expect(() => readManifest(value)).toThrow();
});

test.each([
  "https://elsewhere.example/api/v2/models/7/weights",
  "//elsewhere.example/api/v2/models/7/weights",
  "/\\elsewhere.example/api/v2/models/7/weights",
  "/api/v2/../../secret",
  "/api/v2/./models",
  "/api/v2//elsewhere.example",
  "/api/v2/%2e%2e/secret",
  "/api/v2/models/7/weights?x=1",
  "/api/v2/models/7/weights#x",
  "/api/v2/models/7/weights\n",
  "/api/v2/",
  "/api/v1/models/7/weights",
  "api/v1/models/7/weights",
  `/api/v2/${"a".repeat(300)}`,
  "",
  7,
])("the address %j is refused", (url) => {
  expect(() => readManifest({ ...sent, weights: { ...sent.weights, url } })).toThrow("address");
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
  ["a plan of too many pages", { ...round, training: { ...round.training, cover_pages: 1e9 } }],
])("a round with %s is refused", (_, value) => {
  expect(() => readRound(value)).toThrow();
});
