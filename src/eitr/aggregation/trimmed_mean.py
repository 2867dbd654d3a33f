"""The coordinate-wise trimmed mean."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.interface import Result, Round, Rule, uniform
from eitr.aggregation.rule_state import RuleState
from eitr.robust.column_blocks import joined
from eitr.robust.order_statistics import trimmed_mean
from eitr.settings import setting


@dataclass(frozen=True, kw_only=True)
class TrimmedMean(Rule):
    """w_n = mean of w_{i,n} without the floor(beta M) smallest and the floor(beta M) largest.

    beta should be the share of attackers; the lab passes the true one, 0.2 is a guess for where nobody knows.

    >>> updates = np.array([[1.0], [2.0], [3.0], [4.0], [1000.0]], dtype=np.float32)
    >>> rule = TrimmedMean(beta=0.2)
    >>> _, result = rule.update(rule.init(), Round(None, updates, ["a", "b", "c", "d", "e"]))
    >>> result.model.tolist()
    [3.0]

    Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates", ICML 2018.
    """

    name: ClassVar[str] = "trimmed-mean"
    summary: ClassVar[str] = "mean of each parameter without its extremes"

    beta: float = setting(0.2, "share of the clients dropped on each side", least=0.0, below=0.5)

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        weights = self.ramped(state, round, uniform(round))
        # 0.3 * 10 is 2.9999999999999996: the share is meant in decimals.
        drop = min(int(np.floor(self.beta * len(round.ids) + 1e-9)), (len(round.ids) - 1) // 2)
        return state, Result(joined(round.blocks.run(trimmed_mean, round.order, weights, drop)), weights)
