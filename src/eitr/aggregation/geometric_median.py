"""The geometric median: the model with the least sum of distances to the updates."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.interface import Floats
from eitr.aggregation.linear import LinearRule
from eitr.robust.gram import HAIR, squared_distances
from eitr.settings import setting

_SETTLED = 1e-12
"""Coefficients that move by less have arrived."""


@dataclass(frozen=True, kw_only=True)
class GeometricMedian(LinearRule):
    """w = argmin_v sum_i |v - w_i|, by the smoothed Weiszfeld iteration from the mean:

        v <- sum_i b_i w_i / sum_i b_i,      b_i = 1 / max(nu, |v - w_i|)

    Known as RFA. The publication stops after three iterations, each of which costs its clients a secure sum, and weighs
    clients by their sample counts; here iterations are free, so we go on until nothing moves, and no client's claim
    about its counts is believed.

    >>> from eitr.aggregation import Round
    >>> base, updates = np.zeros(2, dtype=np.float32), np.array([[0, 0], [0, 2], [2, 0], [90, 90]], dtype=np.float32)
    >>> rule = GeometricMedian()
    >>> _, result = rule.update(rule.init(), Round(base, updates, ["a", "b", "c", "d"]))
    >>> result.model.round(3).tolist()
    [1.0, 1.0]

    Pillutla et al., "Robust Aggregation for Federated Learning", IEEE Transactions on Signal Processing 70, 2022.
    """

    name: ClassVar[str] = "geometric-median"
    summary: ClassVar[str] = "the model with the least sum of distances to the updates (RFA)"

    nu: float = setting(1e-6, "distances below count as this: keeps weights finite", above=0.0)
    iterations: int = setting(100, "most iterations of Weiszfeld", least=1, most=100_000)

    def coefficients(self, gram: Floats) -> Floats:
        """Return the barycentric coordinates of the median: they sum to 1."""
        distances = squared_distances(gram)
        shares = np.full(len(gram), 1 / len(gram))
        least = max(self.nu**2, HAIR * float(np.diag(gram).max()))  # shorter distances are rounding
        for _ in range(self.iterations):
            across = distances @ shares
            squares = across - 0.5 * (shares @ across)  # |v - g_i|^2, as the shares sum to 1
            pull = 1 / np.sqrt(np.maximum(squares, least))
            before, shares = shares, pull / pull.sum()
            if np.abs(shares - before).max() < _SETTLED:
                break
        return shares
