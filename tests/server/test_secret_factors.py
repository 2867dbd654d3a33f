"""Factors that keep participants from reading their own weight."""

import numpy as np

from eitr.aggregation.interface import Result
from eitr.server.domain.keys import Key
from eitr.server.domain.round_aggregation import SECRET_FACTOR, secret_factors, with_secret_factors

PEOPLE = [f"{number:032x}" for number in range(400)]
ONE, OTHER = Key(b"a" * 32), Key(b"b" * 32)


def test_factors_spread_over_their_range_around_one() -> None:
    found = secret_factors(PEOPLE, ONE)
    assert found.min() >= 1 - SECRET_FACTOR
    assert found.max() <= 1 + SECRET_FACTOR
    assert abs(found.mean() - 1) < 0.05
    assert found.std() > 0.9 * SECRET_FACTOR / 3**0.5


def test_a_participant_has_one_factor_for_ever_and_another_on_another_server() -> None:
    assert secret_factors(PEOPLE[5:6], ONE) == secret_factors(PEOPLE, ONE)[5]
    assert np.abs(secret_factors(PEOPLE, ONE) - secret_factors(PEOPLE, OTHER)).mean() > 0.1


def test_a_mark_comes_back_multiplied_by_weight_and_factor() -> None:
    base = np.zeros(3, np.float32)
    updates = np.eye(3, dtype=np.float32)
    weights = np.array([0.5, 0.3, 0.0])
    people = PEOPLE[:3]
    found = with_secret_factors(Result(model=weights @ updates, weights=weights), base, updates, people, ONE)
    np.testing.assert_allclose(found.model, weights * secret_factors(people, ONE), rtol=1e-6)


def test_a_long_step_gains_no_more_than_a_usual_one() -> None:
    base, people = np.zeros(4, np.float32), PEOPLE[:4]
    updates = np.diag([1.0, 1.0, 1.0, 1000.0]).astype(np.float32)
    weights = np.full(4, 0.25)
    found = with_secret_factors(Result(model=np.zeros(4), weights=weights), base, updates, people, ONE)
    assert np.abs(found.model).max() <= 0.25 * SECRET_FACTOR


def test_a_rule_without_weights_is_left_alone() -> None:
    result = Result(model=np.ones(2), weights=None)
    assert with_secret_factors(result, np.zeros(2, np.float32), np.eye(2, dtype=np.float32), PEOPLE[:2], ONE) is result


def test_steps_of_no_length_are_no_problem() -> None:
    base, updates = np.zeros(2, np.float32), np.zeros((2, 2), np.float32)
    found = with_secret_factors(Result(model=np.zeros(2), weights=np.full(2, 0.5)), base, updates, PEOPLE[:2], ONE)
    assert not found.model.any()
