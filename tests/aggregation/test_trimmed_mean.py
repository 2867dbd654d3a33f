from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.aggregation import oracle
from tests.aggregation.cases import aggregate, populations
from tests.examples import examples

SHARES = ("0", "0.1", "0.2", "0.25", "0.3", "0.4", "0.49")


@examples(200, 40)
@given(populations(most_clients=20), st.sampled_from(SHARES))
def test_the_share_beta_is_dropped_on_each_side(updates, beta):
    drop = int(Fraction(beta) * len(updates))
    _, result = aggregate("trimmed-mean", updates, beta=float(beta))
    scale = 1 + float(np.abs(updates).max())
    np.testing.assert_allclose(
        result.model,
        oracle.trimmed_mean(updates, drop),
        rtol=0,
        atol=scale * (1e-7 if updates.dtype == np.float32 else 1e-13),
    )
    np.testing.assert_allclose(result.weights, 1 / len(updates))


@pytest.mark.parametrize("beta", ["0.1", "0.29", "0.3", "0.35"])
def test_the_share_is_meant_in_decimals_whatever_binary_fractions_make_of_it(beta):
    for size in range(1, 101):
        updates = np.arange(size, dtype=np.float64)[:, None] ** 2
        _, result = aggregate("trimmed-mean", updates, beta=float(beta))
        expected = oracle.trimmed_mean(updates, int(Fraction(beta) * size))
        assert result.model[0] == pytest.approx(expected[0]), size


@pytest.mark.parametrize("size", [1, 2, 3, 4, 10, 50])
@pytest.mark.parametrize("beta", [0.4999999999999999, 0.499999999999, 0.4999999])
def test_somebody_is_left_whatever_is_dropped(size, beta):
    updates = np.arange(size, dtype=np.float64)[:, None]
    _, result = aggregate("trimmed-mean", updates, beta=beta)
    assert result.model[0] == pytest.approx(np.median(updates))


def test_with_a_ramp_what_is_left_is_weighted():
    state = None
    for _ in range(2):
        state, _ = aggregate("trimmed-mean", np.array([[0.0]]), ["old"], state, ramp=2)
    updates = np.array([[0.0], [-50.0], [3.0], [50.0]])
    _, result = aggregate("trimmed-mean", updates, ["old", "x", "y", "z"], state, ramp=2, beta=0.25)
    assert result.model[0] == pytest.approx(1.0)  # 0 with weight 2, 3 with weight 1
