"""FoundationFL: copies of the update farthest from all extremes are added, then extremes are trimmed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.attacker_count import AttackerCountRule
from eitr.aggregation.interface import Floats, Result, Round
from eitr.aggregation.rule_state import RuleState
from eitr.robust.detection import Order
from eitr.robust.gram import HAIR
from eitr.robust.order_statistics import trimmed_mean
from eitr.robust.tiles import Updates
from eitr.settings import setting

_NUMBERS = 1 << 18
"""How many numbers are compared with the extremes at a time: they stay in the cache."""


@dataclass(frozen=True, kw_only=True)
class FoundationFL(AttackerCountRule):
    """w_n = mean without the f smallest and f largest of all w_{i,n} and of ceil(synthetic M) copies of w_{s,n}.

        s = argmax_i min(|w_i - top|, |w_i - bottom|)      top, bottom: the largest and smallest value of each parameter

    Defined for M > 2 f, as is the trimmed mean it is built on. The number of copies, a setting of the publication, is
    written here as a share of the clients.

    >>> updates = np.array([[1], [2], [4], [90]], dtype=np.float32)
    >>> rule = FoundationFL(attackers=1)
    >>> _, result = rule.update(rule.init(), Round(None, updates, ["a", "b", "c", "d"]))
    >>> result.model.tolist(), result.weights.round(3).tolist()
    ([3.5], [0.167, 0.167, 0.5, 0.167])

    Fang et al., "Do We Really Need to Design New Byzantine-robust Aggregation Rules?", NDSS 2025.
    """

    name: ClassVar[str] = "foundation-fl"
    summary: ClassVar[str] = "trimmed mean with copies of the update farthest from all extremes"

    synthetic: float = setting(0.5, "copies added, for each client", least=0.0, most=10.0)

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        farthest = farthest_of(_reaches(round.updates, round.order))
        order = np.concatenate([round.order, np.repeat(round.order[farthest], self.copies(len(round.ids)))])
        shares = np.bincount(order, minlength=len(round.ids)).astype(np.float64)
        weights = self.ramped(state, round, shares)
        return state, Result(trimmed_mean(round.updates, order, weights / shares, self.attackers), weights)

    def copies(self, clients: int) -> int:
        """Return how many copies are added."""
        # 0.1 * 30 is 3.0000000000000004: the share is meant in decimals.
        return int(np.ceil(self.synthetic * clients - 1e-9))


def farthest_of(reaches: Floats) -> int:
    """Return the client that keeps farthest from top and bottom, of equals the first.

    `reaches` (2, clients): squared distances to top and to bottom.
    """
    nearest = reaches.min(axis=0)
    return int(np.argmax(nearest >= nearest.max() * (1 - HAIR)))


def _reaches(updates: Updates, order: Order) -> Floats:
    """Return the squared distances (2, clients) to the largest and to the smallest values, clients in the order."""
    reaches = np.zeros((2, len(order)))
    width = max(256, _NUMBERS // len(order))
    for start in range(0, updates.shape[1], width):
        block = updates[order, start : start + width].astype(np.float64)
        for side, extreme in enumerate((block.max(axis=0), block.min(axis=0))):
            away = block - extreme
            reaches[side] += np.einsum("ij,ij->i", away, away)
    return reaches
