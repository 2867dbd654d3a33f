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
from eitr.model.random import Stream, check_seed, key_of, permutation, sorted_order

if TYPE_CHECKING:
    from eitr.pages.sparse import SparseRows

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
) -> Vector:
    """Return new parameters after `plan.epochs` passes over the rows; the inputs stay as they are."""
    network.check(vector)
    check_rows(network, rows)
    check_seed(seed)
    run = _Run(network, vector, rows, checked_labels(network, rows, labels), plan, seed)
    for epoch in range(plan.epochs):
        with np.errstate(over="ignore", invalid="ignore"):
            loss = run.epoch(epoch)
        if not np.isfinite(run.vector).all():
            raise InputError(f"training diverged in epoch {epoch + 1}: try a smaller learning rate")
        if progress is not None:
            progress(epoch + 1, loss)
    return run.vector


def train_as_in_lab(
    network: Network, vector: Vector, rows: "SparseRows", labels: ArrayLike, plan: TrainingPlan, seed: int
) -> Vector:
    """Return new parameters after `plan.epochs` passes, to the byte those of a client of the lab with this seed.

    The lab shuffles by sorting random words, and takes all steps of all epochs in one call, which rounds differently.
    """
    network.check(vector)
    check_rows(network, rows)
    check_seed(seed)
    checked = checked_labels(network, rows, labels)
    keys = (key_of(seed, Stream.SHUFFLE, epoch) for epoch in range(plan.epochs))
    orders = [sorted_order(key, len(rows), plan.batch_size * plan.max_batches) for key in keys]
    batches, sizes = (np.concatenate(parts) for parts in zip(*(_batches(order, plan) for order in orders), strict=True))
    result = vector.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        _take_steps(result, np.zeros_like(result), network, rows, checked, batches, sizes, plan, seed, 0)
    if not np.isfinite(result).all():
        raise InputError("training diverged: try a smaller learning rate")
    return result


def _batches(order: NDArray[np.int64], plan: TrainingPlan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an epoch's rows, (steps, places), and how many places of each step are in use."""
    size = plan.batch_size
    steps = -(-len(order) // size)
    sizes = np.full(steps, size, np.int64)
    sizes[-1] = len(order) - (steps - 1) * size
    batches = np.zeros((steps, size), np.int64)
    batches.reshape(-1)[: len(order)] = order
    return batches, sizes


def _take_steps(
    vector: Vector,
    velocity: Vector,
    network: Network,
    rows: "SparseRows",
    labels: NDArray[np.int64],
    batches: NDArray[np.int64],
    sizes: NDArray[np.int64],
    plan: TrainingPlan,
    seed: int,
    first_step: int,
) -> float:
    """Take one step for each batch, in place; return the mean loss of the batches."""
    return kernels.take_steps(
        vector,
        velocity,
        np.array(network.layers, np.int64),
        rows.starts,
        rows.columns,
        rows.values,
        batches,
        labels[batches],
        sizes,
        key_of(seed, Stream.DROPOUT),
        first_step,
        plan.dropout_threshold,
        plan.dropout_scale,
        np.float32(plan.learning_rate),
        np.float32(plan.momentum),
    )


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
    ) -> None:
        self.vector = vector.copy()
        self._velocity = np.zeros_like(self.vector)
        self._network, self._rows, self._labels = network, rows, labels
        self._plan, self._seed = plan, seed
        self._steps = 0

    def epoch(self, number: int) -> float:
        """Shuffle, take a step for each batch, and return the mean loss of the batches."""
        most = self._plan.batch_size * self._plan.max_batches
        order = permutation(key_of(self._seed, Stream.SHUFFLE, number), len(self._rows), take=most)
        batches, sizes = _batches(order, self._plan)
        loss = _take_steps(
            *(self.vector, self._velocity, self._network, self._rows, self._labels),
            *(batches, sizes, self._plan, self._seed, self._steps),
        )
        self._steps += len(sizes)
        return loss
