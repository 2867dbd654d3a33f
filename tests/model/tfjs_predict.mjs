// Loads an exported model with the real TF.js, predicts, and saves the model again as TF.js writes it.
// Run: node tfjs_predict.mjs DIRECTORY INPUTS.json OUTPUTS.json SAVED_DIRECTORY
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as tf from "@tensorflow/tfjs";

const [directory, inputs, outputs, saved] = process.argv.slice(2);
const { modelTopology, weightsManifest, userDefinedMetadata, format } = JSON.parse(
  readFileSync(join(directory, "model.json"), "utf8"),
);
const weights = weightsManifest.flatMap((group) => group.paths.map((path) => readFileSync(join(directory, path))));
const weightData = new Uint8Array(Buffer.concat(weights)).buffer;
const weightSpecs = weightsManifest.flatMap((group) => group.weights);

const model = await tf.loadLayersModel({
  load: async () => ({ format, modelTopology, weightSpecs, weightData, userDefinedMetadata }),
});
const result = model.predict(tf.tensor2d(JSON.parse(readFileSync(inputs, "utf8"))));
writeFileSync(outputs, JSON.stringify(await result.array()));

await model.save({
  save: async (artifacts) => {
    const document = {
      format: artifacts.format,
      generatedBy: artifacts.generatedBy,
      convertedBy: artifacts.convertedBy,
      modelTopology: artifacts.modelTopology,
      weightsManifest: [{ paths: ["weights.bin"], weights: artifacts.weightSpecs }],
      userDefinedMetadata: artifacts.userDefinedMetadata,
    };
    writeFileSync(join(saved, "model.json"), JSON.stringify(document));
    writeFileSync(join(saved, "weights.bin"), new Uint8Array(artifacts.weightData));
    return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: "JSON" } };
  },
});
