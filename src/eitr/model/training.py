"""Local training: stochastic gradient descent with momentum and dropout, on sparse rows, the same everywhere.

`docs/protocol.md` fixes the order of operations, so that a browser that trains on the same rows with
the same seed sends the same vector up to rounding.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.errors import InputError
from eitr.model import kernels
from eitr.model.examples import check_rows, checked_labels
from eitr.model.network import Layer, Network, Vector
from eitr.model.plan import TrainingPlan
from eitr.model.prediction import log_softmax
from eitr.model.random import Stream, check_seed, key_of, permutation

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


class _Run:
    """One call of `train`: the parameters and velocities that its steps change, and a buffer they share."""

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
        self._gradient = np.empty_like(self.vector)
        self._layers = network.split(self.vector)
        self._gradients = network.split(self._gradient)
        self._rows, self._labels = rows, labels
        self._plan, self._seed = plan, seed
        self._steps = 0

    def epoch(self, number: int) -> float:
        """Shuffle, take a step for each batch, and return the mean loss of the batches."""
        size, most = self._plan.batch_size, self._plan.max_batches
        order = permutation(key_of(self._seed, Stream.SHUFFLE, number), len(self._rows), take=size * most)
        losses = [self._step(order[start : start + size]) for start in range(0, len(order), size)]
        return sum(losses) / len(losses)

    def _step(self, batch: NDArray[np.int64]) -> float:
        """Move the parameters by one batch; return its mean loss, dropout included."""
        activations = self._forward(batch)
        loss, errors = _loss(activations.pop(), self._labels[batch])
        self._backward(batch, activations, errors)
        rate, momentum = np.float32(self._plan.learning_rate), np.float32(self._plan.momentum)
        kernels.momentum_step(self.vector, self._velocity, self._gradient, rate, momentum)
        self._steps += 1
        return loss

    def _forward(self, batch: NDArray[np.int64]) -> list[Vector]:
        """Return the activations of each hidden layer, after dropout, and then the logits."""
        rows, first = self._rows, self._layers[0]
        outputs = np.empty((len(batch), len(first.bias)), np.float32)
        kernels.first_layer(rows.starts, rows.columns, rows.values, batch, first.kernel, first.bias, outputs)
        activations = [outputs]
        for depth, layer in enumerate(self._layers[1:]):
            layer_key = key_of(self._seed, Stream.DROPOUT, self._steps, depth)
            kernels.relu_and_dropout(outputs, layer_key, self._plan.dropout_threshold, self._plan.dropout_scale)
            outputs = outputs @ layer.kernel + layer.bias
            activations.append(outputs)
        return activations

    def _backward(self, batch: NDArray[np.int64], hidden: list[Vector], errors: Vector) -> None:
        """Write the gradient of every parameter, from the errors of the logits back to the first layer."""
        for depth in range(len(hidden), 0, -1):
            activation = hidden[depth - 1]
            _write_gradient(self._gradients[depth], activation, errors)
            # A unit is above 0 exactly where it was active and kept, and there it was scaled.
            through = self._plan.dropout_scale * (activation > 0)
            errors = (errors @ self._layers[depth].kernel.T) * through
        rows, first = self._rows, self._gradients[0]
        kernels.first_kernel_gradient(rows.starts, rows.columns, rows.values, batch, errors, first.kernel)
        errors.sum(axis=0, out=first.bias)


def _loss(logits: Vector, labels: NDArray[np.int64]) -> tuple[float, Vector]:
    """Return the mean negative log-likelihood and its gradient by the logits: (softmax - truth) / batch."""
    likelihood = log_softmax(logits)
    samples = np.arange(len(labels))
    errors = np.exp(likelihood)
    errors[samples, labels] -= np.float32(1)
    errors /= np.float32(len(labels))
    return -float(likelihood[samples, labels].mean()), errors


def _write_gradient(gradient: Layer, inputs: Vector, errors: Vector) -> None:
    """Write the gradient of a dense layer that was given `inputs`."""
    np.matmul(inputs.T, errors, out=gradient.kernel)
    errors.sum(axis=0, out=gradient.bias)
