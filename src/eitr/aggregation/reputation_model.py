"""Subjective logic: opinions about clients, formed from observations, and a reputation with a fading memory.

An opinion is belief + disbelief + uncertainty = 1. From P positive and N negative observations, weighted by kappa and
eta = 1 - kappa, with a non-informative prior of weight W:

    b = kappa P / (kappa P + eta N + W)     d = eta N / (...)     u = W / (...)
    R = b + a u = (kappa P + W a) / (kappa P + eta N + W)

The reputation in a round is the mean of R over the client's last s + 1 rounds, weighted by exp(-c age). Age counts the
client's *own* rounds: staying away must not launder a bad past. With everybody in every round this is the paper's
definition.

Jøsang, "Subjective Logic" (2016); the paper's equations for alpha and beta, b, d, u and the final score.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.aggregation.opinions import Opinion
from eitr.aggregation.rule_state import RuleState
from eitr.errors import InputError

Floats = NDArray[np.float64]
HISTORY = "reputations"
"""Name of the array in a state: (clients, s + 1), a client's reputations in its own rounds, newest first, then NaN."""


@dataclass(frozen=True, slots=True)
class Observations:
    """What was seen of some clients in one round."""

    ids: Sequence[str]
    positive: ArrayLike
    negative: ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class ReputationModel:
    """How observations become a reputation. The symbols are those of the paper's table of settings.

    >>> model = ReputationModel(kappa=0.3, a=0.5, W=2.0, c=0.5, s=10)
    >>> state, first = model.update(RuleState("reputation"), Observations(["ann", "bob"], [18, 2], [2, 18]))
    >>> first.round(3).tolist()  # (0.3*18 + 1) / (0.3*18 + 0.7*2 + 2) and (0.6 + 1) / (0.6 + 12.6 + 2)
    [0.727, 0.105]
    >>> state, second = model.update(state, Observations(["bob"], [20], [0]))
    >>> second.round(3).tolist()  # (0.875 + exp(-0.5) 0.105) / (1 + exp(-0.5)): not forgiven at once
    [0.584]
    """

    kappa: float = 0.3
    a: float = 0.5
    W: float = 2.0
    c: float = 0.5
    s: int = 10

    def opinion(self, positive: ArrayLike, negative: ArrayLike) -> Opinion:
        """Form opinions from observations."""
        for_it = self.kappa * np.asarray(positive, dtype=np.float64)
        against = (1.0 - self.kappa) * np.asarray(negative, dtype=np.float64)
        return Opinion.from_evidence(for_it, against, self.W)

    def update(self, state: RuleState, observations: Observations) -> tuple[RuleState, Floats]:
        """Return the state after a round and the reputation R~ of each observed client, in the order given."""
        now = self.opinion(observations.positive, observations.negative).expectation(self.a)
        return self.remember(state, observations.ids, now)

    def remember(self, state: RuleState, ids: Sequence[str], now: Floats) -> tuple[RuleState, Floats]:
        """Return the state after a round in which clients had the reputation R, and their faded reputations R~."""
        state = state.known(ids)
        rows = state.rows(ids)
        history = self.window(state)
        history[rows, 1:] = history[rows, :-1]
        history[rows, 0] = now
        return state.with_memory(HISTORY, history), self.faded(history[rows])

    def faded(self, history: Floats) -> Floats:
        """Return the mean of each row, weighted by exp(-c age), over the rounds it has (NaN: none)."""
        weights = np.exp(-self.c * np.arange(history.shape[1])) * ~np.isnan(history)
        return np.asarray((weights * np.nan_to_num(history)).sum(axis=1) / weights.sum(axis=1))

    def standing(self, state: RuleState, client: str) -> float | None:
        """Return the faded reputation of one client; None for somebody who was never judged."""
        if client not in state.clients:
            return None
        history = self.window(state)[state.rows([client])]
        return None if np.isnan(history).all() else float(self.faded(history)[0])

    def window(self, state: RuleState) -> Floats:
        """Return a copy of the histories, s + 1 columns wide, also when they were kept with another s."""
        window = np.full((len(state.clients), self.s + 1), np.nan)
        kept = state.memory.get(HISTORY)
        if kept is not None:
            if (np.abs(kept - 0.5) > 0.5 + 1e-9).any():
                raise InputError("the state holds a reputation that is not between 0 and 1")
            width = min(kept.shape[1], self.s + 1)
            window[:, :width] = kept[:, :width]
        return window
