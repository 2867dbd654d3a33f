"""Federated averaging: the mean, weighted by what each client says it trained on."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.interface import Floats, Result, Round, Rule, uniform
from eitr.aggregation.rule_state import RuleState
from eitr.robust.combination import weighted_mean

CAP = 5.0
"""A claim counts at most this many times the round's median claim: nobody can check it."""


@dataclass(frozen=True, kw_only=True)
class FedAvg(Rule):
    """w = sum_i (Q_i / Q) w_i, with Q_i the claimed sample count, capped at 5 times the median; uniform without counts.

    >>> updates = np.array([[0.0, 2.0], [3.0, 5.0]], dtype=np.float32)
    >>> rule = FedAvg()
    >>> _, result = rule.update(rule.init(), Round(None, updates, ["a", "b"], counts=np.array([20, 10])))
    >>> result.model.tolist(), result.weights.round(3).tolist()
    ([1.0, 3.0], [0.667, 0.333])

    McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", AISTATS 2017.
    """

    name: ClassVar[str] = "fedavg"
    summary: ClassVar[str] = "mean, weighted by claimed sample counts"

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        weights = self.ramped(state, round, _shares(round))
        return state, Result(weighted_mean(round.updates, round.order, weights), weights)


def _shares(round: Round) -> Floats:
    if round.counts is None or not round.counts.any():
        return uniform(round)
    claims = round.counts / round.counts.max()  # no claim, however absurd, overflows a sum
    capped = np.minimum(claims, CAP * np.median(claims))
    return capped if capped.sum() > 0 else uniform(round)
