"""Factors that keep participants from reading their own weight."""

import numpy as np

from eitr.aggregation.interface import Result
from eitr.aggregation.weight_factors import with_weight_factors
from eitr.server.domain.keys import Key
from eitr.server.domain.round_aggregation import ROUNDS_OF_A_FACTOR, SECRET_FACTOR, secret_factors

PEOPLE = [f"{number:032x}" for number in range(400)]
ONE, OTHER = Key(b"a" * 32), Key(b"b" * 32)


def test_factors_spread_over_their_range_around_one() -> None:
    found = secret_factors(PEOPLE, ONE, 1)
    assert found.min() >= 1 - SECRET_FACTOR
    assert found.max() <= 1 + SECRET_FACTOR
    assert abs(found.mean() - 1) < 0.05
    assert found.std() > 0.9 * SECRET_FACTOR / 3**0.5


def test_the_factor_of_a_participant_depends_on_nobody_else_and_is_another_on_another_server() -> None:
    assert secret_factors(PEOPLE[5:6], ONE, 7) == secret_factors(PEOPLE, ONE, 7)[5]
    assert np.abs(secret_factors(PEOPLE, ONE, 7) - secret_factors(PEOPLE, OTHER, 7)).mean() > 0.1


def test_factors_change_after_some_rounds_and_not_all_in_the_same_one() -> None:
    rounds = np.array([secret_factors(PEOPLE, ONE, number) for number in range(1, 1 + 3 * ROUNDS_OF_A_FACTOR)])
    changes = rounds[1:] != rounds[:-1]
    assert np.isin(changes.sum(axis=0), (2, 3)).all()
    assert all(np.ptp(np.flatnonzero(one)[:2]) == ROUNDS_OF_A_FACTOR for one in changes.T)
    assert (changes.mean(axis=1) < 0.3).all()


def test_a_mark_comes_back_multiplied_by_weight_and_factor() -> None:
    base = np.zeros(3, np.float32)
    updates = np.eye(3, dtype=np.float32)
    weights = np.array([0.5, 0.3, 0.0])
    people = PEOPLE[:3]
    factors = secret_factors(people, ONE, 1)
    found = with_weight_factors(Result(model=weights @ updates, weights=weights), base, updates, factors)
    np.testing.assert_allclose(found.model, weights * factors, rtol=1e-6)


def test_a_long_step_gains_no_more_than_a_usual_one() -> None:
    base, factors = np.zeros(4, np.float32), secret_factors(PEOPLE[:4], ONE, 1)
    updates = np.diag([1.0, 1.0, 1.0, 1000.0]).astype(np.float32)
    weights = np.full(4, 0.25)
    found = with_weight_factors(Result(model=np.zeros(4), weights=weights), base, updates, factors)
    assert np.abs(found.model).max() <= 0.25 * SECRET_FACTOR


def test_a_rule_without_weights_is_left_alone() -> None:
    result = Result(model=np.ones(2), weights=None)
    assert with_weight_factors(result, np.zeros(2, np.float32), np.eye(2, dtype=np.float32), np.ones(2)) is result


def test_steps_of_no_length_are_no_problem() -> None:
    base, updates = np.zeros(2, np.float32), np.zeros((2, 2), np.float32)
    factors = secret_factors(PEOPLE[:2], ONE, 1)
    found = with_weight_factors(Result(model=np.zeros(2), weights=np.full(2, 0.5)), base, updates, factors)
    assert not found.model.any()
