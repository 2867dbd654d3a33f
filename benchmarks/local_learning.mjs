// Trains the extension's local copy on sets of corrections, and judges all pages before and after.
// Run: node local_learning.mjs INPUT.json OUTPUT.json
import { readFileSync, writeFileSync } from "node:fs";
import { loadCore } from "../tests/extension/core.mjs";

const [input, output] = process.argv.slice(2);
const { weights, layers, pool, rows, sets } = JSON.parse(readFileSync(input, "utf8"));
const core = await loadCore();
const bytes = (base64) => new Uint8Array(Buffer.from(base64, "base64"));
const network = core.readNetwork(bytes(weights), layers);
const cover = core.readPool(bytes(pool), layers[0]);
const pages = rows.map(({ columns, values, language, label }) => ({
  vector: { indices: Int32Array.from(columns), values: Float32Array.from(values) },
  language,
  label,
}));

const answer = ({ vector, language }, chances) =>
  core.answerOf([...chances], language, vector.indices.length, core.THRESHOLD).topic;
const published = pages.map((page) => answer(page, core.probabilities(network, page.vector)));

const processorMs = () => process.cpuUsage().user / 1000;

/** Run the training in the pieces it comes in; return its result, its processor time, and that of the longest piece. */
function timed(work) {
  const start = processorMs();
  let longest = 0;
  for (let before = start; ; ) {
    const { done, value } = work.next();
    const now = processorMs();
    longest = Math.max(longest, now - before);
    before = now;
    if (done) return { value, total: now - start, longest };
  }
}

function afterwards(places) {
  const own = places.map((place) => ({ ...pages[place], corrected: true }));
  const { value, total, longest } = timed(core.localTraining(network, own, cover));
  const copy = core.localCopyOf(network, value);
  const changed = {};
  for (const [place, page] of pages.entries()) {
    const chances = core.localProbabilities(copy, page.vector);
    const now = chances === null ? published[place] : answer(page, chances);
    if (now !== published[place]) changed[place] = now;
  }
  return { changed, total, longest };
}

writeFileSync(output, JSON.stringify({ published, results: sets.map(afterwards) }));
