import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.aggregation.cases import aggregate
from tests.examples import examples


def dnc_scores(updates):
    """The formula, read plainly: squared projections on the first right singular vector of the centred updates."""
    centred = np.asarray(updates, np.float64) - np.asarray(updates, np.float64).mean(axis=0)
    return (centred @ np.linalg.svd(centred, full_matrices=False)[2][0]) ** 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@examples(80, 20)
@given(st.integers(3, 14), st.integers(0, 2**32), st.sampled_from([0.5, 1.0, 1.5]), st.data())
def test_those_farthest_along_the_principal_direction_are_left_out(dtype, size, seed, filter, data):
    attackers = data.draw(st.integers(1, (size - 1) // 2))
    updates = np.random.default_rng(seed).normal(0, 0.1, (size, 25)).astype(dtype)
    updates[:attackers] += 0.3
    scores = dnc_scores(updates)
    order = np.argsort(scores)
    kept = order[: size - int(filter * attackers)]
    if len(kept) < size and scores[order[len(kept)]] - scores[kept[-1]] < 1e-6 * scores.max():
        return
    _, result = aggregate("dnc", updates, attackers=attackers, filter=filter)
    assert np.flatnonzero(result.weights).tolist() == sorted(kept)
    np.testing.assert_allclose(result.model, np.asarray(updates, np.float64)[kept].mean(axis=0), rtol=0, atol=1e-6)


@pytest.mark.parametrize("direction", ["all alike", "a way of their own"])
def test_attackers_that_go_one_way_are_left_out(direction):
    rng = np.random.default_rng(0)
    updates = rng.normal(0, 0.1, (12, 300))
    updates[:4] += 0.2 if direction == "all alike" else 0.2 * rng.choice([-1, 1], 300)
    _, result = aggregate("dnc", updates, attackers=4)
    assert np.flatnonzero(result.weights).tolist() == list(range(4, 12))


def test_clients_that_agree_all_stay_but_so_many():
    _, result = aggregate("dnc", np.full((5, 3), 0.1), attackers=2)
    assert result.model.tolist() == [0.1] * 3
    assert np.count_nonzero(result.weights) == 3


@pytest.mark.parametrize("seed", range(5))
def test_where_no_direction_is_the_first_rounding_does_not_choose_whom_to_leave_out(seed):
    # Three who differ equally in every direction: all scores are equal, so the one who stays out is the last by name.
    values = [[-0.1, 0.0, 0.1], [0.0, 0.1, -0.1], [0.1, -0.1, 0.0]]
    updates = np.array(values, np.float32) + np.float32(seed / 3 - 1.43)
    _, result = aggregate("dnc", updates, attackers=1)
    assert result.weights.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("common", [1.0, 10.0, 1000.0])
def test_a_long_common_step_does_not_make_rounding_choose(common):
    # Differences far below the common step: the inner products know them with few digits.
    values = 1e-4 * np.array([[-1.0, 0.0, 1.0], [0.0, 1.0, -1.0], [1.0, -1.0, 0.0]])
    for seed in range(20):
        updates = values + common * np.random.default_rng(seed).normal(size=3)
        _, result = aggregate("dnc", updates, attackers=1)
        assert result.weights.tolist() == [0.5, 0.5, 0.0]
