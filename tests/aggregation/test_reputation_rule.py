"""The whole reputation rule over several rounds, against the plain one, and what it promises about memory."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eitr.aggregation import Round, make_rule
from eitr.aggregation.reputation import Reputation
from eitr.aggregation.reputation_model import Observations, ReputationModel
from tests.aggregation import oracle
from tests.aggregation.cases import KINDS, aggregate, assert_same_state, histories, names
from tests.examples import examples

CONTINUOUS = ("ordinary", "shifted", "far_away", "tiny")
"""Where the paper's loop meets no ties, so that rounding cannot choose another client to move."""

choices = st.fixed_dictionaries(
    {},
    optional={
        "a": st.sampled_from([0.0, 0.5, 1.0]),
        "W": st.sampled_from([0.1, 2.0, 50.0]),
        "kappa": st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        "c": st.sampled_from([0.0, 0.5, 3.0]),
        "s": st.sampled_from([0, 1, 2, 10]),
        "delta": st.sampled_from([0.05, 0.1, 0.5, 0.9]),
        "varpi": st.sampled_from([0.2, 2.0, 1e7]),
        "lambda_": st.sampled_from([0.5, 2.0, 4.0]),
        "cutoff": st.booleans(),
        "ramp": st.sampled_from([0, 1, 3]),
    },
)


def follow(history, chosen):
    """Run the rule and the plain one side by side through a history, and compare them round by round."""
    rule, plain = make_rule("reputation", **chosen), oracle.ReputationRule(**chosen)
    state = rule.init()
    for ids, updates in history.rounds:
        state, result = rule.update(state, Round(None, updates, ids))
        expected = plain.update(ids, updates)
        assume(expected["clear"])
        np.testing.assert_array_equal(result.positive, expected["positive"])
        np.testing.assert_array_equal(result.negative, expected["negative"])
        np.testing.assert_allclose(result.reputation, expected["reputation"], rtol=1e-12)
        np.testing.assert_allclose(result.weights, expected["weights"], atol=1e-6)
        assert result.model.dtype == updates.dtype
        spread = 1 + float(np.abs(updates.astype(np.float64)).max())
        np.testing.assert_allclose(
            result.model, expected["model"], rtol=0, atol=spread * (3e-7 if updates.dtype == np.float32 else 1e-9)
        )
    assert dict(zip(state.clients, state.rounds.tolist(), strict=True)) == plain.rounds


@examples(400, 40)
@given(histories(), choices)
def test_every_round_is_as_the_specification_says_whoever_joins_leaves_or_returns(history, chosen):
    follow(history, chosen)


@examples(200, 25)
@given(histories(kinds=CONTINUOUS), choices)
def test_the_papers_rescaling_is_as_the_specification_says(history, chosen):
    follow(history, {**chosen, "rescale": "paper"})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_many_clients_are_judged_as_the_specification_says(kind, dtype):
    rng = np.random.default_rng(7)
    updates = KINDS[kind](rng, (33, 9)).astype(dtype)
    _, result = aggregate("reputation", updates)
    expected = oracle.ReputationRule().update(names(33), updates)
    if expected["clear"]:
        np.testing.assert_array_equal(result.negative, expected["negative"])
    # In float32 the model is rounded to 24 bits.
    tolerance = (1 + np.abs(updates).max()) * (3e-7 if dtype == np.float32 else 1e-9)
    np.testing.assert_allclose(result.model, expected["model"], rtol=0, atol=tolerance)


def test_shifting_attackers_lose_their_weight_and_honest_clients_do_not():
    rng = np.random.default_rng(1)
    updates = rng.normal(0, 0.05, (10, 300)).astype(np.float32)
    updates[7:] += 3
    _, result = aggregate("reputation", updates)
    assert result.weights[7:].max() < 0.02
    assert result.weights[:7].min() > 0.12
    assert np.abs(result.model).mean() < 0.06


def attacked(rng, attackers, shift=3.0):
    updates = rng.normal(0, 0.05, (10, 100)).astype(np.float32)
    updates[list(attackers)] += shift
    return updates


def test_a_client_that_joins_in_round_50_is_judged_on_its_own_rounds():
    rng = np.random.default_rng(2)
    rule, ids, state = Reputation(), names(10), None
    for _ in range(50):
        state, _ = aggregate("reputation", attacked(rng, [9]), ids, state)
    updates = np.vstack([attacked(rng, [9]), rng.normal(0, 0.05, (1, 100)).astype(np.float32)])
    state, result = rule.update(state, Round(None, updates, [*ids, "newcomer"]))
    own = rule._model.opinion(result.positive[10], result.negative[10]).expectation(rule.a)
    assert result.reputation[10] == pytest.approx(own, rel=1e-12)
    assert result.weights[10] > 0.05
    assert state.rounds[state.rows(["newcomer"])] == 1


def test_a_client_that_returns_after_a_hundred_rounds_is_remembered_as_it_left():
    rng = np.random.default_rng(3)
    rule, ids = Reputation(), names(10)
    state, before = aggregate("reputation", attacked(rng, [9]), ids)
    for _ in range(100):
        state, _ = aggregate("reputation", attacked(rng, [])[:9], ids[:9], state)
    _, after = rule.update(state, Round(None, attacked(rng, []), ids))
    good = rule._model.opinion(after.positive[9], after.negative[9]).expectation(rule.a)
    fading = np.exp(-rule.c)
    assert after.reputation[9] == pytest.approx((good + fading * before.reputation[9]) / (1 + fading), rel=1e-12)
    assert after.weights[9] < after.weights[:9].min()


def test_rounds_older_than_the_window_are_forgotten():
    rng = np.random.default_rng(4)
    ids, state = names(10), None
    for number in range(5):
        state, result = aggregate("reputation", attacked(rng, [9] if number < 2 else []), ids, state, s=2)
    fresh = oracle.ReputationRule(s=2)
    own = [float(r) for r in state.memory["reputations"][9]]
    assert len(own) == 3
    assert result.reputation[9] == pytest.approx(
        sum(r * np.exp(-0.5 * age) for age, r in enumerate(own)) / sum(np.exp(-0.5 * age) for age in range(3))
    )
    assert min(own) > fresh.a


def test_without_a_memory_only_the_current_round_counts():
    rng = np.random.default_rng(5)
    rule, state = Reputation(s=0), None
    for attackers in ([9], []):
        state, result = aggregate("reputation", attacked(rng, attackers), None, state, s=0)
    expected = rule._model.opinion(result.positive, result.negative).expectation(rule.a)
    np.testing.assert_allclose(result.reputation, expected, rtol=1e-12)


def test_the_cutoff_takes_the_weight_of_everybody_below_one_share():
    rng = np.random.default_rng(6)
    updates = rng.normal(0, 0.05, (20, 400))
    updates[rng.random((20, 400)) < 0.7 * np.arange(20)[:, None] / 20] += 3  # each a little worse than the last
    _, plain = aggregate("reputation", updates)
    _, cut = aggregate("reputation", updates, cutoff=True)
    span = plain.reputation.max() - plain.reputation.min()
    normalised = (plain.reputation - plain.reputation.min()) / span
    below = normalised < 1 / 20
    assert (normalised[below] > 0.4 / 20).any()  # somebody just below the share
    assert (normalised[~below] < 3 / 20).any()  # and somebody just above
    assert (cut.weights[below] == 0).all()
    assert (cut.weights[~below] > 0).all()
    expected = oracle.ReputationRule(cutoff=True).update(names(20), updates)
    np.testing.assert_allclose(cut.weights, expected["weights"], atol=1e-9)


def test_a_ramp_gives_a_newcomer_its_weight_in_steps():
    updates = np.ones((3, 4), dtype=np.float32)
    state = None
    for _ in range(4):
        state, _ = aggregate("reputation", updates[:2], ["a", "b"], state, ramp=4)
    for number in (1, 2, 3, 4, 5):
        state, result = aggregate("reputation", updates, ["a", "b", "new"], state, ramp=4)
        part = min(1, number / 4)
        np.testing.assert_allclose(result.weights, np.array([1, 1, part]) / (2 + part))


def test_a_refused_update_is_as_many_negative_observations_as_it_has_parameters():
    rule = make_rule("reputation")
    state = rule.refuse(rule.init(), "bob", 1000)
    expected, _ = ReputationModel().update(rule.init(), Observations(["bob"], [0], [1000]))
    assert_same_state(state, expected)
    assert state.memory["reputations"][0, 0] == pytest.approx((2 * 0.5) / (0.7 * 1000 + 2))


def test_a_refused_update_does_not_count_as_a_round_of_the_ramp():
    rule = make_rule("reputation", ramp=3)
    state, _ = aggregate("reputation", np.ones((2, 5), dtype=np.float32), ["ann", "bob"], ramp=3)
    refused = rule.refuse(state, "bob", 5)
    np.testing.assert_array_equal(refused.rounds, state.rounds)
    assert rule.refuse(rule.init(), "eve", 5).rounds.tolist() == [0]


def test_a_refused_client_weighs_less_when_it_returns():
    rule, updates = make_rule("reputation"), np.ones((3, 50), dtype=np.float32)
    state, _ = aggregate("reputation", updates, ["ann", "bob", "eve"])
    before = {name: array.copy() for name, array in state.memory.items()}
    refused = rule.refuse(state, "eve", 50)
    np.testing.assert_array_equal(state.memory["reputations"], before["reputations"])  # the old state is a value
    _, result = rule.update(refused, Round(None, updates, ["ann", "bob", "eve"]))
    assert result.weights.tolist() == [0.5, 0.5, 0.0]


def test_a_client_refused_at_its_first_contact_joins_with_that_past():
    rule, updates = make_rule("reputation"), np.ones((2, 50), dtype=np.float32)
    state = rule.refuse(rule.init(), "eve", 50)
    state, result = rule.update(state, Round(None, updates, ["ann", "eve"]))
    assert result.reputation[1] < result.reputation[0]
    assert result.weights.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", ["fedavg", "median", "trimmed-mean", "foolsgold", "residual", "fltrust"])
def test_a_rule_without_reputations_forgets_a_refusal(name):
    rule = make_rule(name)
    state, _ = aggregate(name, np.ones((2, 5), dtype=np.float32))
    assert rule.refuse(state, "eve", 5) is state


def test_a_shorter_window_reads_the_state_of_a_longer_one_and_back():
    rng = np.random.default_rng(8)
    state = None
    for _ in range(5):
        state, _ = aggregate("reputation", attacked(rng, [9]), None, state, s=4)
    long = state.memory["reputations"]
    shorter, _ = aggregate("reputation", attacked(rng, [9]), None, state, s=1)
    np.testing.assert_array_equal(shorter.memory["reputations"][:, 1], long[:, 0])
    wider, _ = aggregate("reputation", attacked(rng, [9]), None, state, s=8)
    np.testing.assert_array_equal(wider.memory["reputations"][:, 1:6], long)
    assert np.isnan(wider.memory["reputations"][:, 6:]).all()
