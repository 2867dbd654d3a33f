import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.aggregation.cases import aggregate
from tests.aggregation.oracle import trimmed_mean
from tests.examples import examples


def chosen(updates):
    """The formula, read plainly: who keeps farthest from the largest and the smallest values."""
    top, bottom = updates.max(axis=0), updates.min(axis=0)
    return int(np.argmax([min(np.linalg.norm(one - top), np.linalg.norm(one - bottom)) for one in updates]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@examples(80, 20)
@given(st.integers(1, 12), st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 0.5, 2.0]), st.data())
def test_copies_of_the_update_far_from_all_extremes_are_trimmed_with_the_others(dtype, size, seed, share, data):
    attackers = data.draw(st.integers(0, (size - 1) // 2))
    updates = np.random.default_rng(seed).normal(0, 0.1, (size, 19)).astype(dtype)
    updates[:attackers] += 0.5
    copies = int(np.ceil(round(share * size, 6)))
    exact = np.asarray(updates, np.float64)
    together = np.vstack([exact, *[exact[chosen(exact)][None]] * copies])
    _, result = aggregate("foundation-fl", updates, attackers=attackers, synthetic=share)
    np.testing.assert_allclose(result.model, trimmed_mean(together, attackers), rtol=0, atol=1e-7)
    assert result.weights[chosen(exact)] == pytest.approx((1 + copies) / (size + copies))


def test_many_parameters_decide_together_whom_to_copy(monkeypatch):
    monkeypatch.setattr("eitr.aggregation.foundation_fl._NUMBERS", 1024)
    updates = np.random.default_rng(0).normal(0, 0.1, (5, 900))
    updates[:, -300:] *= np.array([1, 30, 1, 30, 30])[:, None]
    _, result = aggregate("foundation-fl", updates)
    assert int(result.weights.argmax()) == chosen(updates)


def test_an_attacker_far_out_is_not_the_one_that_is_copied():
    updates = np.random.default_rng(1).normal(0, 0.1, (10, 100))
    updates[:3] += 5
    _, result = aggregate("foundation-fl", updates, attackers=3)
    assert result.weights.argmax() >= 3
    assert np.abs(result.model).max() < 0.3


def test_of_equals_the_first_is_copied():
    _, result = aggregate("foundation-fl", np.ones((4, 3)))
    assert result.weights.tolist() == [0.5, 1 / 6, 1 / 6, 1 / 6]


def test_a_newcomer_counts_less():
    state = None
    for _ in range(2):
        state, _ = aggregate("foundation-fl", np.zeros((2, 1)), ["a", "b"], state, ramp=3)
    _, result = aggregate(
        "foundation-fl", np.array([[0.0], [0.0], [7.0]]), ["a", "b", "new"], state, ramp=3, synthetic=0.0
    )
    assert result.model[0] == pytest.approx(1.0)  # weights 3, 3, 1
