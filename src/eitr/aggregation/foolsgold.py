"""FoolsGold: clients whose steps over all rounds point the same way are taken for copies of one attacker."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Floats, Result, Round, Rule, remember
from eitr.aggregation.rule_state import RuleState
from eitr.errors import InputError
from eitr.robust.combination import weighted_mean
from eitr.settings import setting

_BLOCK = 1 << 16
SAME = 1e-9
"""Cosines this close to 1 are 1: steps are summed in float32, and rounding must not tell clients apart who agree. That
covers steps down to a hundredth of the model; of shorter ones, the rounding of the updates themselves is larger."""
STEPS = "steps"
"""Name of the array in a state: (clients, parameters - start), the sum of a client's steps over its rounds."""


@dataclass(frozen=True, kw_only=True)
class FoolsGold(Rule):
    """Weights from the cosine similarity of accumulated steps, over all layers.

        c_ij = cos(H_i, H_j)      H_i: sum of client i's steps so far     v_i = max_{j != i} c_ij
        pardon: c_ij <- c_ij v_i / v_j where v_j > v_i
        alpha_i = 1 - max_j c_ij, divided by the largest;   weight_i = clip(logit(alpha_i) + 0.5, 0, 1), summing to 1

    All weights zero: uniform.

    >>> base = np.zeros(2, dtype=np.float32)
    >>> updates = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [-1.0, -1.0]], dtype=np.float32)
    >>> rule = FoolsGold()
    >>> _, result = rule.update(rule.init(), Round(base, updates, ["honest1", "honest2", "twin1", "twin2"]))
    >>> result.weights.tolist()
    [0.5, 0.5, 0.0, 0.0]

    Fung et al., "The Limitations of Federated Learning in Sybil Settings", RAID 2020.
    """

    name: ClassVar[str] = "foolsgold"
    summary: ClassVar[str] = "weights from how similar the clients' accumulated steps are"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})
    remembers: ClassVar[Mapping[str, Any]] = {STEPS: np.float32}

    start: int = setting(0, "first parameter of steps that are compared and remembered", least=0, added_later=True)

    def private(self, *, seed: int, start: int) -> Self:
        """Return the rule that leaves out the parameters before `start`."""
        return replace(self, start=start)

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        base = round.need("base")
        rows = state.rows(round.ids)
        steps = _accumulated(state, rows, round.updates[:, self.start :], base[self.start :])
        state = remember(state, STEPS, rows, steps)
        shares = foolsgold_shares(_cosines(steps, round.order))
        weights = self.ramped(state, round, shares)
        return state, Result(weighted_mean(round.updates, round.order, weights), weights)


def foolsgold_shares(cosine: Floats) -> Floats:
    """Return the weights for a matrix of cosine similarities, before normalising."""
    size = len(cosine)
    if size == 1:
        return np.ones(1)
    cosine = cosine.copy()
    np.fill_diagonal(cosine, -np.inf)
    nearest = cosine.max(axis=1)
    pardon = np.ones_like(cosine)
    larger = (nearest[None, :] > nearest[:, None]) & (nearest[None, :] > 0)
    ratio = np.maximum(nearest[:, None], 0) / np.where(nearest > 0, nearest, 1)[None, :]
    pardon[larger] = ratio[larger]
    np.fill_diagonal(cosine, 0)
    cosine *= pardon
    np.fill_diagonal(cosine, -np.inf)
    alpha = np.clip(1 - cosine.max(axis=1), 0, 1)
    if alpha.max() <= 0:
        return np.ones(size)
    alpha = np.clip(alpha / alpha.max(), 1e-12, 0.99)
    shares = np.clip(np.log(alpha / (1 - alpha)) + 0.5, 0, 1)
    return shares if shares.sum() > 0 else np.ones(size)


def _accumulated(
    state: RuleState, rows: NDArray[np.int64], updates: NDArray[Any], base: NDArray[Any]
) -> NDArray[np.float32]:
    """Return the sums of the round's clients' steps, this round's included."""
    steps = np.subtract(updates, base, dtype=np.float32, casting="same_kind")
    before = state.memory.get(STEPS)
    if before is not None:
        if before.shape[1] != steps.shape[1]:
            raise InputError(
                f"the state remembers steps of {before.shape[1]} parameters, the updates have {steps.shape[1]}"
            )
        steps += before[rows]
    return np.asarray(steps)


def _cosines(steps: NDArray[np.float32], order: NDArray[np.int64]) -> Floats:
    """Return the cosine similarity of every two clients; a step of length 0 is similar to nobody.

    Summed in the order of the clients, so that the result does not depend on who came first, and block by block, so
    that no second copy of all steps is made.
    """
    gram = np.zeros((len(order), len(order)))
    for start in range(0, steps.shape[1], _BLOCK):
        block = steps[order, start : start + _BLOCK].astype(np.float64)
        gram += block @ block.T
    length = np.sqrt(np.diag(gram))
    scale = np.where(length > 0, length, 1)
    sorted_cosine = gram / np.outer(scale, scale)
    cosine = np.empty_like(gram)
    cosine[np.ix_(order, order)] = np.where(sorted_cosine > 1 - SAME, 1.0, sorted_cosine)
    return cosine
