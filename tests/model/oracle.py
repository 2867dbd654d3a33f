"""Training the plain way in PyTorch: dense rows, autograd, torch's own optimiser; only the draws are ours."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from eitr.model import Network, TrainingPlan, Vector
from eitr.model.random import Stream, key_of, permutation, words
from eitr.pages.sparse import SparseRows

torch = pytest.importorskip("torch", reason="torch is the oracle of training; install eitr[lab]")


def torch_train(
    network: Network, vector: Vector, rows: SparseRows, labels: ArrayLike, plan: TrainingPlan, seed: int
) -> Vector:
    parameters = []
    for layer in network.split(vector.copy()):
        parameters += [
            torch.tensor(layer.kernel, requires_grad=True),
            torch.tensor(layer.bias, requires_grad=True),
        ]
    optimiser = torch.optim.SGD(parameters, lr=plan.learning_rate, momentum=plan.momentum)
    inputs, truth = torch.tensor(rows.dense()), torch.tensor(np.asarray(labels), dtype=torch.int64)
    step = 0
    for epoch in range(plan.epochs):
        order = permutation(key_of(seed, Stream.SHUFFLE, epoch), len(rows))
        for batch in np.split(order, range(plan.batch_size, len(order), plan.batch_size))[: plan.max_batches]:
            optimiser.zero_grad()
            activation = inputs[batch]
            for depth in range(len(parameters) // 2):
                activation = activation @ parameters[2 * depth] + parameters[2 * depth + 1]
                if depth < len(parameters) // 2 - 1:
                    activation = torch.relu(activation) * _mask(seed, step, depth, activation.shape, plan.dropout)
            likelihood = torch.log_softmax(activation, dim=1)
            torch.nn.functional.nll_loss(likelihood, truth[batch]).backward()
            optimiser.step()
            step += 1
    return np.concatenate([parameter.detach().numpy().ravel() for parameter in parameters])


def _mask(seed: int, step: int, layer: int, shape: tuple[int, int], rate: float) -> Any:
    drawn = words(key_of(seed, Stream.DROPOUT, step, layer), shape[0] * shape[1])
    kept = drawn.reshape(shape) >= rate * 2**32
    return torch.tensor(kept / (1 - rate), dtype=torch.float32)
