"""Nearest-neighbour mixing: every update becomes the mean of its neighbours, then extremes are trimmed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.attacker_count import AttackerCountRule
from eitr.aggregation.interface import Floats, Result, Round, uniform
from eitr.aggregation.rule_state import RuleState
from eitr.robust.gram import HAIR, gram_of_steps, ranked, squared_distances
from eitr.robust.order_statistics import trimmed_mean
from eitr.robust.tiles import Updates

_NUMBERS = 1 << 20
"""How many numbers are mixed at a time, so that no second copy of all updates is made."""


@dataclass(frozen=True, kw_only=True)
class NearestNeighbourMixing(AttackerCountRule):
    """w_n = mean of y_{i,n} without the f smallest and f largest; y_i = mean of the M - f updates nearest to w_i.

    An update is the nearest to itself. Defined for M > 2 f.

    >>> base, updates = np.zeros(1, dtype=np.float32), np.array([[1], [2], [6], [90]], dtype=np.float32)
    >>> rule = NearestNeighbourMixing(attackers=1)
    >>> _, result = rule.update(rule.init(), Round(base, updates, ["a", "b", "c", "d"]))
    >>> result.model.tolist(), result.weights.round(3).tolist()
    ([3.0], [0.25, 0.333, 0.333, 0.083])

    Allouah et al., "Fixing by Mixing: A Recipe for Optimal Byzantine ML under Heterogeneity", AISTATS 2023.
    """

    name: ClassVar[str] = "nnm"
    summary: ClassVar[str] = "trimmed mean of updates that were mixed with their nearest neighbours"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        base, order = round.need("base"), round.order
        shares = self.ramped(state, round, uniform(round))[order]
        mixing = self.mixing(gram_of_steps(round.updates, base, order)) * shares
        mixing /= mixing.sum(axis=1, keepdims=True)
        weights = np.empty(len(order))
        weights[order] = shares @ mixing
        model = np.empty(len(base), dtype=round.updates.dtype)
        width = max(256, _NUMBERS // len(order))
        for start in range(0, len(base), width):
            part = slice(start, start + width)
            mixed = _mixed(round.updates[order, part], mixing)
            model[part] = trimmed_mean(mixed, np.arange(len(order)), shares, self.attackers)
        return state, Result(model, weights)

    def mixing(self, gram: Floats) -> Floats:
        """Return (clients, clients): 1 / (M - f) where the client of the column is among the nearest to the row's."""
        count = len(gram) - self.attackers
        near = ranked(squared_distances(gram), HAIR * float(np.diag(gram).max()))[:, :count]
        mixing = np.zeros_like(gram)
        np.put_along_axis(mixing, near, 1 / count, axis=1)
        return mixing


def _mixed(updates: Updates, mixing: Floats) -> Updates:
    """Return the mixed updates, computed around the first: equal ones come out as they were."""
    return np.asarray(updates[0] + mixing.astype(updates.dtype) @ (updates - updates[0]))
