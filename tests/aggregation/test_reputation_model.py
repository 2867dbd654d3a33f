"""Opinions and reputations: the mathematics of steps 8 and 9, away from any rule."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation.reputation_model import HISTORY, Observations, ReputationModel
from eitr.aggregation.rule_state import RuleState
from tests.examples import examples

counts = st.integers(0, 10**9)
models = st.builds(
    ReputationModel,
    kappa=st.floats(0, 1),
    a=st.floats(0, 1),
    W=st.floats(1e-3, 1e3),
    c=st.floats(0, 5),
    s=st.integers(0, 12),
)
pasts = st.lists(st.tuples(counts, counts), min_size=1, max_size=16)


@examples(500, 500)
@given(models, counts, counts)
def test_belief_disbelief_and_uncertainty_lie_between_0_and_1_and_sum_to_1(model, positive, negative):
    opinion = model.opinion([positive], [negative])
    parts = np.array([opinion.belief, opinion.disbelief, opinion.uncertainty])
    assert (parts >= 0).all()
    assert (parts <= 1).all()
    assert parts.sum() == pytest.approx(1, abs=1e-12)
    assert -1e-12 <= opinion.expectation(model.a)[0] <= 1 + 1e-12


@examples(500, 500)
@given(models, counts, counts)
def test_an_opinion_is_the_papers_formula(model, positive, negative):
    kappa, eta = model.kappa, 1 - model.kappa
    total = kappa * positive + eta * negative + model.W
    opinion = model.opinion([positive], [negative])
    assert opinion.belief[0] == pytest.approx(kappa * positive / total)
    assert opinion.disbelief[0] == pytest.approx(eta * negative / total)
    assert opinion.uncertainty[0] == pytest.approx(model.W / total)
    assert opinion.expectation(model.a)[0] == pytest.approx((kappa * positive + model.W * model.a) / total)


def reputation_after(model, past):
    state = RuleState("reputation")
    for positive, negative in past:
        state, reputation = model.update(state, Observations(["ann"], [positive], [negative]))
    return float(reputation[0])


@examples(300, 300)
@given(models, pasts, st.data())
def test_more_negative_observations_never_raise_a_reputation(model, past, data):
    changed = data.draw(st.integers(0, len(past) - 1))
    more = data.draw(counts)
    worse = [(p, n + more) if number == changed else (p, n) for number, (p, n) in enumerate(past)]
    assert reputation_after(model, worse) <= reputation_after(model, past) + 1e-12


@examples(300, 300)
@given(models, pasts, st.data())
def test_more_positive_observations_never_lower_a_reputation(model, past, data):
    changed = data.draw(st.integers(0, len(past) - 1))
    more = data.draw(counts)
    better = [(p + more, n) if number == changed else (p, n) for number, (p, n) in enumerate(past)]
    assert reputation_after(model, better) >= reputation_after(model, past) - 1e-12


@examples(300, 300)
@given(models, pasts)
def test_a_reputation_is_the_faded_mean_of_the_last_rounds(model, past):
    single = [
        (model.kappa * p + model.W * model.a) / (model.kappa * p + (1 - model.kappa) * n + model.W) for p, n in past
    ]
    window = single[::-1][: model.s + 1]
    fading = [math.exp(-model.c * age) for age in range(len(window))]
    expected = sum(f * r for f, r in zip(fading, window, strict=True)) / sum(fading)
    assert reputation_after(model, past) == pytest.approx(expected, rel=1e-9)


def test_the_first_round_stands_alone_no_prior_reputation_enters():
    assert reputation_after(ReputationModel(), [(18, 2)]) == pytest.approx((0.3 * 18 + 1) / (0.3 * 18 + 0.7 * 2 + 2))


def test_age_counts_a_clients_own_rounds():
    model, state = ReputationModel(), RuleState("reputation")
    state, _ = model.update(state, Observations(["ann", "bob"], [0, 10], [10, 0]))
    for _ in range(30):  # ann stays away
        state, _ = model.update(state, Observations(["bob"], [10], [0]))
    _, away = model.update(state, Observations(["ann"], [10], [0]))
    assert away[0] == pytest.approx(reputation_after(model, [(0, 10), (10, 0)]))


def test_reputations_come_in_the_order_of_the_observations():
    model = ReputationModel()
    _, first = model.update(RuleState("reputation"), Observations(["ann", "bob", "eve"], [9, 5, 0], [0, 5, 9]))
    _, turned = model.update(RuleState("reputation"), Observations(["eve", "ann", "bob"], [0, 9, 5], [9, 0, 5]))
    assert turned.tolist() == first[[2, 0, 1]].tolist()


def test_an_update_returns_a_new_state_and_leaves_the_old_one():
    model = ReputationModel(s=3)
    state, _ = model.update(RuleState("reputation"), Observations(["ann"], [5], [1]))
    kept = state.memory[HISTORY].copy()
    new, _ = model.update(state, Observations(["ann", "bob"], [5, 5], [1, 1]))
    np.testing.assert_array_equal(state.memory[HISTORY], kept)
    assert state.clients == ("ann",)
    assert new.memory[HISTORY].shape == (2, 4)


def test_the_memory_of_a_client_is_bounded_by_the_window():
    model, state = ReputationModel(s=4), RuleState("reputation")
    for number in range(40):
        state, _ = model.update(state, Observations(["ann"], [number], [1]))
    assert state.memory[HISTORY].shape == (1, 5)
    newest = model.opinion(39, 1).expectation(model.a)
    assert state.memory[HISTORY][0, 0] == pytest.approx(float(newest))
