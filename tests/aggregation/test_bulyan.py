import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation.bulyan import Bulyan
from eitr.robust.gram import gram_of_steps
from eitr.robust.near_median import mean_near_median
from tests.aggregation.cases import aggregate, populations
from tests.examples import examples


def chosen_by_krum(updates, attackers):
    """The selection, read plainly: Krum again and again among those that are left."""
    left, chosen = list(range(len(updates))), []
    for _ in range(len(updates) - 2 * attackers):
        neighbours = max(1, len(left) - attackers - 2)
        scores = []
        for i in left:
            distances = sorted(float(((updates[i] - updates[j]) ** 2).sum()) for j in left if j != i)
            scores.append(sum(distances[:neighbours]))
        chosen.append(left.pop(int(np.argmin(scores))))
    return sorted(chosen)


def near_median(column, count):
    """The mean of the values nearest to the median, and of two equally near the smaller."""
    median = np.median(column)
    return np.mean(sorted(sorted(column), key=lambda value: abs(value - median))[:count])


@examples(60, 15)
@given(st.integers(1, 3), st.integers(0, 4), st.integers(0, 2**32))
def test_krum_chooses_and_the_values_near_the_median_are_averaged(attackers, more, seed):
    rng = np.random.default_rng(seed)
    updates = rng.normal(0, 0.1, (4 * attackers + 3 + more, 9))
    updates[:attackers] += rng.choice([0.1, 1, 30])
    _, result = aggregate("bulyan", updates, attackers=attackers)
    chosen = chosen_by_krum(updates, attackers)
    assert np.flatnonzero(result.weights).tolist() == chosen
    expected = [near_median(column, len(chosen) - 2 * attackers) for column in updates[chosen].T]
    np.testing.assert_allclose(result.model, expected, rtol=0, atol=1e-12)


@examples(100, 20)
@given(populations(kinds=("ordinary", "shifted", "wild"), dtype=np.float64), st.data())
def test_the_nearest_to_the_median_are_averaged_whatever_is_sent(updates, data):
    count = data.draw(st.integers(1, len(updates)))
    found = mean_near_median(updates, np.arange(len(updates)), np.ones(len(updates)), count)
    for value, column in zip(found, updates.T, strict=True):
        expected = near_median(column, count)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(column).max())


def test_values_may_weigh_differently():
    updates = np.array([[0.0], [1.0], [3.0], [50.0], [60.0]])
    assert mean_near_median(updates, np.arange(5), np.array([9.0, 1, 3, 9, 9]), 2).tolist() == [2.5]


def test_an_attacker_that_hides_in_most_parameters_does_not_reach_the_model_by_one():
    # What Bulyan is made for: near to the others as a whole, far out in a single parameter.
    updates = np.random.default_rng(0).normal(0, 0.05, (11, 1000))
    updates[:2] = updates[2:].mean(axis=0)
    updates[:2, 7] = 1.0
    chosen = Bulyan(attackers=2).chosen(gram_of_steps(updates, np.zeros(1000), np.arange(11)))
    assert set(chosen) & {0, 1}  # Krum falls for them
    _, result = aggregate("bulyan", updates, attackers=2)
    assert np.abs(result.model).max() < 0.1
