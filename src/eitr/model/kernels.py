"""The compiled inner loops of training: whole steps on sparse rows, with no Python between them.

The first layer is where the work is, and it touches only the words that a batch has; behind it, three of four units
are 0 after ReLU and dropout, and are skipped. Everything works on rows of the kernels, which lie in memory as the
processor's vectors want them. The loops hold no lock, so several models can train in threads. Inputs are trusted here:
the callers check them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.model import random

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

draw: Any = compiled(random.draw)


@compiled
def take_steps(
    vector: Floats,
    velocity: Floats,
    widths: Integers,
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    batches: Integers,
    labels: Integers,
    sizes: Integers,
    dropout_key: int,
    first_step: int,
    threshold: int,
    scale: np.float32,
    rate: np.float32,
    momentum: np.float32,
) -> float:
    """Take one step for each of `batches` (steps, places), in place; return the mean loss of the batches.

    `labels` goes with `batches`; of each batch the first `sizes` places count. `widths` are the layers' widths,
    `dropout_key` names the words of dropout below which `first_step` and the layer follow.
    """
    depth = widths.size - 1
    most = batches.shape[1]
    hidden = np.empty((depth, most, widths[1:].max()), np.float32)
    errors = np.empty((2, most, widths[1:].max()), np.float32)
    transposed = np.empty(widths[1:].max() * widths[1:].max(), np.float32)
    total = 0.0
    for step in range(batches.shape[0]):
        size = sizes[step]
        batch = batches[step, :size]
        step_key = draw(dropout_key, first_step + step)
        start = 0
        for layer in range(depth):
            inputs, outputs = widths[layer], widths[layer + 1]
            kernel = vector[start : start + inputs * outputs].reshape(inputs, outputs)
            bias = vector[start + inputs * outputs : start + (inputs + 1) * outputs]
            if layer == 0:
                first_layer(starts, columns, values, batch, kernel, bias, hidden[0])
            else:
                dense_layer(hidden[layer - 1], size, kernel, bias, hidden[layer])
            if layer < depth - 1:
                key = draw(step_key, layer)
                relu_and_dropout(hidden[layer, :size, :outputs], key, threshold, scale)
            start += (inputs + 1) * outputs
        total += softmax_errors(hidden[depth - 1], labels[step], size, widths[depth], errors[(depth - 1) % 2])
        for layer in range(depth - 1, -1, -1):
            inputs, outputs = widths[layer], widths[layer + 1]
            start -= (inputs + 1) * outputs
            end = start + inputs * outputs
            kernel = vector[start:end].reshape(inputs, outputs)
            now = errors[layer % 2]
            if layer > 0:
                back(now, size, kernel, transposed, hidden[layer - 1], scale, errors[(layer - 1) % 2])
                move_dense(hidden[layer - 1], now, size, kernel, velocity[start:end], rate, momentum)
            else:
                speed = velocity[start:end].reshape(inputs, outputs)
                move_first(starts, columns, values, batch, now, kernel, speed, rate, momentum)
            move_bias(now, size, vector[end : end + outputs], velocity[end : end + outputs], rate, momentum)
    return float(total / batches.shape[0])


@compiled
def first_layer(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    batch: Integers,
    kernel: Floats,
    bias: Floats,
    outputs: Floats,
) -> None:
    """Write `rows[batch] @ kernel + bias` to `outputs`, touching only the kernel's rows of its words."""
    units = bias.size
    for sample in range(batch.size):
        output = outputs[sample]
        output[:units] = bias
        row = batch[sample]
        entry, last = starts[row], starts[row + 1]
        # Four words at a time: the sums then travel through memory a quarter as often.
        while entry + 4 <= last:
            a, b, c, d = values[entry], values[entry + 1], values[entry + 2], values[entry + 3]
            first, second = kernel[columns[entry]], kernel[columns[entry + 1]]
            third, fourth = kernel[columns[entry + 2]], kernel[columns[entry + 3]]
            for unit in range(units):
                output[unit] = output[unit] + a * first[unit] + b * second[unit] + c * third[unit] + d * fourth[unit]
            entry += 4
        while entry < last:
            value, weights = values[entry], kernel[columns[entry]]
            for unit in range(units):
                output[unit] += value * weights[unit]
            entry += 1


@compiled
def dense_layer(inputs: Floats, size: int, kernel: Floats, bias: Floats, outputs: Floats) -> None:
    """Write `inputs @ kernel + bias` to `outputs`; inputs that are 0 cost nothing."""
    units = bias.size
    for sample in range(size):
        output = outputs[sample]
        output[:units] = bias
        for place in range(kernel.shape[0]):
            value = inputs[sample, place]
            if value != np.float32(0):
                weights = kernel[place]
                for unit in range(units):
                    output[unit] += value * weights[unit]


@compiled
def relu_and_dropout(hidden: Floats, key: int, threshold: int, scale: np.float32) -> None:
    """Scale each number up, or make it 0 where it is negative or its random word is below `threshold`.

    The word of sample s and unit u of a layer of width w is at counter `s w + u`.
    """
    zero = np.float32(0)
    samples, width = hidden.shape
    for sample in range(samples):
        for unit in range(width):
            kept = draw(key, sample * width + unit) >= threshold
            value = hidden[sample, unit]
            hidden[sample, unit] = value * scale if kept and value > zero else zero


@compiled
def softmax_errors(logits: Floats, labels: Integers, size: int, classes: int, errors: Floats) -> float:
    """Write the gradient by the logits, (softmax - truth) / size; return the mean negative log-likelihood."""
    loss = 0.0
    share = np.float32(1) / np.float32(size)
    for sample in range(size):
        row = logits[sample, :classes]
        largest = row.max()
        total = np.float32(0)
        for label in range(classes):
            errors[sample, label] = np.exp(row[label] - largest)
            total += errors[sample, label]
        loss -= row[labels[sample]] - largest - np.log(total)
        for label in range(classes):
            truth = np.float32(1) if label == labels[sample] else np.float32(0)
            errors[sample, label] = (errors[sample, label] / total - truth) * share
    return loss / size


@compiled
def back(
    errors: Floats,
    size: int,
    kernel: Floats,
    transposed: Floats,
    inputs: Floats,
    scale: np.float32,
    before: Floats,
) -> None:
    """Write `(errors @ kernel.T) * scale` to `before` where `inputs` is above 0, and 0 elsewhere.

    A unit is above 0 exactly where it was active and kept, and there it was scaled.
    """
    zero = np.float32(0)
    width, units = kernel.shape
    turned = transposed[: width * units].reshape(units, width)
    for unit in range(units):
        for place in range(width):
            turned[unit, place] = kernel[place, unit]
    for sample in range(size):
        row = before[sample]
        row[:width] = zero
        for unit in range(units):
            error, weights = errors[sample, unit], turned[unit]
            for place in range(width):
                row[place] += error * weights[place]
        for place in range(width):
            row[place] = row[place] * scale if inputs[sample, place] > zero else zero


@compiled
def move_dense(
    inputs: Floats, errors: Floats, size: int, kernel: Floats, velocity: Floats, rate: np.float32, momentum: np.float32
) -> None:
    """Take the optimiser's step of a dense layer: `velocity = momentum velocity + inputs.T @ errors`, and move."""
    width, units = kernel.shape
    gradient = np.empty(units, np.float32)
    for place in range(width):
        gradient[:] = np.float32(0)
        for sample in range(size):
            value = inputs[sample, place]
            if value != np.float32(0):
                for unit in range(units):
                    gradient[unit] += value * errors[sample, unit]
        _move(kernel[place], velocity[place * units : (place + 1) * units], gradient, rate, momentum)


@compiled
def move_first(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    batch: Integers,
    errors: Floats,
    kernel: Floats,
    velocity: Floats,
    rate: np.float32,
    momentum: np.float32,
) -> None:
    """Take the optimiser's step of the first layer, word by word: the gradient is `rows[batch].T @ errors`.

    Every parameter moves, also those of words that the batch does not have: their velocity goes on.
    """
    width, units = kernel.shape
    # The batch's entries by word, in the order of the samples: a counting sort.
    ends = np.zeros(width + 1, np.int64)
    for sample in range(batch.size):
        for entry in range(starts[batch[sample]], starts[batch[sample] + 1]):
            ends[columns[entry] + 1] += 1
    for word in range(width):
        ends[word + 1] += ends[word]
    samples = np.empty(ends[width], np.int64)
    shares = np.empty(ends[width], np.float32)
    place = ends[:width].copy()
    for sample in range(batch.size):
        for entry in range(starts[batch[sample]], starts[batch[sample] + 1]):
            word = columns[entry]
            samples[place[word]] = sample
            shares[place[word]] = values[entry]
            place[word] += 1
    gradient = np.empty(units, np.float32)
    for word in range(width):
        gradient[:] = np.float32(0)
        for use in range(ends[word], ends[word + 1]):
            share, slopes = shares[use], errors[samples[use]]
            for unit in range(units):
                gradient[unit] += share * slopes[unit]
        _move(kernel[word], velocity[word], gradient, rate, momentum)


@compiled
def move_bias(
    errors: Floats, size: int, bias: Floats, velocity: Floats, rate: np.float32, momentum: np.float32
) -> None:
    """Take the optimiser's step of a bias: its gradient is the sum of the errors."""
    gradient = np.zeros(bias.size, np.float32)
    for sample in range(size):
        for unit in range(bias.size):
            gradient[unit] += errors[sample, unit]
    _move(bias, velocity, gradient, rate, momentum)


@compiled
def _move(parameters: Floats, velocity: Floats, gradient: Floats, rate: np.float32, momentum: np.float32) -> None:
    for n in range(parameters.size):
        velocity[n] = momentum * velocity[n] + gradient[n]
        parameters[n] -= rate * velocity[n]
