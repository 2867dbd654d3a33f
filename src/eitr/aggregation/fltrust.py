"""FLTrust: the server trains on a few trusted samples and believes those who go its way."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Floats, Result, Round, Rule
from eitr.aggregation.rule_state import RuleState
from eitr.robust.tiles import Updates


@dataclass(frozen=True, kw_only=True)
class FLTrust(Rule):
    """w = base + sum_i t_i (|g_0| / |g_i|) g_i / sum_i t_i, with steps g = w - base, trust t_i = ReLU(cos(g_i, g_0)).

    g_0 is the step of the root model. If nobody is trusted, or the root did not move, the global model is kept.

    >>> base, root = np.zeros(2, dtype=np.float32), np.array([1.0, 0.0], dtype=np.float32)
    >>> updates = np.array([[3.0, 0.0], [-2.0, 0.0]], dtype=np.float32)
    >>> rule = FLTrust()
    >>> _, result = rule.update(rule.init(), Round(base, updates, ["a", "b"], root=root))
    >>> result.model.tolist(), result.weights.tolist()
    ([1.0, 0.0], [1.0, 0.0])

    Cao et al., "FLTrust: Byzantine-robust Federated Learning via Trust Bootstrapping", NDSS 2021.
    """

    name: ClassVar[str] = "fltrust"
    summary: ClassVar[str] = "trust from the cosine to a step on trusted data"
    needs: ClassVar[frozenset[str]] = frozenset({"base", "root"})

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        base, root = round.need("base"), round.need("root")
        root_step = root.astype(np.float64) - base
        length = float(np.linalg.norm(root_step))
        trust, lengths = _trust(round.updates, base, root_step)
        if length == 0 or trust.sum() == 0:
            note = "the root step has no length" if length == 0 else "no client is trusted"
            return state, Result(_like(round.updates, base), notes={"kept": f"the global model is kept: {note}"})
        weights = self.ramped(state, round, trust)
        step = np.zeros(len(base))
        for row in round.order:
            if weights[row] > 0:
                step += (weights[row] * length / lengths[row]) * (round.updates[row].astype(np.float64) - base)
        return state, Result(_like(round.updates, base + step), weights)


def _like(updates: Updates, vector: NDArray[Any]) -> Updates:
    return vector.astype(np.float32) if updates.dtype == np.float32 else vector.astype(np.float64)


def _trust(updates: NDArray[Any], base: NDArray[Any], root_step: Floats) -> tuple[Floats, Floats]:
    """Return ReLU(cos(g_i, g_0)) and |g_i| of each client; a step of length 0 earns no trust."""
    trust, lengths = np.zeros(len(updates)), np.zeros(len(updates))
    root_length = np.linalg.norm(root_step)
    for row, update in enumerate(updates):
        step = update.astype(np.float64) - base
        lengths[row] = np.linalg.norm(step)
        if lengths[row] > 0 and root_length > 0:
            trust[row] = max(0.0, float(step @ root_step) / (lengths[row] * root_length))
    return trust, lengths
