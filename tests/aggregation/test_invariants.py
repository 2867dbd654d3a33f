"""What holds for the rules whatever is sent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from eitr import testing
from eitr.aggregation import RULES, make_rule
from tests.aggregation.cases import (
    ALL_RULES,
    ATTACKER_COUNT,
    KINDS,
    SHIFTING,
    WITHIN_RANGE,
    aggregate,
    assert_same_state,
    histories,
    names,
    populations,
)
from tests.examples import examples


@st.composite
def anything(draw):
    """Any updates at all that are let in: single numbers chosen by Hypothesis, which likes zeros, ties and extremes."""
    width = draw(st.sampled_from([32, 64]))
    numbers = st.floats(-1e6, 1e6, width=width)
    shape = (draw(st.integers(1, 7)), draw(st.integers(1, 4)))
    return draw(arrays.arrays(np.float32 if width == 32 else np.float64, shape, elements=numbers))


def inside(model, updates):
    return bool((updates.min(axis=0) <= model).all() and (model <= updates.max(axis=0)).all())


@pytest.mark.parametrize("name", WITHIN_RANGE)
@examples(250, 25)
@given(populations() | anything(), st.sampled_from([0, 3]))
def test_every_result_lies_between_the_smallest_and_the_largest_value_sent(name, updates, ramp):
    _, result = aggregate(name, updates, ramp=ramp)
    assert np.isfinite(result.model).all()
    assert inside(result.model, updates)


def test_rounding_does_not_lead_outside_of_the_values_sent():
    # All weight on one client: m + (w - m) is often a bit beyond w.
    updates = KINDS["wild"](np.random.default_rng(8), (2, 2000))
    _, result = aggregate("fedavg", updates, counts=np.array([0, 1]))
    beyond = updates[0] + (updates[1] - updates[0])
    assert (beyond != updates[1]).sum() > 100
    assert inside(result.model, updates)


@examples(100, 15)
@given(populations() | anything(), st.sampled_from([0.01, 2.0]))
def test_the_papers_rescaling_too_stays_between_the_values_sent(updates, varpi):
    _, result = aggregate("reputation", updates, rescale="paper", varpi=varpi)
    assert inside(result.model, updates)


def rule_of(name, **settings):
    """Return a rule that takes rounds of one client, too."""
    return make_rule(name, **({"attackers": 0} if name in ATTACKER_COUNT else {}), **settings)


@pytest.mark.parametrize("name", ALL_RULES)
def test_every_rule_passes_the_checks_that_rules_outside_the_package_are_given(name):
    testing.check_rule(RULES[name])


@pytest.mark.parametrize("name", ALL_RULES)
@examples(150, 20)
@given(populations() | anything(), st.sampled_from([0, 3]))
def test_models_are_finite_and_weights_lie_between_0_and_1_and_sum_to_1(name, updates, ramp):
    testing.check_round(rule_of(name, ramp=ramp), updates)


@pytest.mark.parametrize("name", SHIFTING)
@examples(100, 15)
@given(populations(kinds=("ordinary", "shifted", "colluding"), dtype=np.float64), st.sampled_from([-3.0, 0.1, 7.5]))
def test_a_constant_shift_of_all_clients_shifts_the_result(name, updates, shift):
    _, result = aggregate(name, updates)
    _, shifted = aggregate(name, updates + shift)
    # The scale tau grows by 2.4e-7 |w|: next to the border of delta, and only there, a decision may change.
    if result.negative is not None and (result.negative != shifted.negative).any():
        assert np.abs(result.negative - shifted.negative).sum() == 1
        return
    np.testing.assert_allclose(shifted.model - shift, result.model, rtol=0, atol=2e-5)
    np.testing.assert_allclose(shifted.weights, result.weights, atol=2e-5)


@examples(100, 15)
@given(populations(kinds=("ordinary", "colluding"), dtype=np.float64), st.sampled_from([-3.0, 0.1, 7.5]))
def test_a_constant_shift_of_all_clients_shifts_the_result_of_the_residual_rule(updates, shift):
    updates = 1000 * updates  # tau grows by 2.4e-7 |w|: here that is nothing beside the residuals
    _, result = aggregate("residual", updates)
    _, shifted = aggregate("residual", updates + shift)
    np.testing.assert_allclose(shifted.weights, result.weights, atol=1e-3)
    np.testing.assert_allclose(shifted.model - shift, result.model, rtol=0, atol=1e-3 * np.ptp(updates) + 1e-9)


@pytest.mark.parametrize("name", SHIFTING)
@examples(60, 10)
@given(
    populations(kinds=("tied", "two_values", "line", "constant"), dtype=np.float64), st.sampled_from([-4.0, 0.5, 8.0])
)
def test_a_constant_shift_of_tied_values_shifts_the_result(name, updates, shift):
    _, result = aggregate(name, updates)
    _, shifted = aggregate(name, updates + shift)
    np.testing.assert_allclose(shifted.model - shift, result.model, rtol=0, atol=1e-9)


def distinct(rng, shape, dtype):
    """Updates without two equal values in a column, some of them outliers."""
    values = rng.normal(0, 0.1, shape)
    values[: shape[0] // 3] += 1.5
    values = values.astype(dtype)
    if any(len(np.unique(column)) < len(column) for column in values.T):  # two of so many float32 may be equal
        return distinct(rng, shape, dtype)
    return values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ALL_RULES)
@examples(25, 4)
@given(st.integers(2, 14), st.integers(0, 2**32), st.sampled_from([0, 3]))
def test_the_order_in_which_clients_come_does_not_change_a_bit(name, dtype, size, seed, ramp):
    rng = np.random.default_rng(seed)
    history = []
    for number in range(3):
        present = np.sort(rng.permutation(size)[: size - number % 2])
        history.append(([names(size)[row] for row in present], distinct(rng, (len(present), 11), dtype)))
    testing.check_order(rule_of(name, ramp=ramp), history, seed)


@pytest.mark.parametrize("name", ["reputation", "residual"])
def test_ties_go_by_client_id_whatever_order_clients_come_in(name):
    rng = np.random.default_rng(4)
    updates = KINDS["tied"](rng, (9, 40))
    order = rng.permutation(9)
    _, result = aggregate(name, updates)
    _, other = aggregate(name, updates[order], [names(9)[row] for row in order])
    np.testing.assert_array_equal(other.model, result.model)
    np.testing.assert_array_equal(other.weights, result.weights[order])


@pytest.mark.parametrize("name", ALL_RULES)
@examples(30, 5)
@given(histories(most_rounds=4))
def test_inputs_and_old_states_are_never_changed(name, history):
    testing.check_unchanged(make_rule(name), history.rounds)


@pytest.mark.parametrize("name", ALL_RULES)
@examples(10, 3)
@given(histories(most_rounds=2))
def test_the_same_rounds_give_the_same_bytes_also_as_column_major_tables(name, history):
    testing.check_repeatable(make_rule(name), history.rounds)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ALL_RULES)
def test_the_number_of_threads_does_not_change_a_byte(name, dtype, monkeypatch):
    # Wider than a piece of the residual rule's scores (4096), so that there is something to split.
    parameters = 9000 if name == "residual" else 1300
    updates = distinct(np.random.default_rng(6), (5, parameters), dtype)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("EITR_THREADS", threads)
        state, result = aggregate(name, updates)
        found.append((state, result))
    (state, result), (other_state, other) = found
    assert result.model.tobytes() == other.model.tobytes()
    assert result.weights.tobytes() == other.weights.tobytes()
    assert_same_state(state, other_state)
