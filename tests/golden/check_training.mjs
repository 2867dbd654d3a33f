// A second implementation of docs/protocol.md, on its text alone and without dependencies: it checks
// random.json to the bit and training.json within 1e-5. Run: node tests/golden/check_training.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const INITIAL = 1, SHUFFLE = 2, DROPOUT = 3;
const TOLERANCE = 1e-5;

const mix = (word) => {
  word ^= word >>> 16;
  word = Math.imul(word, 0x85ebca6b);
  word ^= word >>> 13;
  word = Math.imul(word, 0xc2b2ae35);
  return (word ^ (word >>> 16)) >>> 0;
};

const draw = (key, counter) => mix(key ^ mix((counter + 0x9e3779b9) >>> 0));

const keyOf = (seed, ...path) => path.reduce(draw, seed);

/** floor(word * bound / 2^32), exact for every bound below 2^32: each product stays below 2^53. */
const scaled = (word, bound) =>
  Math.floor(((word >>> 16) * bound + Math.floor(((word & 0xffff) * bound) / 65536)) / 65536);

function permutation(key, size, take = size) {
  const order = Array.from({ length: size }, (_, place) => place);
  const count = Math.min(take, size);
  for (let place = 0; place < count; place++) {
    const other = place + scaled(draw(key, place), size - place);
    [order[place], order[other]] = [order[other], order[place]];
  }
  return order.slice(0, count);
}

/** One row of booleans a sample: which units of a hidden layer stay. */
function kept(seed, step, layer, samples, width, rate) {
  const key = keyOf(seed, DROPOUT, step, layer);
  const threshold = Math.floor(rate * 2 ** 32);
  return Array.from({ length: samples }, (_, sample) =>
    Array.from({ length: width }, (_, unit) => draw(key, sample * width + unit) >= threshold));
}

/** The place of each layer's kernel and bias in the flat vector. */
function places(layers) {
  const result = [];
  let start = 0;
  for (let depth = 0; depth + 1 < layers.length; depth++) {
    const [inputs, outputs] = [layers[depth], layers[depth + 1]];
    result.push({ inputs, outputs, kernel: start, bias: start + inputs * outputs });
    start += (inputs + 1) * outputs;
  }
  return { layers: result, size: start };
}

function initial(layers, seed) {
  const { layers: found, size } = places(layers);
  const key = keyOf(seed, INITIAL);
  const vector = new Float32Array(size);
  for (const { inputs, outputs, kernel } of found)
    for (let n = kernel; n < kernel + (inputs + 1) * outputs; n++)
      vector[n] = ((draw(key, n) + 0.5) / 2 ** 31 - 1) / Math.sqrt(inputs);
  return vector;
}

/** One layer forward: inputs is one array a sample. */
function dense(vector, { inputs, outputs, kernel, bias }, samples) {
  return samples.map((sample) =>
    Array.from({ length: outputs }, (_, unit) => {
      let sum = vector[bias + unit];
      for (let n = 0; n < inputs; n++) sum += sample[n] * vector[kernel + n * outputs + unit];
      return sum;
    }));
}

function step(vector, velocity, layers, samples, labels, plan, seed, number) {
  const scale = Math.fround(1 / (1 - plan.dropout));
  const activations = [samples];
  layers.forEach((layer, depth) => {
    let outputs = dense(vector, layer, activations[depth]);
    if (depth + 1 < layers.length) {
      const mask = kept(seed, number, depth, samples.length, layer.outputs, plan.dropout);
      outputs = outputs.map((row, s) => row.map((value, u) => (mask[s][u] && value > 0 ? value * scale : 0)));
    }
    activations.push(outputs);
  });

  let loss = 0;
  let errors = activations.at(-1).map((logits, sample) => {
    const largest = Math.max(...logits);
    const logSum = Math.log(logits.reduce((sum, value) => sum + Math.exp(value - largest), 0));
    loss -= (logits[labels[sample]] - largest - logSum) / samples.length;
    return logits.map((value, unit) =>
      (Math.exp(value - largest - logSum) - (unit === labels[sample] ? 1 : 0)) / samples.length);
  });

  const gradient = new Float64Array(vector.length);
  for (let depth = layers.length - 1; depth >= 0; depth--) {
    const { inputs, outputs, kernel, bias } = layers[depth];
    const before = errors.map(() => new Array(inputs).fill(0));
    errors.forEach((row, sample) => row.forEach((error, unit) => {
      gradient[bias + unit] += error;
      for (let n = 0; n < inputs; n++) {
        const activation = activations[depth][sample][n];
        gradient[kernel + n * outputs + unit] += activation * error;
        if (depth > 0 && activation > 0) before[sample][n] += scale * error * vector[kernel + n * outputs + unit];
      }
    }));
    errors = before;
  }
  for (let n = 0; n < vector.length; n++) {
    velocity[n] = plan.momentum * velocity[n] + gradient[n];
    vector[n] -= plan.learning_rate * velocity[n];
  }
  return loss;
}

function denseRows({ starts, columns, values, width }) {
  return starts.slice(0, -1).map((start, row) => {
    const result = new Array(width).fill(0);
    for (let entry = start; entry < starts[row + 1]; entry++) result[columns[entry]] = values[entry];
    return result;
  });
}

function train(sizes, rows, labels, plan, seed) {
  const { layers, size } = places(sizes);
  const vector = initial(sizes, seed);
  const velocity = new Float32Array(size);
  const losses = [];
  let number = 0;
  for (let epoch = 0; epoch < plan.epochs; epoch++) {
    const order = permutation(keyOf(seed, SHUFFLE, epoch), rows.length, plan.max_batches * plan.batch_size);
    const found = [];
    for (let start = 0; start < order.length; start += plan.batch_size) {
      const batch = order.slice(start, start + plan.batch_size);
      const [samples, truth] = [batch.map((row) => rows[row]), batch.map((row) => labels[row])];
      found.push(step(vector, velocity, layers, samples, truth, plan, seed, number++));
    }
    losses.push(found.reduce((sum, loss) => sum + loss, 0) / found.length);
  }
  return { vector, losses };
}

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
const furthest = (found, expected) => {
  assert.equal(found.length, expected.length);
  return expected.reduce((most, value, n) => Math.max(most, Math.abs(value - found[n])), 0);
};

const random = read("random.json");
for (const [key, counter, word] of random.draw) assert.equal(draw(key, counter), word);
for (const { seed, path, key } of random.key) assert.equal(keyOf(seed, ...path), key);
for (const { key, size, take, order } of random.permutation) assert.deepEqual(permutation(key, size, take), order);
for (const { seed, step, layer, samples, width, rate, kept: expected } of random.dropout)
  assert.deepEqual(
    kept(seed, step, layer, samples, width, rate).map((row) => row.map(Number).join("")), expected);
for (const { layers, seed, parameters } of random.initial)
  assert.deepEqual(Array.from(initial(layers, seed)), parameters);

const training = read("training.json");
const rows = denseRows(training.rows);
for (const { seed, plan, losses, parameters } of training.cases) {
  const result = train(training.layers, rows, training.labels, plan, seed);
  assert.ok(furthest(result.vector, parameters) < TOLERANCE, `parameters, dropout ${plan.dropout}`);
  assert.ok(furthest(result.losses, losses) < TOLERANCE, `losses, dropout ${plan.dropout}`);
}
console.log(`${random.draw.length} words and ${training.cases.length} training runs agree`);
