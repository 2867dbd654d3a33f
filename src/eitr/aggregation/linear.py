"""Rules whose new model is a combination of the steps, with coefficients from the steps' inner products alone."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Floats, Result, Round, Rule, uniform
from eitr.aggregation.rule_state import RuleState
from eitr.robust.combination import weighted_mean
from eitr.robust.gram import HAIR, gram_of_steps
from eitr.robust.tiles import Updates


@dataclass(frozen=True, kw_only=True)
class LinearRule(Rule):
    """w = base + sum_i c_i g_i, with steps g_i = w_i - base and c = coefficients(G), G_ij = <g_i, g_j>.

    A rule of this kind decides in `coefficients`, once, for the processor and for many runs on a GPU alike. With a
    ramp, newcomers get less of sum_i c_i, and the others more.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"base"})

    @abstractmethod
    def coefficients(self, gram: Floats) -> Floats:
        """Return what each client's step is multiplied by, (clients,), none below 0; clients as in `gram`."""

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        base = round.need("base")
        return state, self._combined(state, round, base, gram_of_steps(round.updates, base, round.order))

    def _combined(self, state: RuleState, round: Round, base: NDArray[Any], gram: Floats) -> Result:
        """Return the result for inner products of clients in `round.order`."""
        ordered = self.coefficients(gram)
        total = float(ordered.sum())
        shares = uniform(round)
        if total > 0:
            shares[round.order] = ordered
        weights = self.ramped(state, round, shares)
        return Result(moved(base, weighted_mean(round.updates, round.order, weights), total), weights)


def moved(base: NDArray[Any], mean: Updates, total: float) -> Updates:
    """Return base + total (mean - base), in the type of `mean`; `mean` itself where the total is 1 but for rounding.

    >>> moved(np.array([1.0]), np.array([5.0]), 0.5).tolist()
    [3.0]
    """
    if abs(total - 1) <= HAIR:
        return mean
    start = base.astype(np.float64)
    model = start + total * (mean - start)
    return model.astype(np.float32) if mean.dtype == np.float32 else model
