// An independent implementation of docs/protocol.md, "From page to vector", held against the golden cases.
// Usage: node check.mjs [tokens.json vectors.json]; it needs nothing but Node.js.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [tokensFile, vectorsFile] = [process.argv[2] ?? join(here, "tokens.json"), process.argv[3] ?? join(here, "vectors.json")];
const stopWords = new Set(
  readFileSync(join(here, "../../src/eitr/assets/stopwords.txt"), "utf8").split("\n").filter(Boolean),
);

const INVISIBLE =
  /[\u{ad}\u{34f}\u{61c}\u{180b}-\u{180f}\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{206f}\u{fe00}-\u{fe0f}\u{feff}\u{e0100}-\u{e01ef}]/gu;
const TOO_MANY_MARKS = /([\p{M}\u{ff9e}\u{ff9f}]{64})[\p{M}\u{ff9e}\u{ff9f}]+/gu;
const WORD = /\p{L}[\p{L}\p{M}]*/gu;

function tokens(text) {
  const normal = text
    .replace(INVISIBLE, "")
    .replace(TOO_MANY_MARKS, "$1")
    .normalize("NFKC")
    .toLowerCase()
    .normalize("NFKC")
    .replaceAll("ς", "σ");
  return (normal.match(WORD) ?? []).filter((word) => {
    const length = [...word].length;
    return length >= 2 && length <= 40 && !stopWords.has(word);
  });
}

function ln(number) {
  let mantissa = number;
  let exponent = 0;
  while (mantissa >= 2) {
    mantissa /= 2;
    exponent += 1;
  }
  const ratio = (mantissa - 1) / (mantissa + 1);
  const square = ratio * ratio;
  let series = 0;
  for (let term = 19; term >= 0; term -= 1) series = series * square + 1 / (2 * term + 1);
  return exponent * 0.6931471805599453 + 2 * ratio * series;
}

function vector({ words, idf, forms }, page) {
  const content = ["title", "description", "keywords", "text"].map((field) => page[field] ?? "").join("\n");
  const places = new Map([...words.map((word, place) => [word, place]), ...Object.entries(forms)]);
  const counts = new Map();
  for (const word of tokens(content)) {
    const place = places.get(word);
    if (place !== undefined) counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const indices = [...counts.keys()].sort((a, b) => a - b);
  const weights = indices.map((place) => (1 + ln(counts.get(place))) * idf[place]);
  const norm = Math.sqrt(weights.reduce((total, weight) => total + weight * weight, 0));
  return { indices, values: weights.map((weight) => Math.fround(weight / norm)) };
}

let checked = 0;
let failed = 0;
function expect(name, actual, expected) {
  checked += 1;
  if (JSON.stringify(actual) === JSON.stringify(expected)) return;
  failed += 1;
  if (failed <= 20) console.error(`${name}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(actual)}`);
}

for (const { name, text, tokens: expected } of JSON.parse(readFileSync(tokensFile, "utf8")).cases) {
  expect(name, tokens(text), expected);
}
const { vocabulary, cases } = JSON.parse(readFileSync(vectorsFile, "utf8"));
for (const { name, page, indices, values } of cases) {
  expect(name, vector(vocabulary, page), { indices, values });
}
console.log(`${checked} cases, ${failed} failed`);
process.exit(failed || !checked ? 1 : 0);
