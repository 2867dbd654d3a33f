"""The paper's rule as its published code computes it: what the table in docs/fidelity.md says, row by row."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eitr.aggregation import Round, make_rule
from eitr.aggregation.published_code import observed_parameters
from eitr.errors import InputError
from eitr.model.network import Network
from tests.aggregation.cases import KINDS, aggregate, names, populations
from tests.aggregation.oracle import BORDER, residual_confidences
from tests.examples import examples


def expected(updates, *, delta=0.1, lambda_=2.0, kappa=0.3, W=2.0, a=0.5):
    """(model, weights, rejected, clear) of a first round of at most 2,000 parameters, plainly, in float64."""
    values = np.asarray(updates, np.float64)
    restricted, rejected, clear = values.copy(), np.zeros(len(values)), True
    if len(values) >= 4:
        for n, column in enumerate(values.T):
            sure, line = residual_confidences(column, lambda_=lambda_)
            restricted[:, n] = np.where(sure < delta, line, column)
            rejected += sure < delta
            clear = clear and bool((np.abs(sure - delta) > BORDER).all())
    accepted = values.shape[1] - rejected
    reputation = (kappa * rejected + W * a) / (kappa * rejected + (1 - kappa) * accepted + W)
    spread = np.ptp(reputation)
    share = np.ones(len(values)) if spread < 1e-9 else (reputation - reputation.min()) / spread
    share[share < 1 / len(values)] = 0
    weights = share / share.sum()
    return np.clip(weights @ restricted, values.min(axis=0), values.max(axis=0)), weights, rejected, clear


@examples(200, 30)
@given(populations(kinds=tuple(kind for kind in KINDS if kind != "wild")), st.sampled_from([0.1, 0.5]))
def test_a_first_round_is_as_described(updates, delta):
    _, result = aggregate("published-code", updates, delta=delta)
    model, weights, rejected, clear = expected(updates, delta=delta)
    assume(clear)
    np.testing.assert_array_equal(result.negative, rejected)
    np.testing.assert_allclose(result.weights, weights, atol=1e-9)
    scale = 1 + float(np.abs(updates).max())
    np.testing.assert_allclose(
        result.model, model, rtol=0, atol=scale * (1e-5 if updates.dtype == np.float32 else 1e-7)
    )


def test_the_last_shards_of_the_papers_network_hold_2678_parameters():
    network = Network()
    mark = np.zeros(network.size, np.float32)
    mark[observed_parameters(network.size)] = 1
    assert (network.size, int(mark.sum())) == (264_678, 2_678)
    first, second, third = network.split(mark)
    # As PyTorch has them, (outputs, inputs): 256 x 1000 is 128 whole shards, 32 x 256 is four and 192 numbers.
    in_pytorch = first.kernel.T.ravel()
    assert (in_pytorch[:-2000].sum(), in_pytorch[-2000:].sum()) == (0, 2000)
    in_pytorch = second.kernel.T.ravel()
    assert (in_pytorch[:8000].sum(), in_pytorch[8000:].sum()) == (0, 192)
    assert all(part.all() for part in (first.bias, second.bias, third.kernel, third.bias))


def test_a_network_with_another_number_of_inputs_is_recognised_and_any_other_can_be_named():
    smaller = Network((60, 256, 32, 6))
    assert len(observed_parameters(smaller.size)) == (60 * 256) % 2000 + 256 + 192 + 32 + 192 + 6
    other = Network((5, 500, 2))
    assert len(observed_parameters(other.size)) == other.size % 2000
    assert len(observed_parameters(other.size, "5-500-2")) == 500 + 500 + 1000 + 2
    updates = np.random.default_rng(0).normal(size=(5, other.size))
    assert "one tensor" in aggregate("published-code", updates)[1].notes["layers"]
    assert aggregate("published-code", updates, layers="5-500-2")[1].notes == {"observed": 2002}


@pytest.mark.parametrize("layers", ["1000", "a-b", "3--2", "3-0", "3,2", "-3-2", "3-²", "3-" + "9" * 5000])
def test_layers_that_are_no_widths_are_refused(layers):
    with pytest.raises(InputError, match="1000-256-32-6"):
        make_rule("published-code", layers=layers)


def test_layers_of_another_network_are_refused():
    with pytest.raises(InputError, match="8 parameters, and the updates have 9: give the layers"):
        aggregate("published-code", np.zeros((5, 9)), layers="3-2")


def test_only_observed_parameters_are_evidence():
    updates = np.random.default_rng(1).normal(0, 0.1, (10, 2500)).astype(np.float32)
    updates[3, :2000] += 5  # before the last shard: rejected, and nobody notices
    _, result = aggregate("published-code", updates)
    assert result.notes["observed"] == 500
    assert result.negative[3] < 20
    assert (result.positive + result.negative == 500).all()
    _, noticed = aggregate("published-code", updates[:, :2000])
    assert noticed.negative[3] > 1900


def test_who_is_rejected_most_weighs_most_and_under_the_papers_text_nothing():
    updates = np.random.default_rng(2).normal(0, 0.1, (10, 1000)).astype(np.float32)
    updates[9] *= 20
    _, code = aggregate("published-code", updates)
    _, text = aggregate("reputation", updates, rescale="paper")
    assert code.weights[9] == code.weights.max() == 1
    assert text.weights[9] == 0


def test_a_rejected_value_becomes_the_value_of_the_line():
    column = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 9.0])
    sure, line = residual_confidences(column)
    assert (sure < 0.1).tolist() == [False] * 5 + [True]
    _, result = aggregate("published-code", column[:, None])
    assert result.weights.tolist() == [0, 0, 0, 0, 0, 1]
    assert result.model[0] == pytest.approx(line[5])
    assert 0.4 < line[5] < 0.6


def test_yesterday_counts_practically_nothing():
    rng = np.random.default_rng(3)
    rule = make_rule("published-code")
    state = rule.init()
    for _ in range(5):
        loud = rng.normal(0, 0.1, (10, 400))
        loud[0] *= 20
        state, last = rule.update(state, Round(None, loud, names(10)))
    now = rng.normal(0, 0.1, (10, 400))
    now[5] *= 20
    _, result = rule.update(state, Round(None, now, names(10)))
    _, alone = aggregate("published-code", now)
    assert last.weights[0] == 1
    np.testing.assert_allclose(result.reputation, alone.reputation, rtol=0, atol=math.exp(-10))
    assert result.weights.argmax() == 5


def test_weights_below_1_of_m_are_cut_off():
    rng = np.random.default_rng(4)
    updates = rng.normal(0, 0.1, (10, 1000))
    updates[9] *= 20
    updates[8, :20] += 5  # sticks out in 20 of 1,000 values: a hundredth of what client 9 has
    _, result = aggregate("published-code", updates)
    assert result.negative[8] >= 15
    assert result.reputation[8] > np.sort(result.reputation)[:8].max()
    assert result.weights[8] == 0


def test_a_bad_update_counts_against_its_sender():
    rule = make_rule("published-code")
    state, _ = aggregate("published-code", np.random.default_rng(5).normal(size=(6, 40)))
    before = rule.standing(state, "client002")
    after = rule.standing(rule.refuse(state, "client002", 40), "client002")
    assert after < 0.05
    assert after <= before
    with pytest.raises(InputError, match="at least one parameter"):
        rule.refuse(state, "client002", 0)
