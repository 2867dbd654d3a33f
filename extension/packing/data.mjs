/** The data in the package: the pretrained model, its vocabulary and cover pages, whom hosts belong to, and which hosts belong together. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ASSETS, CORE, ROOT } from "./paths.mjs";

const require = createRequire(import.meta.url);

export function writeData(folder) {
  const data = join(folder, "data");
  mkdirSync(data, { recursive: true });
  const { layers, weights } = flatModel(readFileSync(join(ASSETS, "model.safetensors")));
  const sha256 = createHash("sha256").update(weights).digest("hex");
  writeFileSync(join(data, "weights.bin"), weights);
  writeFileSync(join(data, "model.json"), JSON.stringify({ version: 0, sha256, layers }));
  writeFileSync(join(data, "vocabulary.json"), readFileSync(join(ASSETS, "vocabulary.json")));
  writeFileSync(join(data, "pool.bin"), readFileSync(join(ASSETS, "pool.bin")));
  writeFileSync(join(data, "trackers.json"), trackers());
  const suffixes = readFileSync(join(CORE, "suffixes.txt"), "utf8");
  // A module, so that it is there before the first listener.
  writeFileSync(join(data, "suffixes.js"), `export default ${JSON.stringify(suffixes)};\n`);
  writeFileSync(join(folder, "NOTICE.txt"), notice());
  writeFileSync(join(folder, "LICENSE"), readFileSync(join(ROOT, "LICENSE")));
}

/** The layers and the flat vector of a safetensors file (docs/page-to-prediction.md, section 10). */
function flatModel(file) {
  const start = 8 + Number(file.readBigUInt64LE(0));
  const { __metadata__: described, ...tensors } = JSON.parse(file.subarray(8, start).toString("utf8"));
  if (JSON.parse(described.format) !== "eitr-model") throw new Error("the model in the assets is none of ours");
  const layers = JSON.parse(described.layers);
  let offset = 0;
  layers.slice(1).forEach((outputs, depth) => {
    const inputs = layers[depth];
    for (const [part, length] of [
      ["kernel", inputs * outputs],
      ["bias", outputs],
    ]) {
      const { dtype, data_offsets: found } = tensors[`dense_${depth}/${part}`];
      const expected = [offset, offset + 4 * length];
      if (dtype !== "F32" || String(found) !== String(expected))
        throw new Error("the model's tensors are not the flat vector");
      offset += 4 * length;
    }
  });
  const weights = file.subarray(start);
  if (weights.length !== offset) throw new Error("the model in the assets has bytes that belong to no tensor");
  return { layers, weights };
}

/** The companies of third-party-web with their hosts, as core/trackers.ts reads them. */
export function trackers() {
  const entities = require("third-party-web/dist/entities-nostats.json");
  const rows = entities
    .filter(({ domains }) => domains.length > 0)
    .map(({ name, company, category, domains }) => [company ?? name, category, domains.join(" ").toLowerCase()]);
  return JSON.stringify({ format: "eitr-trackers", version: 1, entities: rows });
}

function notice() {
  const licence = readFileSync(require.resolve("third-party-web/LICENSE"), "utf8").trim();
  return `EITR, Apache License 2.0: see LICENSE.

background/worker.js holds a part of the Public Suffix List (https://publicsuffix.org), which is under the Mozilla
Public License 2.0 (https://mozilla.org/MPL/2.0/); the part is extension/src/core/suffixes.txt of the source.

data/trackers.json holds data of third-party-web, under this licence:

${licence}
`;
}
