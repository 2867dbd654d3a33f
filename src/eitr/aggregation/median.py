"""The coordinate-wise median."""

from dataclasses import dataclass
from typing import ClassVar

from eitr.aggregation.interface import Result, Round, Rule, uniform
from eitr.aggregation.rule_state import RuleState
from eitr.robust.column_blocks import joined
from eitr.robust.order_statistics import weighted_median


@dataclass(frozen=True, kw_only=True)
class Median(Rule):
    """w_n = median_i w_{i,n}; of an even number the mean of the two middle values. With a ramp, the weighted median.

    >>> import numpy as np
    >>> updates = np.array([[1.0, 7.0], [2.0, 8.0], [1000.0, -9.0]], dtype=np.float32)
    >>> rule = Median()
    >>> _, result = rule.update(rule.init(), Round(None, updates, ["a", "b", "c"]))
    >>> result.model.tolist()
    [2.0, 7.0]

    Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates", ICML 2018.
    """

    name: ClassVar[str] = "median"
    summary: ClassVar[str] = "median of each parameter"

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        weights = self.ramped(state, round, uniform(round))
        return state, Result(joined(round.blocks.run(weighted_median, round.order, weights)), weights)
