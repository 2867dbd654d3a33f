import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.aggregation import oracle
from tests.aggregation.cases import aggregate, populations
from tests.examples import examples


@examples(200, 50)
@given(populations(), st.data())
def test_the_mean_is_weighted_by_counts_of_at_most_five_medians(updates, data):
    counts = data.draw(st.none() | st.lists(st.integers(0, 10**6), min_size=len(updates), max_size=len(updates)))
    _, result = aggregate("fedavg", updates, counts=None if counts is None else np.array(counts))
    model, weights = oracle.fedavg(updates, counts)
    np.testing.assert_allclose(result.weights, weights, rtol=1e-12)
    scale = 1 + float(np.abs(updates).max())
    np.testing.assert_allclose(
        result.model, model, rtol=0, atol=scale * (1e-7 if updates.dtype == np.float32 else 1e-13)
    )
    assert result.positive is None
    assert result.negative is None
    assert result.reputation is None


def test_a_client_that_claims_a_billion_samples_counts_for_five_medians():
    updates = np.array([[0.0], [0.0], [0.0], [1.0]], dtype=np.float32)
    _, result = aggregate("fedavg", updates, counts=np.array([10, 10, 10, 10**9]))
    np.testing.assert_allclose(result.weights, [1 / 8, 1 / 8, 1 / 8, 5 / 8], rtol=1e-12)
    assert result.model[0] == pytest.approx(0.625)


def test_without_counts_everybody_weighs_the_same():
    _, result = aggregate("fedavg", np.array([[1.0], [2.0], [6.0]]))
    assert result.model.tolist() == [3.0]
    np.testing.assert_allclose(result.weights, 1 / 3)


def test_counts_of_zero_everywhere_are_no_counts():
    _, result = aggregate("fedavg", np.array([[1.0], [3.0]]), counts=np.zeros(2))
    assert result.weights.tolist() == [0.5, 0.5]


def test_when_most_claim_nothing_nobody_is_believed():
    _, result = aggregate("fedavg", np.array([[1.0], [2.0], [3.0]]), counts=np.array([0, 0, 10**6]))
    np.testing.assert_allclose(result.weights, 1 / 3)


@pytest.mark.parametrize("ramp", [0, 4])
@pytest.mark.parametrize("count", [1e300, 1.7e308, 5e-324])
def test_absurd_but_finite_counts_still_give_weights_that_sum_to_one(count, ramp):
    _, result = aggregate("fedavg", np.array([[1.0], [2.0], [3.0]]), counts=np.full(3, count), ramp=ramp)
    np.testing.assert_allclose(result.weights, 1 / 3)
    assert result.model.tolist() == pytest.approx([2.0])


def test_a_ramp_reduces_the_weight_of_newcomers():
    updates = np.array([[0.0], [1.0]], dtype=np.float32)
    state, _ = aggregate("fedavg", updates[:1], ["old"], ramp=2)
    _, result = aggregate("fedavg", updates, ["old", "new"], state, ramp=2)
    np.testing.assert_allclose(result.weights, [2 / 3, 1 / 3])
    assert result.model == pytest.approx(1 / 3)
