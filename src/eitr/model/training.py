"""Local training: stochastic gradient descent with momentum and dropout, on sparse rows, the same everywhere.

`docs/page-to-prediction.md` fixes the order of operations, so that a browser that trains on the same rows with
the same seed sends the same vector up to rounding.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.errors import InputError
from eitr.model import kernels
from eitr.model.examples import check_rows, checked_labels
from eitr.model.network import Network, Vector
from eitr.model.plan import TrainingPlan
from eitr.model.random import Stream, check_seed, key_of, permutation

if TYPE_CHECKING:
    from eitr.pages.sparse import SparseRows

Shuffle = Callable[[int, int, int], NDArray[np.int64]]
"""Given a key and a number of rows, a random order of them, of which at most so many are needed."""
Progress = Callable[[int, float], None]
"""Called after each epoch with its number, from 1, and the mean loss of its batches."""


def train(
    network: Network,
    vector: Vector,
    rows: "SparseRows",
    labels: ArrayLike,
    plan: TrainingPlan,
    seed: int,
    progress: Progress | None = None,
    shuffle: Shuffle = permutation,
) -> Vector:
    """Return new parameters after `plan.epochs` passes over the rows; the inputs stay as they are.

    With `eitr.model.random.sorted_order` as `shuffle`, the same seed gives what the lab's engines compute, up to
    rounding.
    """
    network.check(vector)
    check_rows(network, rows)
    check_seed(seed)
    run = _Run(network, vector, rows, checked_labels(network, rows, labels), plan, seed, shuffle)
    for epoch in range(plan.epochs):
        with np.errstate(over="ignore", invalid="ignore"):
            loss = run.epoch(epoch)
        if not np.isfinite(run.vector).all():
            raise InputError(f"training diverged in epoch {epoch + 1}: try a smaller learning rate")
        if progress is not None:
            progress(epoch + 1, loss)
    return run.vector


class _Run:
    """One call of `train`: the parameters and velocities that its steps change."""

    def __init__(
        self,
        network: Network,
        vector: Vector,
        rows: "SparseRows",
        labels: NDArray[np.int64],
        plan: TrainingPlan,
        seed: int,
        shuffle: Shuffle,
    ) -> None:
        self.vector = vector.copy()
        self._velocity = np.zeros_like(self.vector)
        self._widths = np.array(network.layers, np.int64)
        self._rows, self._labels = rows, labels
        self._plan, self._seed, self._shuffle = plan, seed, shuffle
        self._steps = 0

    def epoch(self, number: int) -> float:
        """Shuffle, take a step for each batch, and return the mean loss of the batches."""
        size, most = self._plan.batch_size, self._plan.max_batches
        order = self._shuffle(key_of(self._seed, Stream.SHUFFLE, number), len(self._rows), size * most)
        steps = -(-len(order) // size)
        sizes = np.full(steps, size, np.int64)
        sizes[-1] = len(order) - (steps - 1) * size
        batches = np.zeros((steps, size), np.int64)
        batches.reshape(-1)[: len(order)] = order
        loss = kernels.take_steps(
            self.vector,
            self._velocity,
            self._widths,
            self._rows.starts,
            self._rows.columns,
            self._rows.values,
            batches,
            self._labels[batches],
            sizes,
            key_of(self._seed, Stream.DROPOUT),
            self._steps,
            self._plan.dropout_threshold,
            self._plan.dropout_scale,
            np.float32(self._plan.learning_rate),
            np.float32(self._plan.momentum),
        )
        self._steps += steps
        return loss
