import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.aggregation.cases import aggregate, byzfl_aggregators
from tests.aggregation.oracle import trimmed_mean
from tests.examples import examples


def mixed(updates, attackers):
    """The formula, read plainly."""
    count = len(updates) - attackers
    nearest = [np.argsort(np.linalg.norm(updates - update, axis=1), kind="stable")[:count] for update in updates]
    return np.stack([updates[rows].mean(axis=0) for rows in nearest])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@examples(60, 15)
@given(st.integers(1, 12), st.integers(0, 2**32), st.data())
def test_updates_are_mixed_with_their_neighbours_and_trimmed(dtype, size, seed, data):
    attackers = data.draw(st.integers(0, (size - 1) // 2))
    updates = np.random.default_rng(seed).normal(0, 0.1, (size, 17)).astype(dtype)
    updates[:attackers] += 0.4
    _, result = aggregate("nnm", updates, attackers=attackers)
    expected = trimmed_mean(mixed(np.float64(updates), attackers), attackers)
    np.testing.assert_allclose(result.model, expected, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("attackers", [0, 1, 4])
def test_byzfl_gives_the_same(attackers):
    byzfl = byzfl_aggregators()
    updates = np.random.default_rng(attackers).normal(0, 1, (11, 70))
    _, result = aggregate("nnm", updates, attackers=attackers)
    expected = byzfl.TrMean(attackers)(byzfl.NNM(attackers)(updates))
    np.testing.assert_allclose(result.model, expected, rtol=0, atol=1e-12)


def test_more_parameters_than_a_block_are_mixed_whole(monkeypatch):
    monkeypatch.setattr("eitr.aggregation.nnm._NUMBERS", 1024)
    updates = np.random.default_rng(0).normal(0, 0.1, (4, 600))
    updates[0] += 1
    _, result = aggregate("nnm", updates, attackers=1)
    np.testing.assert_allclose(result.model, trimmed_mean(mixed(updates, 1), 1), rtol=0, atol=1e-12)


def test_equal_updates_come_out_to_the_bit_with_equal_weights():
    vector = np.array([0.1, 1 / 3, -1e-30, 1e6, 0.0, 123.456], dtype=np.float32)
    _, result = aggregate("nnm", np.tile(vector, (7, 1)), attackers=0)
    np.testing.assert_array_equal(result.model, vector)
    np.testing.assert_allclose(result.weights, 1 / 7)


def test_honest_neighbours_are_mixed_without_attackers_who_weigh_little():
    updates = np.random.default_rng(1).normal(0, 0.1, (10, 60))
    updates[:3] += 30
    _, result = aggregate("nnm", updates, attackers=3)
    np.testing.assert_allclose(result.model, updates[3:].mean(axis=0), rtol=0, atol=1e-12)
    assert result.weights[:3].sum() < 0.15


def test_a_newcomer_counts_less_in_every_mean():
    state = None
    for _ in range(2):
        state, _ = aggregate("nnm", np.zeros((2, 1)), ["a", "b"], state, ramp=3)
    _, result = aggregate("nnm", np.array([[0.0], [0.0], [7.0]]), ["a", "b", "new"], state, ramp=3)
    assert result.model[0] == pytest.approx(1.0)  # weights 3, 3, 1
    assert result.weights == pytest.approx([3 / 7, 3 / 7, 1 / 7])
