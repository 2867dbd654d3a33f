// The extension's core does what Python asks of it, so that tests can compare.
// Run: node parity.mjs TASK INPUT.json OUTPUT.json
import { readFileSync, writeFileSync } from "node:fs";
import { loadCore } from "./core.mjs";

const core = await loadCore();
const bytes = (text) => new TextEncoder().encode(text);

/** Parameters travel as base64 of float32, little-endian: JSON would take seconds. */
const floats = (base64) => new Float32Array(new Uint8Array(Buffer.from(base64, "base64")).buffer);
const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

function pagesOf({ starts, columns, values }, labels) {
  return labels.map((label, row) => ({
    vector: {
      indices: Int32Array.from(columns.slice(starts[row], starts[row + 1])),
      values: Float32Array.from(values.slice(starts[row], starts[row + 1])),
    },
    label,
  }));
}

function finished(generator) {
  for (;;) {
    const { done, value } = generator.next();
    if (done) return value;
  }
}

const refused = (read) => {
  try {
    read();
    return null;
  } catch (error) {
    if (!(error instanceof core.BadInput)) throw error;
    return error.message;
  }
};

const TASKS = {
  tokens: ({ texts }) => texts.map(core.tokens),
  readings: ({ pages }) => pages.map((page) => core.readBody(core.readPage(page))),

  languages: ({ vocabulary, pages }) => {
    const known = core.readVocabulary(bytes(vocabulary));
    return pages.map((page) => core.readingOf(core.readPage(page), known).language);
  },

  vectors: ({ vocabulary, pages }) => {
    const known = core.readVocabulary(bytes(vocabulary));
    return pages.map((page) => {
      const { indices, values } = core.vector(core.readingOf(core.readPage(page), known).tokens, known);
      return { indices: [...indices], values: [...values] };
    });
  },

  answers: ({ cases }) => ({ threshold: core.THRESHOLD, answers: cases.map((known) => core.answerOf(...known)) }),

  draws: ({ pairs }) => pairs.map(([key, counter]) => core.draw(key, counter)),
  keys: ({ paths }) => paths.map(([seed, ...path]) => core.keyOf(seed, ...path)),
  permutations: ({ cases }) => cases.map(({ key, size, take }) => [...core.permutation(key, size, take)]),

  pages: ({ vocabulary, layers, parameters, pages, topics }) => {
    const known = core.readVocabulary(bytes(vocabulary));
    const network = core.readNetwork(new Uint8Array(Buffer.from(parameters, "base64")), layers);
    return pages.map((page, row) => {
      const { tokens: words } = core.readingOf(core.readPage(page), known);
      const vector = core.vector(words, known);
      return {
        tokens: words,
        indices: [...vector.indices],
        values: [...vector.values],
        probabilities: [...core.probabilities(network, vector)],
        leading: core.leadingWords(network, known, words, topics[row]),
      };
    });
  },

  training: ({ layers, runs, rows, labels }) =>
    runs.map(({ parameters, plan, seed }) => {
      const network = { layers, parameters: floats(parameters) };
      const read = core.readPlan({ method: "paper", ...plan }, layers);
      return base64(finished(core.training(network, pagesOf(rows, labels), read, seed)));
    }),

  privateTraining: ({ layers, parameters, own, cover, cases }) =>
    cases.map(({ plan, noise }) => {
      const network = { layers, parameters: floats(parameters) };
      const others = plan.cover_pages === 0 ? [] : pagesOf(cover.rows, cover.labels);
      const drawn = () => Float64Array.from(noise);
      return base64(finished(core.privateTraining(network, pagesOf(own.rows, own.labels), others, plan, drawn)));
    }),

  pools: ({ width, files }) =>
    files.map((file) => {
      const data = new Uint8Array(Buffer.from(file, "base64"));
      if (refused(() => core.readPool(data, width)) !== null) return null;
      const pool = core.readPool(data, width);
      const pages = Array.from(pool.labels, (_, page) => core.pageOf(pool, page));
      return {
        vocabulary: pool.vocabulary,
        labels: pages.map(({ label }) => label),
        starts: [...pool.starts],
        columns: pages.flatMap(({ vector }) => [...vector.indices]),
        values: pages.flatMap(({ vector }) => [...vector.values]),
      };
    }),

  refusals: ({ vocabularies }) =>
    vocabularies.map((base64) => refused(() => core.readVocabulary(new Uint8Array(Buffer.from(base64, "base64"))))),

  termReports: ({ cases, limit }) => cases.map((pages) => core.termReport(pages, limit)),

  limits: ({ rounds }) => rounds.map((count) => [core.pagePercentage(count), core.labelPercentage(count)]),

  difference: ({ base, parameters }) => base64(core.difference16(floats(base), floats(parameters))),
};

const [task, input, output] = process.argv.slice(2);
writeFileSync(output, JSON.stringify(TASKS[task](JSON.parse(readFileSync(input, "utf8")))));
