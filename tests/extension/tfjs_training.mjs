// Trains with the real TF.js, without dropout, on batches that are given.
// Run: node tfjs_training.mjs INPUT.json OUTPUT.json
import { readFileSync, writeFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";

const [input, output] = process.argv.slice(2);
const { layers, parameters, rows, labels, batches, learning_rate, momentum } = JSON.parse(readFileSync(input, "utf8"));
await tf.setBackend("cpu");

const flat = new Float32Array(new Uint8Array(Buffer.from(parameters, "base64")).buffer);
const variables = [];
let start = 0;
for (let depth = 0; depth + 1 < layers.length; depth++) {
  const [inputs, outputs] = [layers[depth], layers[depth + 1]];
  const middle = start + inputs * outputs;
  variables.push(tf.variable(tf.tensor2d(flat.slice(start, middle), [inputs, outputs])));
  variables.push(tf.variable(tf.tensor1d(flat.slice(middle, middle + outputs))));
  start = middle + outputs;
}

function logits(x) {
  let result = x;
  for (let depth = 0; 2 * depth < variables.length; depth++) {
    result = tf.add(tf.matMul(result, variables[2 * depth]), variables[2 * depth + 1]);
    if (2 * depth + 2 < variables.length) result = tf.relu(result);
  }
  return result;
}

function dense(row) {
  const result = new Float32Array(layers[0]);
  for (let entry = rows.starts[row]; entry < rows.starts[row + 1]; entry++)
    result[rows.columns[entry]] = rows.values[entry];
  return result;
}

const optimizer = tf.train.momentum(learning_rate, momentum);
for (const batch of batches) {
  tf.tidy(() => {
    const x = tf.tensor2d(batch.map(dense));
    const truth = tf
      .oneHot(
        tf.tensor1d(
          batch.map((row) => labels[row]),
          "int32",
        ),
        layers.at(-1),
      )
      .toFloat();
    optimizer.minimize(() => tf.losses.softmaxCrossEntropy(truth, logits(x)), false, variables);
  });
}

const result = new Float32Array(flat.length);
let place = 0;
for (const variable of variables) {
  result.set(variable.dataSync(), place);
  place += variable.size;
}
writeFileSync(output, JSON.stringify(Buffer.from(result.buffer).toString("base64")));
