"""The fused rule over several rounds: who loses weight, who keeps it, and what is remembered of whom."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation import Round, make_rule
from eitr.aggregation.fused import groups
from eitr.aggregation.fused.features import shortening
from eitr.aggregation.fused.rule import DETECTORS, SKETCH, Fused
from eitr.aggregation.fused.sketch import DIMENSIONS
from eitr.aggregation.opinions import Opinion
from eitr.aggregation.reputation_model import HISTORY
from eitr.aggregation.rule_state import RuleState, load_state, save_state, state_bytes
from eitr.compiled import JIT
from eitr.errors import InputError
from tests.aggregation.cases import assert_same_state, names, populations
from tests.aggregation.round_features import features_of, honest
from tests.examples import examples

PARAMETERS = 5000 if JIT else 300
MANY = pytest.mark.skipif(not JIT, reason="the few parameters of plain Python have much in common by chance")
NAMES = [detector.name for detector in DETECTORS]


def steps(rng, clients=10, common=0.9, parameters=PARAMETERS, dtype=np.float32):
    """Honest steps of length 1: what all have in common, and what each has by itself."""
    drawn = rng.normal(size=(clients + 1, parameters))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    mixed = common * drawn[0] + np.sqrt(1 - common**2) * drawn[1:]
    return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(dtype)


class Federation:
    """A server with the rule, and the steps that clients send it."""

    def __init__(self, clients=10, parameters=PARAMETERS, dtype=np.float32, **settings):
        self.rule = make_rule("fused", **settings)
        self.state = self.rule.init()
        self.ids = names(clients)
        self.base = np.full(parameters, 0.25, dtype)

    def round(self, sent, ids=None, **more):
        """One round; the model moves on."""
        given_in = Round(self.base, self.base + sent, self.ids if ids is None else ids, **more)
        self.state, result = self.rule.update(self.state, given_in)
        self.base = result.model
        return result


def backwards(rng, sent):
    return -sent


def shifted(rng, sent):
    return sent + np.float32(4 / np.sqrt(sent.shape[1]))


def noise(rng, sent):
    return rng.normal(0, 10 / np.sqrt(sent.shape[1]), sent.shape).astype(np.float32)


def scaled(rng, sent):
    return 20 * sent


ATTACKS = pytest.mark.parametrize("attack", [backwards, shifted, noise, scaled], ids=lambda attack: attack.__name__)


# Small and empty rounds.


def test_a_single_client_is_the_model():
    federation = Federation(1)
    sent = steps(np.random.default_rng(0), 1)
    result = federation.round(sent)
    assert result.weights.tolist() == [1.0]
    np.testing.assert_allclose(result.model, 0.25 + sent[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("attack", [None, backwards])
def test_of_two_clients_none_is_judged(attack):
    rng, federation = np.random.default_rng(0), Federation(2)
    sent = steps(rng, 2)
    if attack:
        sent[1] = attack(rng, sent[1])
    result = federation.round(sent)
    assert result.weights.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(result.model, 0.25 + sent.mean(axis=0), rtol=0, atol=1e-6)


@pytest.mark.parametrize("clients", [3, 4, 5, 10])
def test_honest_clients_weigh_the_same_however_few(clients):
    rng, federation = np.random.default_rng(1), Federation(clients)
    for _ in range(4):
        weights = federation.round(steps(rng, clients)).weights
        np.testing.assert_allclose(weights, 1 / clients, rtol=0.1)


@pytest.mark.parametrize("clients", [4, 5, 7])
def test_among_few_the_one_that_goes_backwards_loses_its_weight(clients):
    rng, federation = np.random.default_rng(1), Federation(clients)
    for _ in range(4):
        sent = steps(rng, clients)
        sent[0] *= -1
        weights = federation.round(sent).weights
    assert weights[0] < 0.3 * weights[1:].min()


@MANY
def test_of_three_clients_with_nothing_in_common_all_have_a_say():
    rng, federation = np.random.default_rng(1), Federation(3)
    for _ in range(4):
        weights = federation.round(steps(rng, 3, common=0.0)).weights
    assert weights.min() > 0.2


@pytest.mark.parametrize("clients", [1, 2, 3, 4, 10])
def test_clients_that_all_send_the_same_weigh_the_same(clients):
    federation = Federation(clients)
    sent = np.repeat(steps(np.random.default_rng(2), 1), clients, axis=0)
    for _ in range(2):
        before = federation.base
        result = federation.round(sent)
        np.testing.assert_allclose(result.weights, 1 / clients, rtol=1e-12)
        np.testing.assert_allclose(result.model, before + sent[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("clients", [1, 2, 3, 4, 10])
def test_where_nobody_moves_the_model_stays_to_the_bit(clients):
    federation = Federation(clients)
    before = federation.base.copy()
    for _ in range(2):
        result = federation.round(np.zeros((clients, PARAMETERS), np.float32))
        assert np.array_equal(result.model, before)
        np.testing.assert_allclose(result.weights, 1 / clients, rtol=1e-12)


def test_clients_that_send_nothing_among_others_are_not_counted_as_they_are_many():
    rng, federation = np.random.default_rng(3), Federation(10)
    for _ in range(3):
        sent = steps(rng)
        sent[:4] = 0
        weights = federation.round(sent).weights
    assert weights[:4].max() < 0.5 * weights[4:].min()


@examples(150, 20)
@given(populations(), st.sampled_from([0, 10]), st.sampled_from(["", *NAMES]))
def test_whatever_is_sent_the_model_and_the_weights_are_numbers(updates, ramp, without):
    rule = make_rule("fused", ramp=ramp, without=without)
    state, base = rule.init(), np.zeros(updates.shape[1], updates.dtype)
    for _ in range(2):
        with np.errstate(invalid="raise", divide="raise"):
            state, result = rule.update(state, Round(base, updates, names(len(updates))))
        assert np.isfinite(result.model).all()
        assert (result.weights >= 0).all()
        assert result.weights.sum() == pytest.approx(1, abs=1e-12)
        assert ((result.reputation >= 0) & (result.reputation <= 1)).all()


# The model.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_model_is_the_weighted_mean_of_shortened_steps(dtype):
    rng, federation = np.random.default_rng(4), Federation(8, dtype=dtype)
    for _ in range(3):
        before = federation.base.astype(np.float64)
        sent = steps(rng, 8, dtype=dtype) * rng.uniform(0.5, 3, (8, 1)).astype(dtype)
        result = federation.round(sent)
        taken = (before.astype(dtype) + sent).astype(np.float64) - before
        shortened = taken * shortening(np.linalg.norm(taken, axis=1))[:, None]
        assert result.model.dtype == dtype
        expected = before + result.weights @ shortened
        np.testing.assert_allclose(result.model, expected, rtol=0, atol=1e-7 if dtype == np.float32 else 1e-13)


def test_a_long_step_counts_no_more_than_the_usual_length_even_if_nobody_doubts_it():
    federation = Federation(5, parameters=50, kappa=1.0, without="magnitude")
    sent = np.zeros((5, 50), np.float32)
    sent[np.arange(5), np.arange(5)] = [1000.0, 1.0, 1.0, 1.0, 1.0]
    result = federation.round(sent)
    assert result.weights[0] > 0
    assert result.model[0] - 0.25 == pytest.approx(result.weights[0], rel=1e-3)


def test_the_order_in_which_clients_come_does_not_change_a_byte():
    rng = np.random.default_rng(5)
    one, other = Federation(9), Federation(9)
    for _ in range(4):
        sent = steps(rng, 9)
        sent[0] *= -1
        sent[3] *= 9
        sent[2, 0], sent[4, -2] = -0.3, 0.5  # one harms a class, one teaches another that nobody can test
        order = rng.permutation(9)
        known = {"scorer": with_validation(known=(0, 2))}
        first = one.round(sent, counts=np.arange(9.0), **known)
        second = other.round(sent[order], [other.ids[row] for row in order], counts=np.arange(9.0)[order], **known)
        assert first.model.tobytes() == second.model.tobytes()
        assert np.array_equal(first.weights[order], second.weights)
        assert np.array_equal(first.reputation[order], second.reputation)
        assert first.notes == second.notes
        assert state_bytes(one.state) == state_bytes(other.state)


def test_the_seed_of_the_projection_is_part_of_the_memory_alone():
    rng = np.random.default_rng(6)
    one, other = Federation(6), Federation(6, seed=1)
    sent = steps(rng, 6)
    first, second = one.round(sent), other.round(sent)
    np.testing.assert_allclose(first.weights, second.weights, rtol=0.05)
    assert not np.array_equal(one.state.memory[SKETCH], other.state.memory[SKETCH])


# Attackers.


@ATTACKS
@pytest.mark.parametrize("attackers", [1, 3])
def test_attackers_lose_nearly_all_weight_within_a_few_rounds_and_honest_clients_none(attack, attackers):
    rng, federation = np.random.default_rng(7), Federation(10)
    for _ in range(4):
        sent = steps(rng)
        sent[:attackers] = attack(rng, sent[:attackers])
        weights = federation.round(sent).weights
    assert weights[:attackers].sum() < 0.05
    assert weights[attackers:].max() < 1.2 * weights[attackers:].min()


@ATTACKS
def test_under_attack_the_model_goes_where_honest_clients_go(attack):
    rng, federation = np.random.default_rng(8), Federation(10)
    for _ in range(4):
        sent, before = steps(rng), federation.base
        goal = sent[3:].mean(axis=0)
        sent[:3] = attack(rng, sent[:3])
        taken = federation.round(sent).model - before
    assert taken @ goal / np.linalg.norm(taken) / np.linalg.norm(goal) > 0.95
    assert np.linalg.norm(taken) < 1.2


@MANY
@pytest.mark.parametrize("common", [0.95, 0.6, 0.2, 0.0])
def test_without_attackers_weights_are_near_uniform(common):
    rng, federation = np.random.default_rng(9), Federation(10)
    for _ in range(5):
        weights = federation.round(steps(rng, common=common)).weights
        assert weights.max() < 1.5 * weights.min()


def test_a_few_clients_that_everybody_believes_in_do_not_take_the_weight_of_the_others():
    rule = Fused(ramp=0)
    history = np.full((10, rule.s + 1), 0.6)
    history[:3] = 0.95
    shares = rule.assess(history, np.full(len(history), 20), features_of(honest())).shares
    np.testing.assert_allclose(shares, shares[0])


def test_detectors_are_told_whom_the_past_speaks_against_and_of_newcomers_nothing(monkeypatch):
    told = []

    class Listening:
        name = "listening"

        def observe(self, features):
            told.append(features.doubt)
            return Opinion.vacuous(features.clients)

    monkeypatch.setattr("eitr.aggregation.fused.rule.DETECTORS", (Listening(),))
    rule = Fused()
    history = np.full((10, rule.s + 1), 0.9)
    history[:3] = 0.01
    history[9] = np.nan
    rule.assess(history, np.full(10, 20), features_of(honest(10)))
    assert told[0].tolist() == [1.0] * 3 + [0.0] * 7


def test_those_who_teach_what_nobody_can_test_have_more_weight():
    rule = Fused(ramp=0)
    harm, pushes = np.zeros((10, 3)), np.zeros((10, 3))
    pushes[:2, 1] = 1.0
    history = np.full((10, rule.s + 1), 0.9)
    tested = rule.assess(history, np.full(len(history), 20), features_of(honest(), harm=harm, pushes=pushes)).shares
    harm[:, 1] = np.nan
    new = rule.assess(history, np.full(len(history), 20), features_of(honest(), harm=harm, pushes=pushes)).shares
    np.testing.assert_allclose(tested, tested[0])
    assert new[:2].min() > 1.5 * new[2:].max()


def test_the_long_steps_of_some_do_not_make_the_others_look_like_colluders():
    rng, federation = np.random.default_rng(7), Federation(10)
    for _ in range(3):
        sent = steps(rng)
        sent[:2] *= 20
        opinions = federation.round(sent).notes["opinions"]
        assert [client for client in federation.ids[2:] if opinions[client]["collusion"]["disbelief"] > 0.3] == []


def test_twins_share_one_weight():
    rng, federation = np.random.default_rng(10), Federation(20)
    sent = steps(rng, 20)
    sent[0] = sent[1]
    weights = federation.round(sent).weights
    assert weights[0] == pytest.approx(weights[1])
    assert weights[0] + weights[1] <= 1.01 * weights[2:].max()


@pytest.mark.parametrize(
    ("clients", "copies"),
    [
        (10, 1),
        (20, 1),
    ],
)
@MANY
@pytest.mark.parametrize("common", [0.9, 0.1])
def test_whoever_is_copied_loses_nothing_but_what_twins_share(clients, copies, common):
    rng, federation = np.random.default_rng(10), Federation(clients)
    for _ in range(4):
        sent = steps(rng, clients, common)
        sent[:copies] = sent[copies]
        result = federation.round(sent)
    assert result.weights[: copies + 1].sum() > 0.8 * result.weights[-1]
    assert result.reputation[copies] > 0.9 * result.reputation[-1]


# Memory.


def test_a_newcomer_has_its_weight_in_steps():
    rng, federation = np.random.default_rng(11), Federation(6, ramp=4)
    for _ in range(4):
        federation.round(steps(rng, 6))
    everybody = [*federation.ids, "newcomer"]
    for number in (1, 2, 3, 4, 5):
        weights = federation.round(steps(rng, 7), everybody).weights
        assert weights[6] / weights[:6].mean() == pytest.approx(min(1, number / 4), rel=0.1)


def test_among_newcomers_only_all_weigh_the_same_and_without_a_ramp_at_once():
    rng = np.random.default_rng(12)
    assert Federation(6).round(steps(rng, 6)).weights == pytest.approx(np.full(6, 1 / 6), rel=0.1)
    federation = Federation(6, ramp=0)
    federation.round(steps(rng, 6))
    weights = federation.round(steps(rng, 7), [*federation.ids, "newcomer"]).weights
    assert weights == pytest.approx(np.full(7, 1 / 7), rel=0.1)


def test_a_ramp_may_be_longer_than_the_memory_of_reputations():
    rng, federation = np.random.default_rng(11), Federation(6, ramp=8, s=1)
    for _ in range(8):
        federation.round(steps(rng, 6))
    everybody = [*federation.ids, "newcomer"]
    weights = federation.round(steps(rng, 7), everybody).weights
    assert weights[6] / weights[:6].mean() == pytest.approx(1 / 8, rel=0.1)


@pytest.mark.parametrize("attack", [shifted, noise, scaled], ids=lambda attack: attack.__name__)
def test_a_good_past_does_not_cover_a_strike(attack):
    rng, federation = np.random.default_rng(13), Federation(10)
    for _ in range(12):
        weights = federation.round(steps(rng)).weights
    assert weights == pytest.approx(np.full(10, 0.1), rel=0.1)
    sent = steps(rng)
    sent[:2] = attack(rng, sent[:2])
    struck = federation.round(sent).weights
    assert struck[:2].max() < 0.4 * struck[2:].min()


def test_a_good_past_covers_steps_backwards_for_a_few_rounds_at_most():
    rng, federation = np.random.default_rng(13), Federation(10)
    for number in range(16):  # the direction is judged on the steps of many rounds
        sent = steps(rng)
        if number >= 12:
            sent[:2] *= -1
        weights = federation.round(sent).weights
    assert weights[:2].max() < 0.4 * weights[2:].min()


@ATTACKS
def test_one_good_round_does_not_make_up_for_a_bad_past(attack):
    rng, federation = np.random.default_rng(13), Federation(10)
    for _ in range(6):
        sent = steps(rng)
        sent[:2] = attack(rng, sent[:2])
        federation.round(sent)
    after = federation.round(steps(rng))
    assert after.weights[:2].max() < 0.9 * after.weights[2:].min()
    assert after.reputation[:2].max() < 0.9 * after.reputation[2:].min()


def test_a_bad_past_is_forgiven_in_the_end():
    rng, federation = np.random.default_rng(14), Federation(10)
    for number in range(30):
        sent = steps(rng)
        if number < 2:
            sent[:2] *= -1
        weights = federation.round(sent).weights
    assert weights[:2].min() > 0.8 * weights[2:].max()


def test_staying_away_does_not_launder_a_bad_past():
    rng, federation = np.random.default_rng(15), Federation(10)
    for _ in range(3):
        sent = steps(rng)
        sent[0] *= -20
        before = federation.round(sent)
    for _ in range(15):
        federation.round(steps(rng, 9), federation.ids[1:])
    after = federation.round(steps(rng))
    assert after.reputation[0] < 0.9 * after.reputation[1:].min()
    assert after.reputation[0] >= before.reputation[0]


@pytest.mark.parametrize("parameters", [1, 50, 9000 if JIT else 900])
def test_what_is_kept_of_a_client_is_as_long_whatever_the_model(parameters):
    rng, federation = np.random.default_rng(16), Federation(5, parameters=parameters, s=10)
    for _ in range(14):
        federation.round(steps(rng, 5, parameters=parameters))
    kept = federation.state.memory
    assert set(kept) == {SKETCH, HISTORY} == set(federation.rule.remembers)
    assert kept[SKETCH].shape == (5, DIMENSIONS) == (5, 4096)
    assert kept[SKETCH].dtype == np.float32
    assert kept[SKETCH].nbytes / 5 == 16 << 10
    assert kept[HISTORY].shape == (5, 11)
    assert all(np.isfinite(array).all() for array in kept.values())


@pytest.mark.parametrize("fading", [0.0, 0.5, 0.8])
def test_what_is_kept_is_the_fading_sum_of_a_clients_own_rounds(fading):
    rng, federation = np.random.default_rng(35), Federation(6, fading=fading)
    federation.round(steps(rng, 6))
    past = federation.state.memory[SKETCH]
    federation.round(steps(rng, 5), federation.ids[1:])
    np.testing.assert_array_equal(federation.state.memory[SKETCH][0], past[0])  # whoever stays away is kept as it was
    only_now, sent = Federation(6), steps(rng, 6)
    only_now.base = federation.base
    before = federation.state.memory[SKETCH]
    federation.round(sent)
    only_now.round(sent)
    expected = fading * before + only_now.state.memory[SKETCH]
    np.testing.assert_allclose(federation.state.memory[SKETCH], expected, rtol=0, atol=1e-5)


def test_what_is_kept_does_not_grow_without_end():
    federation = Federation(4, parameters=64)
    sent = np.repeat(steps(np.random.default_rng(17), 1, parameters=64), 4, axis=0)
    sizes = []
    for _ in range(60):
        federation.base[:] = 0
        federation.round(sent)
        sizes.append(np.linalg.norm(federation.state.memory[SKETCH], axis=1).max())
    assert sizes[-1] == pytest.approx(sizes[-10], rel=1e-2)


def test_a_client_that_asks_to_be_forgotten_is_and_comes_back_as_a_stranger():
    rng, federation = np.random.default_rng(18), Federation(6)
    for _ in range(3):
        sent = steps(rng, 6)
        sent[2] *= -20
        federation.round(sent)
    erased = federation.state.without("client002")
    assert b"client002" not in state_bytes(erased)
    assert all(len(array) == 5 for array in erased.memory.values())
    strangers = Federation(6)
    strangers.state = erased
    sent = steps(rng, 6)
    strangers.base = federation.base
    result = strangers.round(sent)
    assert result.reputation[2] > 0.95 * np.delete(result.reputation, 2).min()
    assert result.weights[2] < np.delete(result.weights, 2).min()  # the ramp begins anew
    others = np.delete(np.arange(6), 2)
    untouched = strangers.state.memory[HISTORY][others, 1:]
    np.testing.assert_array_equal(untouched, federation.state.memory[HISTORY][others, :-1])


def test_a_state_that_was_saved_goes_on_as_if_never_stopped(tmp_path):
    rng, federation = np.random.default_rng(19), Federation(7)
    for _ in range(3):
        federation.round(steps(rng, 7))
    save_state(federation.state, tmp_path / "memory.safetensors")
    again = Federation(7)
    again.state = load_state(tmp_path / "memory.safetensors", "fused")
    again.base = federation.base
    for number in range(3):
        sent = steps(rng, 7)
        sent[number] *= -1
        present = [row for row in range(7) if row != 6 - number]
        ids = [federation.ids[row] for row in present]
        one, other = federation.round(sent[present], ids), again.round(sent[present], ids)
        assert one.model.tobytes() == other.model.tobytes()
        assert one.weights.tobytes() == other.weights.tobytes()
        assert_same_state(federation.state, again.state)


@pytest.mark.parametrize("s", [0, 3, pytest.param(20, id="longer")])
def test_a_state_kept_with_another_window_is_read(s):
    rng, federation = np.random.default_rng(20), Federation(5)
    for _ in range(5):
        federation.round(steps(rng, 5))
    before = federation.state.memory[HISTORY]
    federation.rule = make_rule("fused", s=s)
    federation.round(steps(rng, 5))
    after = federation.state.memory[HISTORY]
    assert after.shape == (5, s + 1)
    width = min(s, before.shape[1])
    np.testing.assert_array_equal(after[:, 1 : width + 1], before[:, :width])


def remembering(**memory):
    return RuleState("fused", tuple(names(3)), np.ones(3, np.int64), memory)


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        ({SKETCH: np.zeros((3, 100), np.float32)}, "projections of 100 numbers, not 4096"),
        ({SKETCH: np.zeros((3, DIMENSIONS), np.float64)}, "which 'fused' never wrote"),
        ({HISTORY: np.zeros((3, 11), np.float32)}, "which 'fused' never wrote"),
        ({HISTORY: np.full((3, 11), 1.5)}, "not between 0 and 1"),
        ({HISTORY: np.full((3, 11), -0.5)}, "not between 0 and 1"),
        ({"steps": np.zeros((3, 11), np.float32)}, "which 'fused' never wrote"),
    ],
)
def test_a_memory_that_the_rule_cannot_have_written_is_refused(memory, words):
    rule, state = make_rule("fused"), remembering(**memory)
    before = state_bytes(state)
    with pytest.raises(InputError, match=words):
        rule.update(state, Round(np.zeros(4), np.ones((3, 4)), names(3)))
    assert state_bytes(state) == before


def test_a_base_is_needed():
    rule = make_rule("fused")
    with pytest.raises(InputError, match="the rule 'fused' needs the global parameters"):
        rule.update(rule.init(), Round(None, np.ones((3, 4)), names(3)))


def test_a_client_whose_update_was_refused_is_remembered_for_it():
    rng, federation = np.random.default_rng(34), Federation(6)
    federation.round(steps(rng, 6))
    rounds = federation.state.rounds.copy()
    federation.state = federation.rule.refuse(federation.state, "client002", PARAMETERS)
    np.testing.assert_array_equal(federation.state.rounds, rounds)
    result = federation.round(steps(rng, 6))
    assert result.reputation[2] < 0.9 * np.delete(result.reputation, 2).min()


def test_a_stranger_whose_first_update_was_refused_joins_with_that_past():
    rng, federation = np.random.default_rng(34), Federation(6)
    for first in (True, False):
        federation.round(steps(rng, 6))
        if first:
            federation.state = federation.rule.refuse(federation.state, "stranger", PARAMETERS)
    assert federation.state.rounds[federation.state.rows(["stranger"])] == 0
    result = federation.round(steps(rng, 7), [*federation.ids, "stranger"])
    assert result.reputation[6] < 0.9 * result.reputation[:6].min()
    assert federation.state.rounds[federation.state.rows(["stranger"])] == 1


def test_a_stranger_may_be_refused_before_anybody_took_part():
    rng, federation = np.random.default_rng(34), Federation(6)
    federation.state = federation.rule.refuse(federation.state, "client002", PARAMETERS)
    result = federation.round(steps(rng, 6))
    assert result.reputation.argmin() == 2
    assert np.isfinite(result.weights).all()


def test_inputs_and_old_states_are_never_changed():
    rng, federation = np.random.default_rng(21), Federation(5)
    federation.round(steps(rng, 5))
    state, base = federation.state, federation.base
    sent = steps(rng, 5)
    kept = [array.copy() for array in (base, sent, *state.memory.values())]
    federation.round(sent)
    for now, then in zip((base, sent, *state.memory.values()), kept, strict=True):
        np.testing.assert_array_equal(now, then)


# Reasons.


def with_validation(harmed=(), known=(0, 1, 2)):
    """A scorer of three classes: the loss of one rises steeply as its parameter falls; NaN where there are no pages."""

    def losses(vectors):
        found = 200.0 * np.maximum(0.0, 0.25 - np.float64(vectors[:, :3]))
        found[:, [c for c in range(3) if c not in known]] = np.nan
        return found

    return losses


def harming(rng, clients=8):
    """Steps whose last numbers, the output biases, are 0; the first client ruins the second class."""
    sent = steps(rng, clients)
    sent[:, :3] = 0
    sent[:, -3:] = 0
    sent[0, 1] = -0.2
    return sent


def validation_of(result, client="client000"):
    return result.notes["opinions"][client]["validation"]


def test_every_client_and_detector_is_explained_as_json():
    rng, federation = np.random.default_rng(22), Federation(8)
    notes = federation.round(harming(rng), scorer=with_validation()).notes
    assert json.loads(json.dumps(notes)) == notes
    assert set(notes["opinions"]) == set(federation.ids)
    for opinions in notes["opinions"].values():
        assert list(opinions) == [*NAMES, "fused"]
        for opinion in opinions.values():
            assert list(opinion) == ["belief", "disbelief", "uncertainty"]
            assert sum(opinion.values()) == pytest.approx(1, abs=2e-4)
            assert min(opinion.values()) >= 0


def test_explanations_are_of_the_client_they_name_whatever_order_clients_come_in():
    rng, federation = np.random.default_rng(23), Federation(6)
    sent = steps(rng, 6)
    sent[4] *= 30
    turned = federation.round(sent[::-1], federation.ids[::-1])
    opinions = turned.notes["opinions"]
    assert [c for c in opinions if opinions[c]["magnitude"]["disbelief"] > 0.5] == ["client004"]
    assert turned.weights.argmin() == 1
    assert turned.reputation.argmin() == 1


@pytest.mark.parametrize("left_out", NAMES)
def test_a_detector_that_is_left_out_is_not_heard(left_out):
    rng, federation = np.random.default_rng(24), Federation(8, without=left_out)
    notes = federation.round(harming(rng), scorer=with_validation()).notes
    for opinions in notes["opinions"].values():
        assert list(opinions) == [name for name in [*NAMES, "fused"] if name != left_out]


def test_a_step_that_ruins_one_class_is_doubted_where_there_are_pages_of_it_and_only_there():
    rng = np.random.default_rng(25)
    seeing, blind, unknown = Federation(8), Federation(8), Federation(8)
    for _ in range(3):
        sent = harming(rng)
        doubted = seeing.round(sent, scorer=with_validation())
        seeing.base = np.full_like(seeing.base, 0.25)
        without = blind.round(sent)
        not_asked = unknown.round(sent, scorer=with_validation(known=(0, 2)))
        unknown.base = np.full_like(unknown.base, 0.25)
    assert doubted.weights[0] < 0.7 * doubted.weights[1:].min()
    assert validation_of(doubted)["disbelief"] > 0.5
    assert validation_of(doubted, "client001")["disbelief"] == 0
    assert without.weights[0] > 0.9 * without.weights[1:].max()
    assert validation_of(without)["uncertainty"] == 1
    assert not_asked.weights[0] > 0.9 * not_asked.weights[1:].max()
    assert validation_of(not_asked)["disbelief"] == 0


def test_whoever_teaches_a_class_without_pages_has_more_weight_and_is_found_by_its_biases():
    rng, federation = np.random.default_rng(36), Federation(8)
    sent = harming(rng)
    sent[0, 1] = 0
    sent[6, -2] = 0.1  # the second class of three
    result = federation.round(sent[::-1], federation.ids[::-1], scorer=with_validation(known=(0, 2)))
    assert result.weights[1] > 1.5 * np.delete(result.weights, 1).max()
    tested = Federation(8).round(sent, scorer=with_validation())
    np.testing.assert_allclose(tested.weights, 1 / 8, rtol=0.1)


def test_without_pages_of_any_class_validation_says_nothing():
    federation = Federation(8)
    result = federation.round(harming(np.random.default_rng(26)), scorer=with_validation(known=()))
    assert validation_of(result)["uncertainty"] == 1
    assert np.isfinite(result.weights).all()


def test_validation_can_be_turned_off():
    def never(vectors):
        raise AssertionError("asked")

    result = Federation(8, validation=False).round(harming(np.random.default_rng(27)), scorer=never)
    assert validation_of(result)["uncertainty"] == 1


def test_the_scorer_sees_no_step_longer_than_usual():
    seen = []

    def watching(vectors):
        seen.append(vectors.copy())
        return with_validation()(vectors)

    rng, federation = np.random.default_rng(28), Federation(12)
    sent = steps(rng, 12)
    sent[5] *= 1000
    federation.round(sent, scorer=watching)
    tried = np.concatenate(seen)
    assert tried.shape == (13, PARAMETERS)
    assert tried.dtype == np.float32
    assert np.linalg.norm(tried - 0.25, axis=1).max() < 1.1


# Settings.


def test_claims_of_pages_count_only_with_a_cap_and_up_to_it():
    sent, counts = steps(np.random.default_rng(29), 5), np.array([50.0, 100.0, 100.0, 100.0, 1e9])
    ignored = Federation(5).round(sent, counts=counts).weights
    np.testing.assert_allclose(ignored, 0.2, rtol=0.1)
    capped = Federation(5, cap=3.0).round(sent, counts=counts).weights
    np.testing.assert_allclose(capped / capped[1], [0.5, 1.0, 1.0, 1.0, 3.0], rtol=0.1)
    unclaimed = Federation(5, cap=3.0).round(sent).weights
    np.testing.assert_allclose(unclaimed, ignored)


@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [0, 0, 0, 7], [1e9, 0, 0, 0]])
def test_claims_of_nothing_leave_weights_that_sum_to_1(counts):
    weights = Federation(4, cap=2.0).round(steps(np.random.default_rng(30), 4), counts=np.float64(counts)).weights
    assert weights.sum() == pytest.approx(1)


def test_believed_clients_that_claim_nothing_do_not_make_weights_that_are_no_numbers():
    rng, federation = np.random.default_rng(31), Federation(4, cap=2.0, kappa=0.01, low=0.9, high=0.99)
    sent = harming(rng, 4)
    sent[:2, :2] = -0.2
    counts = np.array([5.0, 5.0, 0.0, 0.0])
    weights = federation.round(sent, scorer=with_validation(), counts=counts).weights
    assert np.isfinite(weights).all()


@pytest.mark.parametrize(
    "settings",
    [{"fading": 1.0}, {"fading": -0.1}, {"kappa": 1.1}, {"a": -1.0}, {"s": -1}, {"ramp": -1}, {"without": "luck"}],
)
def test_settings_out_of_bounds_are_refused(settings):
    with pytest.raises(InputError, match=f"fused: {next(iter(settings))} must be"):
        make_rule("fused", **settings)


@pytest.mark.parametrize(("low", "high"), [(0.9, 0.5), (0.7, 0.7)])
def test_no_weight_must_come_below_full_weight(low, high):
    with pytest.raises(InputError, match="low must be below high"):
        make_rule("fused", low=low, high=high)


@pytest.mark.parametrize("settings", [{"s": 0, "ramp": 0}, {"a": 0.0}, {"a": 1.0}, {"fading": 0.0}, {"c": 0.0}])
def test_any_settings_leave_honest_clients_their_weight(settings):
    rng, federation = np.random.default_rng(32), Federation(8, **settings)
    for _ in range(3):
        weights = federation.round(steps(rng, 8)).weights
    np.testing.assert_allclose(weights, 1 / 8, rtol=0.15)


@pytest.mark.skipif(not JIT, reason="plain Python takes minutes")
def test_a_thousand_clients_are_judged():
    rng, federation = np.random.default_rng(33), Federation(1000, parameters=60)
    sent = steps(rng, 1000, parameters=60)
    sent[:100] *= -1
    result = federation.round(sent)
    assert result.weights[:100].max() < 0.5 * result.weights[100:].max()
    assert federation.state.memory[SKETCH].nbytes == 1000 * 16 << 10


@MANY
@pytest.mark.parametrize("attack", [backwards, shifted])
def test_in_random_groups_clients_are_judged_as_when_all_are_compared(monkeypatch, attack):
    found = []
    for compared in (120, 60):
        monkeypatch.setattr(groups, "COMPARED", compared)
        rng, federation = np.random.default_rng(34), Federation(120, ramp=0)
        for index in range(3):
            sent = steps(rng, 120)
            sent[:36] = attack(rng, sent[:36])
            result = federation.round(sent, index=index)
        found.append(result)
    together, apart = found
    assert apart.weights[:36].sum() < 0.01
    assert np.abs(apart.weights - together.weights).sum() < 0.01
    assert np.abs(apart.reputation - together.reputation).max() < 0.05


def test_groups_hold_every_client_once_and_differ_from_round_to_round_and_by_seed():
    drawn = [groups.groups_of_clients(2500, seed, index) for seed, index in ((5, 0), (5, 0), (5, 1), (2**200, 0))]
    for found in drawn:
        assert sorted(np.concatenate(found)) == list(range(2500))
        assert max(len(group) for group in found) <= groups.COMPARED
    first = [group.tolist() for group in drawn[0]]
    assert first == [group.tolist() for group in drawn[1]]
    assert all(first != [group.tolist() for group in other] for other in drawn[2:])
