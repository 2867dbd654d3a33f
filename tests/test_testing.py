"""`check_rule` finds what is wrong with a rule of somebody else's."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from eitr.aggregation.interface import Result, Rule, remember, uniform
from eitr.testing import check_rule


@dataclass(frozen=True, kw_only=True)
class Good(Rule):
    """The mean, and a memory of how often a client was there."""

    name: ClassVar[str] = "good"
    summary: ClassVar[str] = "a mean"
    remembers: ClassVar = {"seen": np.dtype(np.int64)}

    def _aggregate(self, state, round):
        weights = self.ramped(state, round, uniform(round))
        rows = state.rows(round.ids)
        before = state.memory["seen"][rows] if "seen" in state.memory else np.zeros((len(rows), 1), np.int64)
        state = remember(state, "seen", rows, before + 1)
        return state, Result((weights[round.order] @ round.updates[round.order]).astype(round.updates.dtype), weights)


def test_a_good_rule_passes():
    check_rule(Good)


class _Faulty(Good):
    def _aggregate(self, state, round):
        state, result = super()._aggregate(state, round)
        return self.spoil(state, round, result)

    def spoil(self, state, round, result):
        raise NotImplementedError


class Nan(_Faulty):
    def spoil(self, state, round, result):
        return state, Result(np.where(np.ptp(round.updates) == 0, np.nan, result.model), result.weights)


class Narrow(_Faulty):
    def spoil(self, state, round, result):
        return state, Result(result.model.astype(np.float32), result.weights)


class Heavy(_Faulty):
    def spoil(self, state, round, result):
        return state, Result(result.model, 2 * result.weights)


class Newcomer(_Faulty):
    """Gives whoever stands first in the table more weight."""

    def spoil(self, state, round, result):
        weights = np.linspace(2.0, 1.0, len(round.ids))
        return state, Result(result.model, weights / weights.sum())


class InOrderOfArrival(_Faulty):
    def spoil(self, state, round, result):
        return state, Result(round.updates[0].copy(), result.weights)


class InPlace(_Faulty):
    def spoil(self, state, round, result):
        round.updates[0] = 0
        return state, result


class Undeclared(_Faulty):
    def spoil(self, state, round, result):
        return remember(state, "else", state.rows(round.ids), np.ones((len(round.ids), 1))), result


class Moody(_Faulty):
    calls: ClassVar = [0]

    def spoil(self, state, round, result):
        self.calls[0] += 1
        return state, Result(result.model + result.model.dtype.type(self.calls[0]), result.weights)


class Forgetful(_Faulty):
    def spoil(self, state, round, result):
        return state.with_memory("seen", state.memory["seen"][:1]), result


class Unsure(_Faulty):
    has_reputation: ClassVar = True

    def spoil(self, state, round, result):
        return state, result


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Nan, "a NaN or an infinity"),
        (Narrow, "of float64 updates it makes float32"),
        (Heavy, r"weights are \[2|sum to 2"),
        (Newcomer, "changes `weights`; go through `round.order`"),
        (InOrderOfArrival, "changes the model; go through `round.order`"),
        (InPlace, "changes the round's `updates` in place"),
        (Undeclared, "never wrote"),
        (Moody, "the same round gives two models"),
        (Forgetful, "its state holds 1 rows of 'seen' for 2 clients"),
        (Unsure, "returned None as negative: it must be of shape"),
    ],
)
def test_a_faulty_rule_is_told_what_is_wrong(rule, words):
    with pytest.raises((AssertionError, ValueError), match=words):
        check_rule(rule)


def test_the_message_names_the_rule_and_the_round():
    with pytest.raises(AssertionError, match=r"Nan\(ramp=0\)") as caught:
        check_rule(Nan)
    assert "in a round of the kind" in caught.value.__notes__[0]
