"""Divide-and-Conquer: clients that stand out along the direction of greatest variance are left out."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.attacker_count import AttackerCountRule
from eitr.aggregation.interface import Floats
from eitr.aggregation.linear import LinearRule
from eitr.robust.gram import HAIR, ranked, squared_distances
from eitr.settings import setting

_EQUAL = 1e-9
"""Scores, and variances, that differ by less than this share of the largest are equal."""


@dataclass(frozen=True, kw_only=True)
class DivideAndConquer(AttackerCountRule, LinearRule):
    """w = mean of all but the floor(filter f) clients with the largest <g_i - mean, v>^2.

    v is the first principal direction of the steps g. The publication finds it on random subsets of the parameters,
    several times, to save time; from inner products it is exact at once, and one pass is enough. Where several
    directions share the greatest variance, the projection is the one on all of them.

    >>> from eitr.aggregation import Round
    >>> base, updates = np.zeros(2), np.array([[1.0, 0.0], [2.0, 1.5], [3.0, 0.0], [60.0, 70.0]])
    >>> rule = DivideAndConquer(attackers=1)
    >>> _, result = rule.update(rule.init(), Round(base, updates, ["a", "b", "c", "d"]))
    >>> result.model.round(3).tolist(), result.weights.round(3).tolist()
    ([2.0, 0.5], [0.333, 0.333, 0.333, 0.0])

    Shejwalkar and Houmansadr, "Manipulating the Byzantine", NDSS 2021.
    """

    name: ClassVar[str] = "dnc"
    summary: ClassVar[str] = "mean without the clients that stand out along the first principal direction"

    filter: float = setting(1.0, "clients left out, for each attacker", above=0.0, most=2.0)

    def coefficients(self, gram: Floats) -> Floats:
        """Return equal shares for those who do not stand out, 0 for the others."""
        dropped = min(int(np.floor(self.filter * self.attackers + 1e-9)), len(gram) - 1)
        shares = np.zeros(len(gram))
        # Centred products from distances, which are 0 for twins: among those who agree, rounding has no direction.
        distances = squared_distances(gram)
        means = distances.mean(axis=0)
        values, vectors = np.linalg.eigh(-0.5 * (distances - means - means[:, None] + means.mean()))
        # Of several directions of the same variance no one is the first: which one a solver names is rounding. The part
        # of a step within all of them together is what does not depend on that.
        # Where the common step is long, the rounding of its products is larger than the share of the largest.
        equal = max(_EQUAL * values[-1], HAIR * len(gram) * float(gram.diagonal().max()))
        first = values >= values[-1] - equal
        scores = values[-1] * (vectors[:, first] ** 2).sum(axis=1)
        kept = ranked(scores, max(_EQUAL * float(scores.max()), equal))[: len(gram) - dropped]
        shares[kept] = 1 / len(kept)
        return shares
