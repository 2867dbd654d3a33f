"""Residual-based re-weighting, the method the paper's detection builds on."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.interface import Floats, Result, Round, Rule, uniform
from eitr.aggregation.rule_state import RuleState
from eitr.robust.column_blocks import joined
from eitr.robust.combination import weighted_mean
from eitr.robust.reweighting import mean_within_range, restrict
from eitr.settings import setting


@dataclass(frozen=True, kw_only=True)
class Residual(Rule):
    """weight_i ~ (S_i / max S)^2 with S_i = sum_n s_{i,n} std_i(s_{i,n}), s the confidence of a value.

    Values with s < delta are replaced by the fitted line before averaging. All scores zero (everybody agrees) or
    fewer than four clients: the plain mean. The result is kept within the range of the values sent.

    >>> rng = np.random.default_rng(0)
    >>> updates = rng.normal(0, 0.1, (6, 500)).astype(np.float32)
    >>> updates[5] += 3
    >>> rule = Residual()
    >>> _, result = rule.update(rule.init(), Round(None, updates, list("abcdef")))
    >>> result.weights.round(2).tolist()
    [0.2, 0.2, 0.2, 0.2, 0.2, 0.0]

    Fu et al., "Attack-Resistant Federated Learning with Residual-based Reweighting", 2019 (arXiv 1912.11464).
    """

    name: ClassVar[str] = "residual"
    summary: ClassVar[str] = "weights from residuals of repeated-median lines"

    delta: float = setting(0.1, "confidence below which a value is replaced by the line", above=0.0, below=1.0)
    lambda_: float = setting(2.0, "width of the confidence interval", above=0.0)

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        if len(round.ids) < 4:
            weights = self.ramped(state, round, uniform(round))
            return state, Result(weighted_mean(round.updates, round.order, weights), weights)
        pieces, restricted = round.blocks.keep(restrict, round.order, delta=self.delta, lambda_=self.lambda_)
        weights = self.ramped(state, round, _squared(joined(pieces).sum(axis=0)))
        model = joined(round.blocks.run(mean_within_range, restricted, round.order, weights))
        return state, Result(model, weights)


def _squared(scores: Floats) -> Floats:
    """Return the scores divided by the largest and squared; equal ones when there is none."""
    largest = scores.max()
    return (scores / largest) ** 2 if largest > 0 else np.ones_like(scores)
