import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.aggregation.cases import aggregate, byzfl_aggregators, populations
from tests.examples import examples


def multi_krum(updates, attackers):
    """The formula, read plainly; and by how little the last one taken is ahead of the first one left out."""
    steps = np.asarray(updates, np.float64)
    size = len(steps)
    scores = []
    for i in range(size):
        distances = sorted(((steps[i] - steps[j]) ** 2).sum() for j in range(size) if j != i)
        scores.append(sum(distances[: size - attackers - 2]))
    order = np.argsort(scores, kind="stable")
    kept = order[: size - attackers]
    lead = (scores[order[size - attackers]] - scores[kept[-1]]) if attackers else np.inf
    return steps[kept].mean(axis=0), lead


@examples(150, 40)
@given(populations(least_clients=5), st.data())
def test_the_updates_of_least_score_are_averaged(updates, data):
    attackers = data.draw(st.integers(0, (len(updates) - 3) // 2))
    expected, lead = multi_krum(updates, attackers)
    scale = 1 + np.abs(np.asarray(updates, np.float64)).max()
    if lead < 1e-9 * scale**2 * updates.shape[1]:  # rounding decides
        return
    _, result = aggregate("multi-krum", updates, attackers=attackers)
    assert np.count_nonzero(result.weights) == len(updates) - attackers
    np.testing.assert_allclose(result.model, expected, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize("attackers", [1, 3, 5])
def test_byzfl_gives_the_same_where_attackers_are_far_away(attackers):
    # It sums one neighbour more than the publication; with attackers far away both leave out just them.
    byzfl = byzfl_aggregators()
    rng = np.random.default_rng(attackers)
    updates = rng.normal(0, 0.1, (15, 200))
    updates[:attackers] += rng.normal(0, 5, (attackers, 200))
    _, result = aggregate("multi-krum", updates, attackers=attackers)
    np.testing.assert_allclose(result.model, byzfl.MultiKrum(attackers)(updates), rtol=0, atol=1e-12)
    assert (result.weights[:attackers] == 0).all()


def test_colluding_attackers_that_are_fewer_than_a_neighbourhood_are_left_out():
    updates = np.random.default_rng(0).normal(0, 0.1, (11, 50))
    updates[:4] = 0.5  # at distance 0 of each other
    _, result = aggregate("multi-krum", updates, attackers=4)
    assert (result.weights[:4] == 0).all()
    np.testing.assert_allclose(result.weights[4:], 1 / 7)
