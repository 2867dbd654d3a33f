"""Compute runs on drawn updates with the real rule: its detection, its reputation and its weights."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from eitr.aggregation.interface import Round, Rule
from eitr.compiled import JIT
from eitr.errors import InputError
from eitr.lab.results.store import Arrays
from eitr.lab.runs.synthetic import SyntheticRun
from eitr.lab.simulation.context import Context


def compute(run: SyntheticRun, context: Context) -> Arrays:
    """Compute a run: `reputation`, `negative` and `attacking` (rounds, clients), `attacker` (clients,).

    `attacker` is the number of a client's schedule, -1 for the honest ones.
    """
    rng = np.random.default_rng([run.seed, run.parameters, run.clients])
    attacker = np.full(run.clients, -1)
    attacker[rng.permutation(run.clients)[: len(run.schedules)]] = np.arange(len(run.schedules))
    mean = rng.standard_normal(run.parameters, dtype=np.float32) * np.float32(run.noise)
    poison = _poison(run, rng)
    aggregate = aggregation(run.rule, run.clients, run.parameters, context.device)
    record: Arrays = {
        "reputation": np.empty((run.rounds, run.clients), np.float32),
        "negative": np.empty((run.rounds, run.clients), np.int64),
        "attacking": np.zeros((run.rounds, run.clients), np.bool_),
        "attacker": attacker,
    }
    updates = np.empty((run.clients, run.parameters), np.float32)
    base = mean
    for index in range(run.rounds):
        rng.standard_normal(dtype=np.float32, out=updates)
        updates *= np.float32(run.noise)
        updates += mean
        for client in np.flatnonzero(attacker >= 0):
            if run.schedules[attacker[client]].active(index + 1):
                updates[client] += poison
                record["attacking"][index, client] = True
        step = aggregate(base, updates)
        base = step.model
        record["reputation"][index], record["negative"][index] = step.reputation, step.negative
        context.on_progress(run, index + 1, run.rounds, float("nan"))
    return record


def _poison(run: SyntheticRun, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return what an attack adds: (parameters,), zero except at the chosen ones."""
    poison = np.zeros(run.parameters, np.float32)
    chosen = rng.permutation(run.parameters)[: run.shifted]
    poison[chosen] = run.shift * run.noise * rng.choice([-1.0, 1.0], run.shifted)
    return poison


class Step(NamedTuple):
    """What a reputation rule says about a round."""

    model: NDArray[Any]
    weights: NDArray[np.float64]
    negative: NDArray[np.int64]
    reputation: NDArray[np.float64]


Aggregation = Callable[[NDArray[Any], NDArray[Any]], Step]
"""Given the global parameters (parameters,) and the updates (clients, parameters), the round's result; it remembers."""


def aggregation(rule: Rule, clients: int, parameters: int, device: torch.device) -> Aggregation:
    """Return a reputation rule before its first round: compiled on a CPU with numba, else batched in torch."""
    if rule.name != "reputation":
        raise InputError(f"this run watches reputations, which the rule {rule.name!r} does not have")
    if device.type == "cpu" and JIT:
        return _compiled(rule, clients)
    return _batched(rule, clients, parameters, device)


def _compiled(rule: Rule, clients: int) -> Aggregation:
    state = rule.init()
    ids = [f"{number:06d}" for number in range(clients)]

    def aggregate(base: NDArray[Any], updates: NDArray[Any]) -> Step:
        nonlocal state
        state, result = rule.update(state, Round(base, updates, ids))
        assert result.weights is not None and result.negative is not None and result.reputation is not None  # noqa: PT018
        return Step(result.model, result.weights, result.negative, result.reputation)

    return aggregate


def _batched(rule: Rule, clients: int, parameters: int, device: torch.device) -> Aggregation:
    from eitr.lab.aggregation import batched

    many = batched([rule], clients, parameters, device)
    counts = torch.ones((1, clients), dtype=torch.float64, device=device)

    def aggregate(base: NDArray[Any], updates: NDArray[Any]) -> Step:
        start = torch.as_tensor(base, dtype=torch.float32, device=device)[None]
        sent = torch.as_tensor(updates, dtype=torch.float32, device=device)[None].contiguous()
        outcome = many.aggregate(start, sent, counts, None)
        assert outcome.negative is not None and outcome.reputation is not None  # noqa: PT018
        parts = (outcome.models, outcome.weights, outcome.negative, outcome.reputation)
        model, weights, negative, reputation = (part[0].cpu().numpy() for part in parts)
        return Step(model.astype(updates.dtype), weights, negative, reputation)

    return aggregate
