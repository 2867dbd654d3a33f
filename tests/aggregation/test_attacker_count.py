"""Rules that need the number of attackers: what holds for all, what is assumed, and when they are not defined."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation import RULES, Round, make_rule, warm_up
from eitr.errors import InputError
from tests.aggregation.cases import ALL_RULES, ATTACKER_COUNT, WITHIN_RANGE, aggregate, names, populations
from tests.examples import examples

FEWEST = {
    "multi-krum": lambda f: 2 * f + 3,
    "bulyan": lambda f: 4 * f + 3,
    "nnm": lambda f: 2 * f + 1,
    "dnc": lambda f: 2 * f + 1,
    "foundation-fl": lambda f: 2 * f + 1,
}


def most(name, clients):
    """The largest number of attackers for which a rule is defined."""
    return max(f for f in range(clients) if RULES[name].defined(clients, f))


@pytest.mark.parametrize("name", ATTACKER_COUNT)
@pytest.mark.parametrize("attackers", [1, 2, 5])
def test_too_few_clients_are_refused_with_what_to_do_and_enough_are_taken(name, attackers):
    enough = FEWEST[name](attackers)
    updates = np.random.default_rng(0).normal(size=(enough, 4))
    assert not RULES[name].defined(enough - 1, attackers)
    with pytest.raises(InputError, match=f"'{name}' needs at least {enough} clients .* set attackers lower"):
        aggregate(name, updates[1:], attackers=attackers)
    assert RULES[name].defined(enough, attackers)
    _, result = aggregate(name, updates, attackers=attackers)
    assert np.isfinite(result.model).all()


@pytest.mark.parametrize("name", ALL_RULES)
def test_every_rule_is_defined_for_few_clients_none_of_whom_attack(name):
    for clients in (1, 2, 3):
        assert RULES[name].defined(clients, 0)
        _, result = aggregate(name, np.ones((clients, 3)))
        if name != "fltrust":  # whose step is as long as the root's
            np.testing.assert_allclose(result.model, 1, atol=0.01, err_msg=f"{clients} clients")


@pytest.mark.parametrize("name", [name for name in ALL_RULES if name not in ATTACKER_COUNT])
def test_rules_that_do_not_ask_are_always_defined(name):
    assert RULES[name].defined(3, 2)


@pytest.mark.parametrize("name", ["multi-krum", "bulyan", "nnm", "dnc"])
def test_without_attackers_it_is_the_mean(name):
    updates = np.random.default_rng(1).normal(size=(5, 8))
    _, result = aggregate(name, updates, attackers=0)
    np.testing.assert_allclose(result.model, updates.mean(axis=0), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ATTACKER_COUNT)
@examples(120, 15)
@given(populations(most_clients=15), st.sampled_from([0, 3]))
def test_with_as_many_attackers_as_can_be_weights_and_model_are_in_order(name, updates, ramp):
    _, result = aggregate(name, updates, attackers=most(name, len(updates)), ramp=ramp)
    assert (result.weights >= 0).all()
    assert result.weights.sum() == pytest.approx(1, abs=1e-12)
    beyond = 0 if name in WITHIN_RANGE else 1e-6 * (1 + np.abs(updates).max(axis=0))
    assert (updates.min(axis=0) - beyond <= result.model).all()
    assert (result.model <= updates.max(axis=0) + beyond).all()


@pytest.mark.parametrize("name", ATTACKER_COUNT)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@examples(20, 4)
@given(st.integers(3, 15), st.integers(0, 2**32), st.sampled_from([0, 3]))
def test_the_order_in_which_clients_come_does_not_change_a_bit(name, dtype, size, seed, ramp):
    rng = np.random.default_rng(seed)
    updates = rng.normal(0, 0.1, (size, 13)).astype(dtype)
    updates[: size // 4] += 1
    order = rng.permutation(size)
    chosen = {"attackers": most(name, size), "ramp": ramp}
    _, result = aggregate(name, updates, **chosen)
    _, other = aggregate(name, updates[order], [names(size)[row] for row in order], **chosen)
    np.testing.assert_array_equal(other.model, result.model)
    np.testing.assert_array_equal(other.weights, result.weights[order])


@pytest.mark.parametrize("name", ATTACKER_COUNT)
def test_ties_go_by_client_id_whatever_order_clients_come_in(name):
    rng = np.random.default_rng(3)
    updates = rng.integers(-1, 2, (11, 3)) / 4
    order = rng.permutation(11)
    _, result = aggregate(name, updates, attackers=2)
    _, other = aggregate(name, updates[order], [names(11)[row] for row in order], attackers=2)
    np.testing.assert_array_equal(other.model, result.model)
    np.testing.assert_array_equal(other.weights, result.weights[order])


@pytest.mark.parametrize("name", ATTACKER_COUNT)
@pytest.mark.parametrize("far", [1.0, 50.0, 10_000.0])
def test_attackers_as_many_as_announced_do_not_move_the_model_far(name, far):
    rng = np.random.default_rng(4)
    updates = rng.normal(0, 0.05, (15, 400))
    updates[:3] += far
    _, result = aggregate(name, updates, attackers=3)
    assert np.abs(result.model).max() < 0.25


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("multi-krum", {1: 0, 4: 0, 5: 1, 10: 3, 15: 5, 100: 30}),
        ("bulyan", {1: 0, 6: 0, 7: 1, 10: 1, 15: 3, 100: 24}),
        ("nnm", {1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 10: 3, 100: 30}),
        ("dnc", {1: 0, 10: 3, 100: 30}),
        ("foundation-fl", {1: 0, 10: 3, 100: 30}),
    ],
)
def test_without_a_number_three_in_ten_are_assumed_or_as_many_as_the_rule_is_defined_for(name, expected):
    rule: Any = RULES[name]
    assert {clients: rule.assumed(clients) for clients in expected} == expected


@pytest.mark.parametrize("name", ATTACKER_COUNT)
def test_a_rule_that_nobody_tells_the_number_of_attackers_does_not_let_them_in(name):
    rng = np.random.default_rng(5)
    updates = rng.normal(0, 0.05, (15, 400))
    updates[:3] += 5
    rule = make_rule(name)
    round = Round(np.zeros(400), updates, names(15))
    _, result = rule.update(rule.init(), round)
    assert np.abs(result.model).max() < 0.25
    assumed = result.notes["assumed_attackers"]
    told = make_rule(name, attackers=assumed)
    _, same = told.update(told.init(), round)
    np.testing.assert_array_equal(result.model, same.model)
    assert "assumed_attackers" not in same.notes


@pytest.mark.parametrize("name", ALL_RULES)
def test_every_rule_can_be_warmed_up_whatever_it_is_told(name, monkeypatch):
    rule = make_rule(name, **({"attackers": 1_000} if name in ATTACKER_COUNT else {}))
    update, aggregated = type(rule).update, []

    def noted(self, state, round):
        result = update(self, state, round)
        aggregated.append(round.updates.dtype)
        return result

    monkeypatch.setattr(type(rule), "update", noted)
    warm_up(rule)
    for dtype in (np.float32, np.float64):
        vector: Any = np.ones(3, dtype)
        given = dict.fromkeys(rule.needs, vector)
        warm_up(rule, Round(given.get("base"), vector[None], ["a"], root=given.get("root")))
    assert aggregated == [np.float32, np.float32, np.float64]
