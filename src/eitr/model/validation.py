"""Pages of known class that an operator trusts: how well does a model know each class?"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.model import kernels
from eitr.model.network import Network, Vector
from eitr.pages.sparse import SparseRows


@dataclass(frozen=True, slots=True)
class ValidationPages:
    """Scores models by their mean loss per class on trusted pages.

    >>> row = (np.array([0], np.int32), np.array([1.0], np.float32))
    >>> pages = ValidationPages(Network((1, 2)), SparseRows.of([row, row], width=1), np.array([0, 0]))
    >>> pages.losses(np.array([[5.0, -5.0, 0.0, 0.0]], np.float32)).round(3).tolist()
    [[0.0, nan]]
    """

    network: Network
    rows: SparseRows
    labels: NDArray[np.int64]

    def losses(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the mean cross-entropy (models, classes) of each class's pages; NaN where a class has none."""
        everything = np.arange(len(self.labels), dtype=np.int64)
        return losses_by_class((self.logits(vector, everything) for vector in vectors), self.labels, self.network)

    def above(self, untrained: Vector) -> "ValidationPages | UpperPages":
        """Return what scores models by their trained layers alone, given the parameters before these, which stay."""
        if len(untrained) == 0:
            return self
        layers = self.network.shapes
        sizes = np.cumsum([(inputs + 1) * outputs for inputs, outputs in layers])
        depth = int(np.searchsorted(sizes, len(untrained))) + 1
        if sizes[depth - 1] != len(untrained):
            raise InputError("the parameters that stay must be those of whole layers")
        below = Network(self.network.layers[: depth + 1])
        outputs = answers(below, untrained, self.rows, np.arange(len(self.labels), dtype=np.int64))
        return UpperPages(Network(self.network.layers[depth:]), np.maximum(outputs, np.float32(0)), self.labels)

    def logits(self, vector: Vector, asked: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the logits of a model for some of the rows."""
        return answers(self.network, vector, self.rows, asked)


@dataclass(frozen=True, slots=True, eq=False)
class UpperPages:
    """The same for models whose lower layers stay as they are: what those say of each page is computed once."""

    network: Network
    """The layers above."""
    inputs: NDArray[np.float32]
    """(pages, inputs of these layers)."""
    labels: NDArray[np.int64]

    def losses(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the mean cross-entropy (models, classes) of each class's pages; NaN where a class has none."""
        return losses_by_class((self._logits(vector) for vector in vectors), self.labels, self.network)

    def _logits(self, vector: Vector) -> NDArray[np.float32]:
        first, *others = self.network.split(vector)
        outputs = self.inputs @ first.kernel + first.bias
        for layer in others:
            outputs = np.maximum(outputs, np.float32(0)) @ layer.kernel + layer.bias
        return outputs


def losses_by_class(
    logits: Iterable[NDArray[np.float32]], labels: NDArray[np.int64], network: Network
) -> NDArray[np.float64]:
    """Return the mean cross-entropy (models, classes) of each class's pages, given each model's logits."""
    belongs = np.eye(network.outputs)[labels]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = [(cross_entropy(said, labels) @ belongs) / belongs.sum(axis=0) for said in logits]
    return np.array(found).reshape(-1, network.outputs)


def answers(network: Network, vector: Vector, rows: SparseRows, asked: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the logits (rows asked, classes) of a model for some rows."""
    layers = network.split(vector)
    outputs = np.empty((len(asked), len(layers[0].bias)), np.float32)
    kernels.first_layer(rows.starts, rows.columns, rows.values, asked, layers[0].kernel, layers[0].bias, outputs)
    for layer in layers[1:]:
        outputs = np.maximum(outputs, np.float32(0)) @ layer.kernel + layer.bias
    return outputs


def cross_entropy(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return -log softmax(logits)[label] of each row."""
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels])
