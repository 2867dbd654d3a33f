"""Local training of many clients at once: every client a model of its own, their steps as batched matrix products.

Works on any device torch has. On CUDA, with Triton and the network of the paper, `training_kernels.py` does the same
with a fraction of the memory traffic. Random words, batches and the order of operations are those of the sparse engine,
so that all of them agree up to rounding.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from eitr.model.network import Network
from eitr.model.plan import TrainingPlan
from eitr.model.torch_random import draw

ALIGNMENT = 32
"""A client's parameters begin at a multiple of so many numbers: 128 bytes, which matrix products want."""

FIRST_UNITS = 64
"""Units of the first layer that a program of the Triton kernels owns."""


@dataclass(frozen=True)
class Crowd:
    """All clients of a batch of runs, with what they train on in a round."""

    network: Network
    plan: TrainingPlan
    table: Tensor
    """(rows, padded width) float32: every row that a batch can name, dense."""
    parameters: Tensor
    """(clients, padded size) float32; training changes them in place."""
    rows: Tensor
    """(plans, steps, batch) int32: clients of several rules share a plan."""
    labels: Tensor
    sizes: Tensor
    """(plans, steps) int32."""
    plan_of: Tensor
    """(clients,) int32."""
    steps: list[int]
    """Steps of each client."""
    keys: Tensor
    """(plans,) int64: names the words of dropout."""

    def order(self) -> tuple[Tensor, list[int]]:
        """Return the clients, most steps first, and how many of them still train in each step."""
        order = sorted(range(len(self.steps)), key=lambda client: -self.steps[client])
        most = self.steps[order[0]]
        ending = [0] * (most + 1)
        for steps in self.steps:
            ending[steps] += 1
        active, left = [], len(order)
        for step in range(most):
            left -= ending[step]
            active.append(left)
        return torch.tensor(order, dtype=torch.int32, device=self.parameters.device), active


def padded_size(parameters: int) -> int:
    """Return how far apart the parameters of two clients lie."""
    return -(-parameters // ALIGNMENT) * ALIGNMENT


def train(crowd: Crowd, *, kernels: str = "auto") -> None:
    """Take all steps of a round, in place. `kernels`: "triton", "torch", or "auto" for the faster one that works."""
    if kernels == "triton" or (kernels == "auto" and _suits_triton(crowd)):
        _train_triton(crowd)
    else:
        _train_torch(crowd)


def _suits_triton(crowd: Crowd) -> bool:
    layers = crowd.network.layers
    if crowd.table.device.type != "cuda" or crowd.plan.batch_size != 64 or len(layers) != 4:
        return False
    if layers[1] % FIRST_UNITS or layers[2] not in (16, 32, 64) or layers[3] > 16:
        return False
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def _train_torch(crowd: Crowd) -> None:
    """Take the steps with torch's own operations. Clients that still train are the front of the sorted ones."""
    order, active = crowd.order()
    parameters = crowd.parameters[order]
    velocity = torch.zeros_like(parameters)
    plans = crowd.plan_of[order].long()
    for step, count in enumerate(active):
        _step(crowd, parameters[:count], velocity[:count], plans[:count], step)
    crowd.parameters[order] = parameters


def _step(crowd: Crowd, parameters: Tensor, velocity: Tensor, plans: Tensor, step: int) -> None:
    network, plan = crowd.network, crowd.plan
    sizes = crowd.sizes[plans, step]
    used = torch.arange(crowd.rows.shape[-1], device=plans.device) < sizes[:, None]
    activation = crowd.table[crowd.rows[plans, step].long()][..., : network.inputs]
    layers, hidden = _layers(network, parameters), [activation]
    step_keys = draw(crowd.keys[plans], torch.tensor(step, device=plans.device))
    for depth, (kernel, bias) in enumerate(layers):
        activation = torch.baddbmm(bias[:, None, :], activation, kernel)
        if depth < len(layers) - 1:
            kept = _kept(step_keys, depth, activation.shape, plan.dropout_threshold)
            activation = torch.where(kept & (activation > 0), activation * float(plan.dropout_scale), 0.0)
            hidden.append(activation)
    errors = torch.softmax(activation, dim=-1)
    errors -= torch.nn.functional.one_hot(crowd.labels[plans, step].long(), network.outputs)
    errors = torch.where(used[..., None], errors / sizes[:, None, None], 0.0)
    moves: list[tuple[Tensor, Tensor]] = []
    for depth in range(len(layers) - 1, -1, -1):
        moves.append((hidden[depth].mT @ errors, errors.sum(dim=1)))
        if depth > 0:
            errors = torch.where(hidden[depth] > 0, errors @ layers[depth][0].mT * float(plan.dropout_scale), 0.0)
    for (kernel, bias), (kernel_speed, bias_speed), (by_kernel, by_bias) in zip(
        layers, _layers(network, velocity), reversed(moves), strict=True
    ):
        kernel_speed.mul_(plan.momentum).add_(by_kernel)
        bias_speed.mul_(plan.momentum).add_(by_bias)
        kernel.sub_(kernel_speed, alpha=plan.learning_rate)
        bias.sub_(bias_speed, alpha=plan.learning_rate)


def _layers(network: Network, vectors: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Return the kernels (clients, inputs, outputs) and biases (clients, outputs) as views."""
    result, start = [], 0
    for inputs, outputs in network.shapes:
        middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
        result.append((vectors[:, start:middle].view(-1, inputs, outputs), vectors[:, middle:end]))
        start = end
    return result


def _kept(step_keys: Tensor, depth: int, shape: torch.Size, threshold: int) -> Tensor:
    """Return which units dropout keeps: sample s and unit u of a layer of width w have the word at `s w + u`."""
    keys = draw(step_keys, torch.tensor(depth, device=step_keys.device))
    counter = torch.arange(shape[1] * shape[2], device=step_keys.device).view(1, shape[1], shape[2])
    return draw(keys[:, None, None], counter) >= threshold


def _train_triton(crowd: Crowd) -> None:
    """Take the steps with our kernels: two launches a step, whatever the number of clients."""
    from eitr.lab.simulation.training_kernels import advance, forward_first, head

    order, active = crowd.order()
    width, units, inner, classes = crowd.network.layers
    batch, steps = crowd.rows.shape[-1], crowd.rows.shape[1]
    velocity = torch.zeros_like(crowd.parameters)
    hidden = torch.empty((len(crowd.steps), batch, units), device=order.device)
    keys = _as_int32(crowd.keys)
    threshold, scale = crowd.plan.dropout_threshold, float(crowd.plan.dropout_scale)
    rate, momentum = crowd.plan.learning_rate, crowd.plan.momentum
    shape = {"STRIDE": crowd.parameters.shape[1], "WIDTH": width, "UNITS": units, "BATCH": batch}
    gather = {"TABLE_STRIDE": crowd.table.shape[1], "BLOCK_U": FIRST_UNITS, **shape}
    tiles = units // FIRST_UNITS
    forward_first[(tiles, len(crowd.steps))](
        crowd.parameters, crowd.table, crowd.rows, order, crowd.plan_of, keys, hidden, 0, steps, threshold, scale,
        PRECISION="tf32x3", BLOCK_K=32, num_warps=4, **gather,
    )  # fmt: skip
    for step, count in enumerate(active):
        head[(count,)](
            crowd.parameters, velocity, crowd.labels, crowd.sizes, order, crowd.plan_of, keys, hidden, step, steps,
            threshold, scale, rate, momentum,
            INNER=inner, CLASSES=classes, PADDED=16, BLOCK=64, PRECISION="tf32x3", num_warps=4, **shape,
        )  # fmt: skip
        advance[(tiles, count)](
            crowd.parameters, velocity, crowd.table, crowd.rows, order, crowd.plan_of, keys, hidden, step, steps,
            threshold, scale, rate, momentum,
            GRADIENT_PRECISION="tf32x3", FORWARD_PRECISION="tf32x3", BLOCK_K=32, num_warps=4, **gather,
        )  # fmt: skip


def _as_int32(words: Tensor) -> Tensor:
    """Return 32-bit words in a signed tensor of 32 bits, bit for bit."""
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32)
