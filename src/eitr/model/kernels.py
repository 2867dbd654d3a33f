"""The compiled inner loops of training: whole steps on sparse rows, with no Python between them.

The first layer is where the work is, and a step touches only the words that its batch has: the velocity of the others
goes on, but their parameters are moved only when a batch needs them next (`catch_up`), all steps at once. Everything
works on rows of the kernels, which lie in memory as the processor's vectors want them. The loops hold no lock, so
several models can train in threads. Inputs are trusted here: the callers check them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.model import random
from eitr.model.products import multiply_add

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
    # Activations and errors of each layer lie without gaps: the compiler vectorises only what it knows to be in a row.
    most = batches.shape[1]
    place = np.zeros(depth + 1, np.int64)
    for layer in range(depth):
        place[layer + 1] = place[layer] + most * widths[layer + 1]
    activations = np.empty(place[depth], np.float32)
    mistakes = np.empty(place[depth], np.float32)
    first_kernel = vector[: widths[0] * widths[1]].reshape(widths[0], widths[1])
    first_velocity = velocity[: widths[0] * widths[1]].reshape(widths[0], widths[1])
    entries = 0
    for step in range(batches.shape[0]):
        held = 0
        for sample in range(sizes[step]):
            held += starts[batches[step, sample] + 1] - starts[batches[step, sample]]
        entries = max(entries, held)
    ends = np.empty(widths[0] + 1, np.int64)
    samples = np.empty(entries, np.int64)
    shares = np.empty(entries, np.float32)
    # Up to which step a word's parameters have moved; those of a word that no batch has had yet stand still.
    moved = np.zeros(widths[0], np.int64)
    total = 0.0
    for step in range(batches.shape[0]):
        size = sizes[step]
        batch = batches[step, :size]
        words_of(starts, columns, values, batch, ends, samples, shares)
        for word in range(widths[0]):
            if ends[word] < ends[word + 1]:
                if moved[word] < step:
                    catch_up(first_kernel, first_velocity, word, step - moved[word], rate, momentum)
                moved[word] = step + 1
        step_key = draw(dropout_key, first_step + step)
        start = 0
        for layer in range(depth):
            inputs, outputs = widths[layer], widths[layer + 1]
            end = start + inputs * outputs
            kernel, bias = vector[start:end].reshape(inputs, outputs), vector[end : end + outputs]
            here = _matrix(activations, place[layer], size, outputs)
            if layer == 0:
                first_layer(starts, columns, values, batch, kernel, bias, here)
            else:
                dense_layer(_matrix(activations, place[layer - 1], size, inputs), kernel, bias, here)
            if layer < depth - 1:
                relu_and_dropout(here, draw(step_key, layer), threshold, scale)
            start = end + outputs
        last = place[depth - 1]
        logits, errors = _matrix(activations, last, size, widths[depth]), _matrix(mistakes, last, size, widths[depth])
        total += softmax_errors(logits, labels[step], errors)
        for layer in range(depth - 1, -1, -1):
            inputs, outputs = widths[layer], widths[layer + 1]
            start -= (inputs + 1) * outputs
            end = start + inputs * outputs
            errors = _matrix(mistakes, place[layer], size, outputs)
            if layer > 0:
                kernel = vector[start:end].reshape(inputs, outputs)
                given = _matrix(activations, place[layer - 1], size, inputs)
                back(errors, kernel, given, scale, _matrix(mistakes, place[layer - 1], size, inputs))
                move_dense(given, errors, kernel, velocity[start:end], rate, momentum)
            else:
                move_first(ends, samples, shares, errors, first_kernel, first_velocity, rate, momentum)
            move_bias(errors, vector[end : end + outputs], velocity[end : end + outputs], rate, momentum)
    for word in range(widths[0]):
        if moved[word] < batches.shape[0]:
            catch_up(first_kernel, first_velocity, word, batches.shape[0] - moved[word], rate, momentum)
    return float(total / batches.shape[0])


@compiled
def _matrix(buffer: Floats, start: int, rows: int, width: int) -> Floats:
    """Return a part of a buffer as a matrix without gaps."""
    return buffer[start : start + rows * width].reshape(rows, width)


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
def dense_layer(inputs: Floats, kernel: Floats, bias: Floats, outputs: Floats) -> None:
    """Write `inputs @ kernel + bias` to `outputs`."""
    outputs[:] = bias
    multiply_add(inputs, kernel, outputs)


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
def softmax_errors(logits: Floats, labels: Integers, errors: Floats) -> float:
    """Write the gradient by the logits, (softmax - truth) / size; return the mean negative log-likelihood."""
    loss = 0.0
    size, classes = logits.shape
    share = np.float32(1) / np.float32(size)
    for sample in range(size):
        row = logits[sample]
        largest = row.max()
        total = np.float32(0)
        for label in range(classes):
            errors[sample, label] = np.exp(row[label] - largest)
            total += errors[sample, label]
        loss -= row[labels[sample]] - largest - np.log(total)
        for label in range(classes):
            truth = np.float32(1) if label == labels[sample] else np.float32(0)
            errors[sample, label] = (errors[sample, label] / total - truth) * share
    return float(loss / size)


@compiled
def back(errors: Floats, kernel: Floats, inputs: Floats, scale: np.float32, before: Floats) -> None:
    """Write `(errors @ kernel.T) * scale` to `before` where `inputs` is above 0, and 0 elsewhere.

    A unit is above 0 exactly where it was active and kept, and there it was scaled.
    """
    zero = np.float32(0)
    before[:] = zero
    multiply_add(errors, np.ascontiguousarray(kernel.T), before)
    for sample in range(before.shape[0]):
        for unit in range(before.shape[1]):
            before[sample, unit] = before[sample, unit] * scale if inputs[sample, unit] > zero else zero


@compiled
def move_dense(
    inputs: Floats, errors: Floats, kernel: Floats, velocity: Floats, rate: np.float32, momentum: np.float32
) -> None:
    """Take the optimiser's step of a dense layer: `velocity = momentum velocity + inputs.T @ errors`, and move."""
    gradient = np.zeros(kernel.shape, np.float32)
    multiply_add(inputs.T, errors, gradient)
    _move(kernel.reshape(-1), velocity, gradient.reshape(-1), rate, momentum)


@compiled
def words_of(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    batch: Integers,
    ends: Integers,
    samples: Integers,
    shares: Floats,
) -> None:
    """Sort a batch's entries by word: those of word w lie from `ends[w]` to `ends[w + 1]`, by sample."""
    width = ends.size - 1
    ends[:] = 0
    for sample in range(batch.size):
        for entry in range(starts[batch[sample]], starts[batch[sample] + 1]):
            ends[columns[entry] + 1] += 1
    for word in range(width):
        ends[word + 1] += ends[word]
    # Filling moves each start to its end, which is the next word's start: shifted back by one, all is in place.
    for sample in range(batch.size):
        for entry in range(starts[batch[sample]], starts[batch[sample] + 1]):
            word = columns[entry]
            samples[ends[word]] = sample
            shares[ends[word]] = values[entry]
            ends[word] += 1
    for word in range(width, 0, -1):
        ends[word] = ends[word - 1]
    ends[0] = 0


@compiled
def catch_up(
    kernel: Floats,
    velocity: Floats,
    word: int,
    behind: int,
    rate: np.float32,
    momentum: np.float32,
) -> None:
    """Let a word's parameters glide through the steps in which no page of the batch had the word.

    After k such steps the velocity is `momentum^k velocity`, and the parameters have moved by `-rate` times its sum on
    the way, `velocity (momentum + ... + momentum^k)`.
    """
    decay = np.float32(momentum**behind)
    glide = rate * momentum * (np.float32(1) - decay) / (np.float32(1) - momentum)
    parameters, speed = kernel[word], velocity[word]
    for unit in range(parameters.size):
        parameters[unit] -= glide * speed[unit]
        speed[unit] *= decay


@compiled
def move_first(
    ends: Integers,
    samples: Integers,
    shares: Floats,
    errors: Floats,
    kernel: Floats,
    velocity: Floats,
    rate: np.float32,
    momentum: np.float32,
) -> None:
    """Take the optimiser's step of the first layer for the batch's words: the gradient is `rows[batch].T @ errors`."""
    width, units = kernel.shape
    gradient = np.empty(units, np.float32)
    for word in range(width):
        if ends[word] < ends[word + 1]:
            gradient[:] = np.float32(0)
            for use in range(ends[word], ends[word + 1]):
                share, slopes = shares[use], errors[samples[use]]
                for unit in range(units):
                    gradient[unit] += share * slopes[unit]
            _move(kernel[word], velocity[word], gradient, rate, momentum)


@compiled
def move_bias(errors: Floats, bias: Floats, velocity: Floats, rate: np.float32, momentum: np.float32) -> None:
    """Take the optimiser's step of a bias: its gradient is the sum of the errors."""
    gradient = np.zeros(bias.size, np.float32)
    for sample in range(errors.shape[0]):
        for unit in range(bias.size):
            gradient[unit] += errors[sample, unit]
    _move(bias, velocity, gradient, rate, momentum)


@compiled
def _move(parameters: Floats, velocity: Floats, gradient: Floats, rate: np.float32, momentum: np.float32) -> None:
    for n in range(parameters.size):
        velocity[n] = momentum * velocity[n] + gradient[n]
        parameters[n] -= rate * velocity[n]
