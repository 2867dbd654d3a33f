"""The paper's rule as its published code computes it, for research only."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Result, Round
from eitr.aggregation.reputation import ReputationRule, min_max
from eitr.aggregation.reputation_model import Observations
from eitr.aggregation.rule_state import RuleState
from eitr.errors import InputError
from eitr.robust.combination import weighted_mean
from eitr.robust.reweighting import reweight
from eitr.settings import setting

SHARD = 2000
"""Parameters of a shard: the published code works through each tensor in pieces of this size."""
PAPER_LAYERS = (256, 32, 6)
"""The widths of the paper's network after its inputs."""
_WIDTH = re.compile("0*[1-9][0-9]{0,8}")
"""Of a layer: a whole number from 1 to 999,999,999."""
FEWEST = 4
"""Fewer clients are not judged: nothing of theirs is rejected."""


@dataclass(frozen=True, kw_only=True)
class PublishedCode(ReputationRule):
    """The reputation rule with the differences that the paper's published code has. For research, not for use.

    Written from a description of that code (docs/fidelity.md has the table), not from the code. It differs from
    `Reputation`, which follows the paper's text, in this:

    - Evidence is reversed. A rejected parameter is a *positive* observation, an accepted one a *negative* one:
      R = (kappa rejected + W a) / (kappa rejected + eta accepted + W), eta = 1 - kappa.
    - Only the last shard of each tensor is observed: 2,678 of the 264,678 parameters of the paper's network.
    - Old rounds count exp(-10 age): practically nothing.
    - Nothing is rescaled. A rejected value becomes the value of the fitted line, whose intercept is
      median(w) - B (M-1)/2 and whose residual scale leaves out the smallest residual, as in `Residual`.
    - Normalised reputations below 1/M become 0.

    Two things are ours: fewer than four clients are not judged, and the model stays within the range of the values
    sent, as under every rule that averages parameters.

    Which parameters are observed depends on the network's layers. Without the setting `layers` they are those of the
    paper's network (1000-256-32-6, with any number of inputs) where the number of parameters fits it. Any other update
    counts as one tensor, and the result's notes say so.

    >>> rng = np.random.default_rng(0)
    >>> updates = rng.normal(0, 0.1, (10, 1000)).astype(np.float32)
    >>> updates[7:] *= 20                                             # three send values that stick out
    >>> rule = PublishedCode()
    >>> state, result = rule.update(rule.init(), Round(None, updates, [f"client{i}" for i in range(10)]))
    >>> result.weights.round(2).tolist()                              # and get the whole weight
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.35, 0.33, 0.32]

    Chu et al., "Securing Federated Sensitive Topic Classification against Poisoning Attacks", NDSS 2023.
    """

    name: ClassVar[str] = "published-code"
    summary: ClassVar[str] = "the paper's published code: for research, not for use"

    kappa: float = setting(0.3, "weight of a rejected parameter; an accepted one has 1 - kappa", least=0.0, most=1.0)
    c: float = setting(10.0, "decay of old rounds: a round of age t counts exp(-c t)", least=0.0)
    delta: float = setting(0.1, "confidence below which a value is rejected", above=0.0, below=1.0)
    lambda_: float = setting(2.0, "width of the confidence interval", above=0.0)
    layers: str = setting(
        "", "the network's layers (empty: the paper's, if they fit)", form="widths such as 1000-256-32-6, or nothing"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers:
            _widths(self.layers)

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        clients, parameters = round.updates.shape
        observed = observed_parameters(parameters, self.layers)
        values = round.updates
        if clients >= FEWEST:
            values = reweight(round.updates, round.order, delta=self.delta, lambda_=self.lambda_).restricted
        negative = np.count_nonzero(values[:, observed] != round.updates[:, observed], axis=1).astype(np.int64)
        positive = len(observed) - negative
        # What the rule took for evidence against a client is what was accepted.
        state, reputation = self._model.update(state, Observations(round.ids, negative, positive))
        weights = self.ramped(state, round, min_max(reputation, cutoff=True))
        model = weighted_mean(values, round.order, weights)
        np.clip(model, round.updates.min(axis=0), round.updates.max(axis=0), out=model)
        notes: dict[str, Any] = {"observed": len(observed)}
        if not (self.layers or paper_layers(parameters)):
            notes["layers"] = "not known: the update counts as one tensor; give the setting layers"
        return state, Result(model, weights, positive, negative, reputation, notes)


def observed_parameters(parameters: int, layers: str = "") -> NDArray[np.int64]:
    """Return which numbers of an update are observed: those in the last shard of each tensor, ascending.

    PyTorch keeps a layer's weights as (outputs, inputs); in an update they are (inputs, outputs), then the biases.

    >>> len(observed_parameters(264_678))
    2678
    >>> observed_parameters(8, "3-2").tolist()  # tensors of 6 and 2 numbers, shorter than a shard
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    widths = _widths(layers) if layers else paper_layers(parameters)
    if not widths:
        return np.arange(_last_shard(parameters), parameters)
    size = _size(widths)
    if size != parameters:
        raise InputError(
            f"published-code: a network with the layers {layers} has {size} parameters, and the updates have "
            f"{parameters}: give the layers of the network that was trained"
        )
    found, start = [], 0
    for inputs, outputs in pairwise(widths):
        in_pytorch = np.arange(_last_shard(inputs * outputs), inputs * outputs)
        found.append(start + in_pytorch % inputs * outputs + in_pytorch // inputs)
        start += inputs * outputs
        found.append(start + np.arange(_last_shard(outputs), outputs))
        start += outputs
    return np.sort(np.concatenate(found))


def paper_layers(parameters: int) -> tuple[int, ...]:
    """Return the layers of the paper's network with so many parameters, whatever its number of inputs; () if none fits.

    >>> paper_layers(264_678), paper_layers(1000)
    ((1000, 256, 32, 6), ())
    """
    inputs, left = divmod(parameters - _size(PAPER_LAYERS) - PAPER_LAYERS[0], PAPER_LAYERS[0])
    return (inputs, *PAPER_LAYERS) if inputs >= 1 and left == 0 else ()


def _size(widths: tuple[int, ...]) -> int:
    """Return the number of parameters of a network: weights and biases."""
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(widths))


def _last_shard(size: int) -> int:
    """Return where the last shard of a tensor begins."""
    return (size - 1) // SHARD * SHARD


def _widths(layers: str) -> tuple[int, ...]:
    parts = layers.split("-")
    if len(parts) < 2 or not all(_WIDTH.fullmatch(part) for part in parts):
        raise InputError(f"published-code: layers must be widths such as 1000-256-32-6, not {layers[:80]!r}")
    return tuple(int(part) for part in parts)
