"""The compiled inner loops of training: the sparse first layer, dropout, and the step of the optimiser.

Everything else of a training step is a small dense matrix product, which numpy does well. The loops hold no
lock, so several models can train in threads. Inputs are trusted here: the callers check them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.model import random

Floats = NDArray[np.float32]

draw: Any = compiled(random.draw)


@compiled
def first_layer(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    batch: NDArray[np.int64],
    kernel: Floats,
    bias: Floats,
    outputs: Floats,
) -> None:
    """Write `rows[batch] @ kernel + bias` to `outputs`, touching only the kernel's rows of its words."""
    for sample in range(batch.size):
        output = outputs[sample]
        output[:] = bias
        row = batch[sample]
        for entry in range(starts[row], starts[row + 1]):
            value, weights = values[entry], kernel[columns[entry]]
            for unit in range(output.size):
                output[unit] += value * weights[unit]


@compiled
def first_kernel_gradient(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    batch: NDArray[np.int64],
    errors: Floats,
    gradient: Floats,
) -> None:
    """Write `rows[batch].T @ errors` to `gradient`."""
    gradient[:] = 0
    for sample in range(batch.size):
        row = batch[sample]
        for entry in range(starts[row], starts[row + 1]):
            value, slopes = values[entry], gradient[columns[entry]]
            for unit in range(slopes.size):
                slopes[unit] += value * errors[sample, unit]


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
def momentum_step(vector: Floats, velocity: Floats, gradient: Floats, rate: np.float32, momentum: np.float32) -> None:
    """Take one step in place: `velocity = momentum velocity + gradient`, `vector = vector - rate velocity`.

    Every parameter moves, also those of words that the batch does not have: their velocity goes on.
    """
    for n in range(vector.size):
        velocity[n] = momentum * velocity[n] + gradient[n]
        vector[n] -= rate * velocity[n]
