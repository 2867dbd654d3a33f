"""How well a model does on labelled rows."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from eitr.model.examples import checked_labels
from eitr.model.network import Network, Vector
from eitr.model.prediction import log_softmax, logit_batches

if TYPE_CHECKING:
    from eitr.pages.sparse import SparseRows


class Score(NamedTuple):
    """Two numbers about a model and a set of labelled rows."""

    loss: float
    """Mean negative log-likelihood of the true classes."""
    accuracy: float
    """Share of rows whose most probable class is the true one."""


def loss_and_accuracy(network: Network, vector: Vector, rows: "SparseRows", labels: ArrayLike) -> Score:
    """Return the mean loss and the accuracy, without dropout."""
    truth = checked_labels(network, rows, labels)
    loss, right = 0.0, 0
    for start, logits in logit_batches(network, vector, rows):
        expected = truth[start : start + len(logits)]
        likelihood = log_softmax(logits)[np.arange(len(logits)), expected]
        loss -= float(likelihood.sum(dtype=np.float64))
        right += int((logits.argmax(axis=1) == expected).sum())
    return Score(loss / len(rows), right / len(rows))
