"""The specification's degenerate cases, one test each."""

import numpy as np
import pytest

from tests.aggregation import oracle
from tests.aggregation.cases import WITHIN_RANGE, aggregate, names

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def agrees_with_the_oracle(updates):
    _, result = aggregate("reputation", updates)
    expected = oracle.ReputationRule().update(names(len(updates)), updates)
    np.testing.assert_array_equal(result.negative, expected["negative"])
    np.testing.assert_allclose(result.weights, expected["weights"], atol=1e-9)
    np.testing.assert_allclose(result.model, expected["model"], rtol=1e-6, atol=1e-6)
    return result


@DTYPES
@pytest.mark.parametrize("rescale", ["median", "paper"])
def test_a_single_client_has_weight_1_and_its_vector_is_the_model(dtype, rescale):
    updates = np.array([[0.1, -7.0, 1e6]], dtype=dtype)
    _, result = aggregate("reputation", updates, rescale=rescale)
    np.testing.assert_array_equal(result.model, updates[0])
    assert result.weights.tolist() == [1.0]
    assert result.positive.tolist() == [3]
    assert result.negative.tolist() == [0]


@DTYPES
@pytest.mark.parametrize("name", WITHIN_RANGE)
def test_under_every_rule_a_single_client_is_the_model(name, dtype):
    updates = np.array([[0.1, -7.0, 1e6]], dtype=dtype)
    _, result = aggregate(name, updates)
    np.testing.assert_array_equal(result.model, updates[0])
    assert result.weights.tolist() == [1.0]


@DTYPES
@pytest.mark.parametrize("rescale", ["median", "paper"])
def test_of_two_clients_none_is_judged_and_the_model_is_the_mean(dtype, rescale):
    updates = np.array([[0.0, 1.0, -900.0], [1.0, -1.0, 900.0]], dtype=dtype)
    _, result = aggregate("reputation", updates, rescale=rescale)
    np.testing.assert_allclose(result.model, updates.mean(axis=0), atol=1e-6)
    assert result.weights.tolist() == [0.5, 0.5]
    assert result.positive.tolist() == [3, 3]
    assert result.negative.tolist() == [0, 0]


@DTYPES
@pytest.mark.parametrize("name", WITHIN_RANGE)
def test_clients_that_all_agree_give_exactly_their_value_with_equal_weights(name, dtype):
    vector = np.array([0.1, 1 / 3, -1e-30, 1e6, 0.0, 123.456], dtype=dtype)
    for size in (2, 3, 4, 7, 10):
        _, result = aggregate(name, np.tile(vector, (size, 1)))
        np.testing.assert_array_equal(result.model, vector, err_msg=f"{size} clients")
        if name != "foundation-fl":  # one of the equal is copied, and weighs as much as its copies
            np.testing.assert_allclose(result.weights, 1 / size, rtol=1e-12)
        if name == "reputation":
            assert result.positive.tolist() == [6] * size
            assert result.negative.tolist() == [0] * size


def test_clients_that_agree_but_for_float32_rounding_are_all_accepted():
    rng = np.random.default_rng(0)
    exact = rng.normal(0, 10, 200)
    updates = np.tile(exact, (10, 1)).astype(np.float32)
    noise = rng.integers(-1, 2, updates.shape)
    updates = np.where(noise < 0, np.nextafter(updates, np.float32(-1e9)), updates)
    updates = np.where(noise > 0, np.nextafter(updates, np.float32(1e9)), updates)
    _, result = aggregate("reputation", updates)
    assert result.negative.sum() == 0


@DTYPES
def test_three_clients_are_judged_by_the_formulas(dtype):
    rng = np.random.default_rng(1)
    updates = np.hstack([rng.normal(0, 0.1, (3, 30)), [[0, 0], [0, 0], [1, 50]]]).astype(dtype)
    result = agrees_with_the_oracle(updates)
    assert result.negative[2] >= 2


@DTYPES
def test_a_constant_column_is_accepted_and_kept_exactly(dtype):
    rng = np.random.default_rng(2)
    updates = rng.normal(0, 0.1, (6, 3)).astype(dtype)
    updates[:, 1] = 0.1
    result = agrees_with_the_oracle(updates)
    assert result.model[1] == dtype(0.1)
    _, alone = aggregate("reputation", updates[:, 1:2])
    assert alone.positive.tolist() == [1] * 6


@DTYPES
@pytest.mark.parametrize("larger", range(1, 8))
def test_a_column_with_two_distinct_values_is_judged_by_the_formulas(larger, dtype):
    updates = np.zeros((8, 1), dtype=dtype)
    updates[:larger] = 0.5
    result = agrees_with_the_oracle(updates)
    assert 0 <= result.model[0] <= 0.5


@DTYPES
@pytest.mark.parametrize("name", WITHIN_RANGE)
def test_exactly_half_colluding_gives_a_finite_model_inside_what_was_sent(name, dtype):
    for size in (2, 4, 10, 16):
        rng = np.random.default_rng(3)
        updates = rng.normal(0, 0.05, (size, 40)).astype(dtype)
        updates[size // 2 :] = dtype(5)
        _, result = aggregate(name, updates)
        assert np.isfinite(result.model).all(), f"{size} clients"
        assert (updates.min(axis=0) <= result.model).all(), f"{size} clients"
        assert (result.model <= updates.max(axis=0)).all(), f"{size} clients"
        assert np.isfinite(result.weights).all(), f"{size} clients"


def test_clipping_makes_ties_that_go_by_the_value_before():
    # Two values beyond the reach are clipped to the same; the one that was farther out has the outer rank.
    updates = np.array([[0.0], [0.1], [0.2], [0.3], [0.4], [30.0], [7.0]])
    agrees_with_the_oracle(updates)
    _, result = aggregate("reputation", updates, varpi=0.5)
    expected = oracle.ReputationRule(varpi=0.5).update(names(7), updates)
    np.testing.assert_array_equal(result.negative, expected["negative"])
    np.testing.assert_allclose(result.model, expected["model"])


def test_one_parameter_is_enough():
    agrees_with_the_oracle(np.array([[0.0], [0.1], [0.25], [0.3], [9.0]]))


@pytest.mark.parametrize("parameters", [15, 16, 17, 31, 33])
def test_any_number_of_parameters_fills_the_lanes(parameters):
    agrees_with_the_oracle(np.random.default_rng(parameters).normal(0, 0.1, (5, parameters)))


def test_the_largest_magnitudes_that_are_let_in_give_finite_numbers():
    updates = np.array([[1e6, -1e6], [-1e6, 1e6], [1e6, 1e6], [0.0, -1e6], [5.0, 1e-30]])
    for rescale in ("median", "paper"):
        _, result = aggregate("reputation", updates, rescale=rescale)
        assert np.isfinite(result.model).all()
        assert np.abs(result.model).max() <= 1e6


@pytest.mark.parametrize("varpi", [1e-12, 1e-20])
def test_the_papers_rescaling_ends_also_where_rounding_leaves_no_smaller_range(varpi):
    # In the second column the step back and forth is one unit in the last place: something always moves.
    updates = np.array([[1e6, 900_000.0], [999_999.0, 900_000.0], [999_998.5, 900_005.0]])
    _, result = aggregate("reputation", updates, rescale="paper", varpi=varpi)
    assert 999_998.5 <= result.model[0] <= 1e6
    assert 900_000 <= result.model[1] <= 900_005
