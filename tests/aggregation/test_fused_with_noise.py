"""The fused rule in rounds whose clients add noise, which is most of what they send."""

import numpy as np
import pytest

from eitr.aggregation.fused import Fused
from eitr.aggregation.fused.collusion import novelty
from eitr.aggregation.fused.magnitude import Magnitude
from eitr.aggregation.fused.validation import Validation
from eitr.aggregation.interface import Round
from eitr.errors import InputError
from tests.aggregation.round_features import features_of

PARAMETERS, NOISE = 198, 0.05
BASE = np.zeros(PARAMETERS, np.float32)
CLIENTS, ATTACKERS = 10, 3
IDS = [f"client{i}" for i in range(CLIENTS)]


def weights_after(rounds, attack, *, seed=0):
    """The mean weights of the last half of some rounds; the first three clients attack."""
    rng = np.random.default_rng(seed)
    rule, seen = Fused(ramp=0), []
    state = rule.init()
    for number in range(rounds):
        updates = rng.normal(0, NOISE, (CLIENTS, PARAMETERS)) + own_pages(rng)
        updates[:ATTACKERS] = attack(updates[:ATTACKERS])
        round = Round(BASE, updates.astype(np.float32), IDS, number, added_noise=NOISE)
        state, result = rule.update(state, round)
        seen.append(result.weights)
    return np.mean(seen[rounds // 2 :], axis=0)


def own_pages(rng):
    """What own pages may move: a quarter of the deviation of one parameter's noise, in any direction."""
    steps = rng.normal(size=(CLIENTS, PARAMETERS))
    return NOISE / 4 * steps / np.linalg.norm(steps, axis=1, keepdims=True)


def together(steps):
    """Push in one direction, by 4.4 deviations of one parameter's noise: as much as backward cover pages are."""
    goal = np.random.default_rng(99).normal(size=PARAMETERS)
    return steps + 4.4 * NOISE * goal / np.linalg.norm(goal)


@pytest.mark.parametrize("seed", range(3))
def test_a_push_in_one_direction_that_noise_covers_loses_its_weight(seed):
    assert weights_after(30, together, seed=seed)[:ATTACKERS].sum() < 0.01


@pytest.mark.parametrize("attack", [lambda steps: 2 * steps, lambda steps: 0.4 * steps, np.zeros_like])
def test_steps_that_are_no_noise_of_the_asked_size_lose_their_weight(attack):
    assert weights_after(10, attack)[:ATTACKERS].sum() < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_honest_clients_share_the_weight(seed):
    weights = weights_after(40, lambda steps: steps, seed=seed)
    assert weights.min() > 0.06
    assert weights.max() < 0.14


def test_lengths_are_told_in_deviations_of_noise():
    steps = np.random.default_rng(1).normal(size=(CLIENTS, PARAMETERS))
    steps[0] *= 1.8
    noise = 1 / np.sqrt(PARAMETERS)
    told = Magnitude().observe(features_of(steps, noise=noise, added_noise=1.0)).expectation(0.5)
    assert told[0] < 0.1 < 0.9 < told[1:].min()
    without = Magnitude().observe(features_of(steps, noise=noise)).expectation(0.5)
    assert without.min() > 0.9


def test_harm_is_told_in_deviations():
    rng = np.random.default_rng(2)
    steps, harm = rng.normal(size=(CLIENTS, PARAMETERS)), rng.normal(0, 0.01, (CLIENTS, 6))
    harm[0] += 0.06  # far below what is doubted in rounds without noise
    harm[1, 2] += 0.2
    told = Validation().observe(features_of(steps, harm=harm, added_noise=1.0)).expectation(0.5)
    assert told[:2].max() < 0.1
    assert told[2:].min() > 0.9
    assert Validation().observe(features_of(steps, harm=harm)).expectation(0.5).min() > 0.9


@pytest.mark.parametrize("clients", [3, 4, 5, 6, 8, 12])
def test_chance_is_rarely_taken_for_harm_in_small_rounds(clients):
    rng = np.random.default_rng(clients)
    steps = rng.normal(size=(clients, PARAMETERS))
    told = [
        Validation().observe(features_of(steps, harm=rng.normal(0, 0.01, (clients, 6)), added_noise=1.0)).disbelief
        for _ in range(300)
    ]
    assert np.mean(np.array(told) > 0.4) < 0.03  # it was 0.1 with five clients


def test_harm_that_cannot_be_told_is_the_greatest_and_equal_harm_is_none():
    steps, harm = np.random.default_rng(3).normal(size=(CLIENTS, PARAMETERS)), np.zeros((CLIENTS, 6))
    assert Validation().observe(features_of(steps, harm=harm, added_noise=1.0)).expectation(0.5).min() > 0.9
    harm[0, 0] = np.inf
    told = Validation().observe(features_of(steps, harm=harm, added_noise=1.0)).expectation(0.5)
    assert told[0] < 0.1 < 0.9 < told[1:].min()


def test_where_noise_is_added_nobody_is_taken_for_a_teacher_of_a_new_topic():
    steps = np.random.default_rng(4).normal(size=(CLIENTS, PARAMETERS))
    known = {"harm": np.full((CLIENTS, 6), np.nan), "pushes": np.zeros((CLIENTS, 6))}
    known["pushes"][0, 3] = 1.0
    assert novelty(features_of(steps, **known))[0] == 1.0
    assert not novelty(features_of(steps, added_noise=1.0, **known)).any()


@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf])
def test_a_round_with_noise_that_is_no_deviation_is_refused(noise):
    with pytest.raises(InputError, match="the noise that clients add"):
        Round(BASE, np.zeros((2, PARAMETERS), np.float32), ["a", "b"], added_noise=noise)


def many_rounds(updates_of, clients, rounds=6):
    """Weights and reputations, (rounds, clients)."""
    rule, found = Fused(ramp=0), []
    state, ids = rule.init(), [f"client{number:03}" for number in range(clients)]
    for number in range(rounds):
        round = Round(BASE, updates_of(number).astype(np.float32), ids, number, added_noise=NOISE)
        state, result = rule.update(state, round)
        found.append((result.weights, result.reputation))
    return tuple(np.array(table) for table in zip(*found, strict=True))


def sybils(clients, count, cosine, *, hidden=False, seed=0):
    """Updates whose first senders share a direction; hidden: added to as much noise as everybody has."""
    rng = np.random.default_rng(seed)
    goal = rng.normal(size=PARAMETERS)
    goal *= NOISE * np.sqrt(PARAMETERS) / np.linalg.norm(goal)

    def updates_of(_number):
        updates = rng.normal(0, NOISE, (clients, PARAMETERS))
        if hidden:
            updates[:count] += np.sqrt(cosine / (1 - cosine)) * goal
        else:
            updates[:count] = np.sqrt(cosine) * goal + np.sqrt(1 - cosine) * updates[:count]
        return updates

    return updates_of


@pytest.mark.parametrize(("clients", "count"), [(10, 3), (20, 6), (60, 6)])
def test_sybils_that_are_alike_lose_their_weight_and_others_keep_theirs(clients, count):
    wrong = {}
    for cosine, hidden in ((0.2, False), (0.5, False), (1.0, False), (0.2, True), (0.3, True)):
        weights, reputation = many_rounds(sybils(clients, count, cosine, hidden=hidden), clients)
        theirs = weights[:, :count].sum(axis=1)
        if theirs[0] > 0.6 * count / clients or theirs[1:].max() > 0.01 or reputation[-1, count:].min() < 0.65:
            wrong[cosine, hidden] = (theirs, reputation[-1])
    assert not wrong


@pytest.mark.parametrize("clients", [5, 10, 60])
def test_people_who_correct_the_same_pages_are_not_sybils(clients):
    rng = np.random.default_rng(1)
    same = rng.normal(size=PARAMETERS)
    same *= NOISE / 4 / np.linalg.norm(same)
    weights, reputation = many_rounds(
        lambda _number: rng.normal(0, NOISE, (clients, PARAMETERS)) + same, clients, rounds=12
    )
    assert reputation[-1].min() > 0.9 * np.median(reputation[-1])
    assert (weights * clients < 0.5).mean() < 0.02


@pytest.mark.parametrize("place", [slice(-6, None), slice(60, 66)], ids=["biases", "a row"])
@pytest.mark.parametrize("noise", [0.0, 0.3, 0.6])
def test_steps_in_few_parameters_are_no_noise(place, noise):
    rng = np.random.default_rng(2)

    def updates_of(_number):
        updates = rng.normal(0, NOISE, (CLIENTS, PARAMETERS))
        updates[:ATTACKERS] *= np.sqrt(noise)
        updates[:ATTACKERS, place] += NOISE * np.sqrt((1 - noise) * PARAMETERS / 6)
        return updates

    weights, reputation = many_rounds(updates_of, CLIENTS, rounds=3)
    assert weights[:, :ATTACKERS].sum(axis=1).max() < 0.01
    assert reputation[-1, :ATTACKERS].max() < 0.4 < 0.7 < reputation[-1, ATTACKERS:].min()
