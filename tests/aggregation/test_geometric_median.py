import numpy as np
import pytest
from hypothesis import given

from tests.aggregation.cases import aggregate, byzfl_aggregators, populations
from tests.examples import examples


def cost(point, updates):
    return np.linalg.norm(np.float64(updates) - point, axis=1).sum()


@examples(80, 20)
@given(populations(kinds=("ordinary", "shifted", "colluding", "tied"), dtype=np.float64))
def test_no_point_nearby_has_a_smaller_sum_of_distances(updates):
    _, result = aggregate("geometric-median", updates, iterations=20_000)
    found = cost(result.model, updates)
    rng, scale = np.random.default_rng(0), np.abs(updates).max() + 1e-9
    for length in (1e-1, 1e-2, 1e-3):
        for _ in range(10):
            near = result.model + length * scale * rng.normal(size=updates.shape[1])
            assert found <= cost(near, updates) + 1e-5 * scale


@pytest.mark.parametrize("attackers", [0, 2, 5])
def test_byzfl_comes_to_the_same_point(attackers):
    byzfl = byzfl_aggregators()
    rng = np.random.default_rng(attackers)
    updates = rng.normal(0, 0.1, (12, 60))
    updates[:attackers] += 20
    _, result = aggregate("geometric-median", updates, nu=1e-6, iterations=5000)
    expected = byzfl.GeometricMedian(nu=1e-6, T=5000)(updates)
    np.testing.assert_allclose(result.model, expected, rtol=0, atol=1e-7)


def test_of_points_on_a_line_it_is_the_median():
    _, result = aggregate("geometric-median", np.array([[1.0], [2.0], [4.0], [50.0], [900.0]]), iterations=10_000)
    assert result.model[0] == pytest.approx(4.0, abs=1e-3)


def test_a_minority_however_far_hardly_moves_it_and_weighs_hardly_anything():
    updates = np.random.default_rng(1).normal(0, 0.1, (10, 50))
    updates[:4] += 10_000
    _, result = aggregate("geometric-median", updates)
    assert np.abs(result.model).max() < 1
    assert result.weights[:4].sum() < 1e-3


def test_a_large_nu_makes_it_the_mean():
    updates = np.random.default_rng(2).normal(size=(6, 9))
    _, result = aggregate("geometric-median", updates, nu=1e6)
    np.testing.assert_allclose(result.model, updates.mean(axis=0))


def test_a_constant_shift_of_all_clients_shifts_the_result():
    updates = np.random.default_rng(3).normal(0, 0.1, (9, 30))
    _, result = aggregate("geometric-median", updates)
    _, shifted = aggregate("geometric-median", updates + 7.5)
    np.testing.assert_allclose(shifted.model - 7.5, result.model, rtol=0, atol=1e-9)
