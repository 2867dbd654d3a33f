"""From rows of words to probabilities: the forward pass, in batches, on plain numpy."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.model.examples import check_rows
from eitr.model.network import Layer, Network, Vector

if TYPE_CHECKING:
    from eitr.pages.sparse import SparseRows

BATCH = 256
"""Rows made dense at a time: enough to fill a matrix product, about a megabyte of memory at 1000 inputs."""


def predict(network: Network, vector: Vector, rows: "SparseRows") -> NDArray[np.float32]:
    """Return the probability of each class for each row, shape (rows, classes).

    A row's result may differ in the last bits with the rows it shares a batch with.
    """
    result = np.empty((len(rows), network.outputs), np.float32)
    for start, logits in logit_batches(network, vector, rows):
        result[start : start + len(logits)] = np.exp(log_softmax(logits))
    return result


def logit_batches(network: Network, vector: Vector, rows: "SparseRows") -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the number of each batch's first row, and the batch's logits."""
    network.check(vector)
    check_rows(network, rows)
    layers = network.split(vector)
    for start in range(0, len(rows), BATCH):
        batch = rows.take(np.arange(start, min(start + BATCH, len(rows)))).dense()
        with np.errstate(over="ignore", invalid="ignore"):
            logits = _forward(layers, batch)
        if not np.isfinite(logits).all():
            raise InputError("the model's numbers are so large that its outputs overflow")
        yield start, logits


def _forward(layers: list[Layer], activation: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the logits of dense rows."""
    for layer in layers[:-1]:
        activation = np.maximum(activation @ layer.kernel + layer.bias, np.float32(0))
    return activation @ layers[-1].kernel + layers[-1].bias


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the logarithm of the softmax of each row, safe for logits of any size.

    >>> np.exp(log_softmax(np.array([[1000.0, 1000.0]], np.float32))).tolist()
    [[0.5, 0.5]]
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)
