"""Bulyan: Krum chooses updates one by one, then each parameter keeps the values near its median."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.attacker_count import AttackerCountRule
from eitr.aggregation.interface import Floats, Result, Round
from eitr.aggregation.rule_state import RuleState
from eitr.robust.column_blocks import joined
from eitr.robust.gram import HAIR, gram_of_steps, squared_distances
from eitr.robust.near_median import mean_near_median


@dataclass(frozen=True, kw_only=True)
class Bulyan(AttackerCountRule):
    """w_n = mean of the M - 4 f values nearest to the median of parameter n among M - 2 f chosen updates.

    Krum chooses them one after the other, each time among those that are left: m of them, of which a score sums the
    distances to the m - f - 2 nearest, at least to one. Defined for M >= 4 f + 3, and for f = 0, when it is the mean.

    >>> base = np.zeros(1, dtype=np.float32)
    >>> updates = np.array([[1], [2], [3], [4], [5], [6], [90]], dtype=np.float32)
    >>> rule = Bulyan(attackers=1)
    >>> _, result = rule.update(rule.init(), Round(base, updates, list("abcdefg")))
    >>> result.model.tolist(), result.weights.tolist()
    ([3.0], [0.2, 0.2, 0.2, 0.2, 0.2, 0.0, 0.0])

    El Mhamdi, Guerraoui and Rouault, "The Hidden Vulnerability of Distributed Learning in Byzantium", ICML 2018.
    """

    name: ClassVar[str] = "bulyan"
    summary: ClassVar[str] = "values near the median among updates that Krum chose"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})

    @classmethod
    def fewest(cls, attackers: int) -> int:
        """Return 4 f + 3: enough for f attackers among the chosen to be outnumbered in every parameter."""
        return 4 * attackers + 3

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        base = round.need("base")
        chosen = round.order[self.chosen(gram_of_steps(round.updates, base, round.order))]
        shares = np.zeros(len(round.ids))
        shares[chosen] = 1
        weights = self.ramped(state, round, shares)
        count = len(chosen) - 2 * self.attackers
        return state, Result(joined(round.blocks.run(mean_near_median, chosen, weights, count)), weights)

    def chosen(self, gram: Floats) -> NDArray[np.int64]:
        """Return the M - 2 f clients that Krum chooses, in ascending order."""
        size = len(gram)
        if self.attackers == 0:
            return np.arange(size)
        distances = squared_distances(gram)
        np.fill_diagonal(distances, np.inf)  # no client is its own neighbour
        near = np.argsort(distances, axis=1, kind="stable")
        ascending = np.take_along_axis(distances, near, axis=1)
        hair = HAIR * size * float(np.diag(gram).max())
        left = np.ones(size, dtype=bool)
        for there in range(size, 2 * self.attackers, -1):
            neighbour = left[near]
            neighbour &= np.cumsum(neighbour, axis=1) <= max(1, there - self.attackers - 2)
            scores = np.where(left, np.where(neighbour, ascending, 0).sum(axis=1), np.inf)
            left[np.argmax(scores <= scores.min() + hair)] = False  # the first of equals
        return np.flatnonzero(~left)
