"""Pages of known class that an operator trusts: how well does a model know each class?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        belongs = np.eye(self.network.outputs)[self.labels]
        counts = belongs.sum(axis=0)
        everything = np.arange(len(self.labels), dtype=np.int64)
        found = np.empty((len(vectors), self.network.outputs))
        for row, vector in enumerate(vectors):
            loss = cross_entropy(self.logits(vector, everything), self.labels)
            with np.errstate(invalid="ignore", divide="ignore"):
                found[row] = (loss @ belongs) / counts
        return found

    def logits(self, vector: Vector, asked: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the logits of a model for some of the rows."""
        return answers(self.network, vector, self.rows, asked)


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
