import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.aggregation import oracle
from tests.aggregation.cases import KINDS, aggregate, populations
from tests.examples import examples


def tolerance(updates):
    scale = 1 + float(np.abs(updates).max())
    return scale * (1e-6 if updates.dtype == np.float32 else 1e-8)


@examples(300, 40)
@given(
    populations(kinds=tuple(kind for kind in KINDS if kind != "wild")),
    st.sampled_from([0.05, 0.1, 0.5]),
    st.sampled_from([1.0, 2.0]),
)
def test_weights_and_model_are_those_of_fu_et_al(updates, delta, lambda_):
    _, result = aggregate("residual", updates, delta=delta, lambda_=lambda_)
    model, weights, clear = oracle.residual(updates, delta=delta, lambda_=lambda_)
    assume(clear)
    np.testing.assert_allclose(result.weights, weights, atol=1e-5)
    np.testing.assert_allclose(result.model, model, rtol=0, atol=10 * tolerance(updates))


@examples(100, 20)
@given(populations(kinds=("wild",)))
def test_wild_values_give_the_same_weights_too(updates):
    _, result = aggregate("residual", updates)
    _, weights, clear = oracle.residual(updates)
    assume(clear)
    np.testing.assert_allclose(result.weights, weights, atol=1e-5)
    assert np.isfinite(result.model).all()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_fewer_than_four_clients_have_equal_weights(size):
    updates = np.random.default_rng(0).normal(size=(size, 5))
    _, result = aggregate("residual", updates, lambda_=0.05)  # narrow enough to tell three clients apart
    np.testing.assert_allclose(result.weights, 1 / size)
    np.testing.assert_allclose(result.model, updates.mean(axis=0), atol=1e-15)


def test_all_equal_clients_have_equal_weights_and_exactly_their_value():
    updates = np.full((6, 5), 0.1, dtype=np.float32)
    _, result = aggregate("residual", updates)
    np.testing.assert_allclose(result.weights, 1 / 6)
    assert (result.model == np.float32(0.1)).all()


def test_scores_of_many_pieces_add_up():
    rng = np.random.default_rng(3)
    updates = rng.normal(0, 0.1, (4, 4096 + 40)).astype(np.float32)
    updates[3, 4096:] += 5
    both, first, second = (aggregate("residual", u)[1].weights for u in (updates, updates[:, :4096], updates[:, 4096:]))
    assert not np.allclose(first, second, atol=1e-2)
    _, weights, _ = oracle.residual(updates[:, 4000:])
    np.testing.assert_allclose(aggregate("residual", updates[:, 4000:])[1].weights, weights, atol=1e-6)
    scores = np.sqrt(both / both.max())
    assert (scores <= 1).all()
    assert both[3] < first[3]


def test_a_rejected_value_is_replaced_by_the_line():
    updates = np.arange(8.0)[:, None] / 10
    updates[7] = 50
    _, result = aggregate("residual", updates)
    model, weights, _ = oracle.residual(updates)
    np.testing.assert_allclose(result.weights, weights, atol=1e-9)
    assert result.model[0] == pytest.approx(model[0])
    assert result.model[0] < 0.7


def test_a_line_beyond_all_values_does_not_lead_the_model_outside_of_what_was_sent():
    # The first column rises and then stops: the line runs on above everything that was sent. In the others the
    # client at its upper end is always trusted, while the rest take turns at being outliers.
    rng = np.random.default_rng(640)
    size = 8
    updates = rng.permuted(np.broadcast_to(np.arange(size)[:, None] / 10, (size, 30)), axis=0)
    for n in range(1, 30):
        updates[rng.permutation(size - 1)[:3], n] += rng.choice([-1, 1], 3) * rng.uniform(1, 9, 3)
    updates[:, 0] = np.minimum(np.arange(size), 4)
    _, result = aggregate("residual", updates)
    assert updates[:, 0].min() <= result.model[0] <= updates[:, 0].max()
