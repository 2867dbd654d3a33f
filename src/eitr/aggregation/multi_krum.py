"""Multi-Krum: the mean of the updates that have the nearest neighbours."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.attacker_count import AttackerCountRule
from eitr.aggregation.interface import Floats
from eitr.aggregation.linear import LinearRule
from eitr.robust.gram import HAIR, ranked, squared_distances


@dataclass(frozen=True, kw_only=True)
class MultiKrum(AttackerCountRule, LinearRule):
    """w = mean of the M - f updates of least score; score_i = sum of |w_i - w_j|^2 over the M - f - 2 nearest j.

    Defined for M >= 2 f + 3, and for f = 0, when it is the plain mean. How many updates are averaged is open in the
    publication; M - f is the most that leaves out f attackers.

    >>> from eitr.aggregation import Round
    >>> base, updates = np.zeros(1, dtype=np.float32), np.array([[1], [2], [3], [4], [90]], dtype=np.float32)
    >>> rule = MultiKrum(attackers=1)
    >>> _, result = rule.update(rule.init(), Round(base, updates, ["a", "b", "c", "d", "e"]))
    >>> result.model.tolist(), result.weights.tolist()
    ([2.5], [0.25, 0.25, 0.25, 0.25, 0.0])

    Blanchard et al., "Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent", NeurIPS 2017.
    """

    name: ClassVar[str] = "multi-krum"
    summary: ClassVar[str] = "mean of the updates whose neighbours are nearest"

    @classmethod
    def fewest(cls, attackers: int) -> int:
        """Return 2 f + 3: each honest client then has more honest neighbours than there are attackers."""
        return 2 * attackers + 3

    def coefficients(self, gram: Floats) -> Floats:
        """Return 1 / (M - f) for those of least score, 0 for the others."""
        kept = len(gram) - self.attackers
        shares = np.zeros(len(gram))
        shares[self._by_score(gram)[:kept]] = 1 / kept
        return shares

    def _by_score(self, gram: Floats) -> NDArray[np.int64]:
        """Return the clients in ascending order of their scores."""
        distances = squared_distances(gram)
        np.fill_diagonal(distances, np.inf)  # no client is its own neighbour
        neighbours = max(len(gram) - self.attackers - 2, 0)
        scores = np.sort(distances, axis=1)[:, :neighbours].sum(axis=1)
        return ranked(scores, HAIR * len(gram) * float(np.diag(gram).max()))
