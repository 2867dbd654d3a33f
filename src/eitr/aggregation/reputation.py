"""The paper's rule: detect outlying parameters, remember who sent them, weigh by reputation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eitr.aggregation.interface import Floats, Result, Round, Rule
from eitr.aggregation.reputation_model import HISTORY, Observations, ReputationModel
from eitr.aggregation.rule_state import RuleState
from eitr.errors import InputError
from eitr.robust.column_blocks import joined
from eitr.robust.combination import combine
from eitr.robust.detection import judged
from eitr.settings import setting

EQUAL = 1e-9
"""Reputations closer together than this are equal."""


@dataclass(frozen=True, kw_only=True)
class ReputationRule(Rule):
    """What the readings of the paper's rule share: the reputation of a client, and how it is remembered."""

    remembers: ClassVar[Mapping[str, Any]] = {HISTORY: np.float64}
    has_reputation: ClassVar[bool] = True

    a: float = setting(0.5, "share of uncertainty that counts as belief", least=0.0, most=1.0)
    W: float = setting(2.0, "weight of the non-informative prior", above=0.0)
    kappa: float = setting(0.3, "weight of a positive observation; a negative one has 1 - kappa", least=0.0, most=1.0)
    c: float = setting(0.5, "decay of old rounds: a round of age t counts exp(-c t)", least=0.0)
    s: int = setting(10, "rounds remembered besides the current one", least=0, most=10_000)

    def standing(self, state: RuleState, client: str) -> float | None:
        """Return the reputation of a client by what is remembered."""
        return self._model.standing(state, client)

    def refuse(self, state: RuleState, client: str, parameters: int) -> RuleState:
        """Record a refused update: every one of its parameters is a negative observation."""
        self.check_state(state)
        if parameters < 1:
            raise InputError(f"an update has at least one parameter, not {parameters}")
        state, _ = self._model.update(state, Observations([client], [0], [parameters]))
        return state

    @property
    def _model(self) -> ReputationModel:
        return ReputationModel(kappa=self.kappa, a=self.a, W=self.W, c=self.c, s=self.s)


@dataclass(frozen=True, kw_only=True)
class Reputation(ReputationRule):
    """Reputation-weighted mean of rectified parameters.

    Per parameter: rescale, fit a repeated-median line to the sorted values, turn residuals into confidences s, replace
    values with s <= delta by the median (a negative observation; else a positive one). Per client:
    R = (kappa P + W a) / (kappa P + eta N + W), faded over its last s + 1 rounds, min-max normalised to the weight R^-:

        w_n = m + sum_i R^-_i (W'_{i,n} - m) / sum_i R^-_i        m: the median of the column

    >>> rng = np.random.default_rng(0)
    >>> updates = rng.normal(0, 0.1, (10, 1000)).astype(np.float32)
    >>> updates[7:] += 3                                              # three attackers shift everything
    >>> rule = Reputation()
    >>> state, result = rule.update(rule.init(), Round(None, updates, [f"client{i}" for i in range(10)]))
    >>> result.weights.round(2).tolist()
    [0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.0, 0.0, 0.0]
    >>> bool(result.negative[7:].min() > 20 * result.negative[:7].max())
    True

    Chu et al., "Securing Federated Sensitive Topic Classification against Poisoning Attacks", NDSS 2023.
    """

    name: ClassVar[str] = "reputation"
    summary: ClassVar[str] = "the paper's rule: weights from a reputation with memory"

    delta: float = setting(0.1, "confidence up to which a value is rejected", above=0.0, below=1.0)
    varpi: float = setting(2.0, "largest range of a parameter over the clients", above=0.0)
    lambda_: float = setting(2.0, "width of the confidence interval", above=0.0)
    rescale: str = setting("median", "how the range is bounded", choices=("median", "paper"))
    cutoff: bool = setting(False, "weights below 1/M become 0, as in the published code")

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        counts, found = round.blocks.keep(
            judged,
            round.order,
            varpi=self.varpi,
            delta=self.delta,
            lambda_=self.lambda_,
            rescale=self.rescale,
        )
        positive = np.sum(counts, axis=0)
        negative = round.updates.shape[1] - positive
        state, reputation = self._model.update(state, Observations(round.ids, positive, negative))
        weights = self.ramped(state, round, min_max(reputation, cutoff=self.cutoff))
        model = joined(round.blocks.run(combine, found, round.order, weights))
        return state, Result(model, weights, positive, negative, reputation)


def min_max(reputation: Floats, *, cutoff: bool) -> Floats:
    """Return R^-: min-max over the round's clients; equal reputations, or a single client, weigh the same.

    With `cutoff`, values below 1/M become 0.

    >>> min_max(np.array([0.2, 0.3, 0.6]), cutoff=True).round(2).tolist()
    [0.0, 0.0, 1.0]
    """
    spread = reputation.max() - reputation.min()
    if spread < EQUAL:
        return np.ones_like(reputation)
    normalised = (reputation - reputation.min()) / spread
    if cutoff:
        normalised[normalised < 1 / len(normalised)] = 0.0
    return np.asarray(normalised)
