"""The fused rule and steps in few parameters, beside steps that were really trained."""

from functools import cache

import numpy as np
import pytest

from eitr.aggregation.fused import Fused
from eitr.aggregation.fused.concentration import Concentration
from eitr.aggregation.interface import Round
from eitr.datasets.builtin import pages as made_pages
from eitr.model import Classifier, TrainingPlan, train
from tests.aggregation.round_features import features_of, honest

PAGES = (300, 200, 200, 100, 100, 100, 60)
"""How many pages the honest clients have."""
FEW = (16, 4, 1, 1)
ATTACKERS = 3
NETWORK, BASE = Classifier.shipped().model
KINDS = ("output biases", "one bias", "all biases", "one word", "five words", "rows of the last layer")


@cache
def trained(sizes):
    """What honest clients send, each with its own generated pages."""
    shipped = Classifier.shipped()
    made = list(made_pages(size=sum(sizes), seed=3, difficulty=0.3))
    ends = np.cumsum(sizes)
    found = []
    for number, (end, count) in enumerate(zip(ends, sizes, strict=True)):
        own = made[end - count : end]
        rows, labels = shipped.vocabulary.rows([one.page for one in own]), [one.label for one in own]
        found.append(train(NETWORK, BASE, rows, labels, TrainingPlan(), seed=number))
    return np.stack(found)


def few_parameters(kind, length, noise, rng):
    """A step in few parameters, a share of its squared length replaced by noise."""
    step, goal = np.zeros(NETWORK.size), np.random.default_rng(7).normal(size=NETWORK.size)
    ends = np.cumsum([part for inputs, outputs in NETWORK.shapes for part in (inputs * outputs, outputs)])
    places = {
        "output biases": [slice(-6, None)],
        "one bias": [slice(-1, None)],
        "all biases": [slice(ends[0], ends[1]), slice(ends[2], ends[3]), slice(ends[4], ends[5])],
        "one word": [slice(256 * 7, 256 * 8)],
        "five words": [slice(256 * word, 256 * word + 256) for word in (3, 90, 210, 555, 870)],
        "rows of the last layer": [slice(ends[3], ends[3] + 18)],
    }
    for place in places[kind]:
        step[place] = goal[place]
    rest = rng.normal(size=NETWORK.size)
    return length * (np.sqrt(1 - noise) * step / np.linalg.norm(step) + np.sqrt(noise) * rest / np.linalg.norm(rest))


def judged(kind, noise, sizes, rule):
    """The result of a round in which the first clients attack."""
    sent, rng = trained(sizes), np.random.default_rng(5)
    usual = np.median(np.linalg.norm(sent - BASE, axis=1))
    steps = np.stack([few_parameters(kind, usual, noise, rng) for _ in range(ATTACKERS)])
    updates = np.concatenate([(BASE + steps).astype(np.float32), sent])
    ids = [f"client{number:02}" for number in range(len(updates))]
    _, result = rule.update(rule.init(), Round(BASE, updates, ids))
    against = [result.notes["opinions"][one].get("concentration", {"disbelief": 0.0})["disbelief"] for one in ids]
    return result, np.array(against)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
def test_steps_in_few_parameters_have_little_weight_and_the_lowest_reputations(noise):
    wrong = {}
    for kind in KINDS:
        result, against = judged(kind, noise, PAGES, Fused())
        share = ATTACKERS / len(result.weights)
        if (
            result.weights[:ATTACKERS].sum() > share / 2
            or result.reputation[:ATTACKERS].max() > 0.95 * result.reputation[ATTACKERS:].min()
            or against[ATTACKERS:].any()
        ):
            wrong[kind] = (result.weights, result.reputation, against)
    assert not wrong


def test_concentration_sees_them_by_itself():
    for kind in KINDS:
        _, against = judged(kind, 0.0, PAGES, Fused())
        assert against[:ATTACKERS].min() > 0.5, kind


def test_honest_clients_are_not_taken_for_colluders_where_attackers_have_nothing_in_common_with_anybody():
    result, _ = judged("output biases", 0.3, PAGES, Fused(without="concentration"))
    assert result.reputation[ATTACKERS:].min() > 0.8  # it was 0.52 when all pairs said what is usual
    assert result.weights[:ATTACKERS].sum() < 0.15


def test_who_has_few_pages_is_not_doubted_beside_others_with_hundreds():
    sent = trained(PAGES + FEW)
    ids = [f"client{number:02}" for number in range(len(sent))]
    rule = Fused()
    _, result = rule.update(rule.init(), Round(BASE, sent, ids))
    assert not any(result.notes["opinions"][one]["concentration"]["disbelief"] for one in ids)


def test_few_pages_are_not_doubted_in_a_round_of_few_pages_either():
    sent = trained((1, 1, 2, 2, 4, 4, 16, 300))
    rule = Fused()
    _, result = rule.update(rule.init(), Round(BASE, sent, [f"client{number}" for number in range(len(sent))]))
    said = [one["concentration"]["disbelief"] for one in result.notes["opinions"].values()]
    assert max(said) < 0.2


def test_it_says_nothing_for_anybody():
    steps = honest()
    told = Concentration().observe(features_of(steps, kurtosis=np.full(len(steps), 30.0)))
    assert not told.belief.any()
    assert not told.disbelief.any()


def test_the_kurtosis_of_noise_is_usual_where_noise_is_added():
    steps, kurtosis = honest(6), np.array([2.4, 3.0, 3.9, 4.5, 8.0, 33.0])
    known = {"kurtosis": kurtosis, "added_noise": 1.0, "noise": 1 / np.sqrt(198)}
    told = Concentration().observe(features_of(steps, **known)).disbelief
    assert not told[:4].any()
    assert told[4:].min() > 0.8


def test_short_steps_may_be_concentrated():
    steps = honest()
    kurtosis = np.full(len(steps), 3000.0)
    kurtosis[0] = 60_000.0
    assert Concentration().observe(features_of(steps, kurtosis=kurtosis)).disbelief[0] > 0.5
    steps[0] *= 0.4
    assert not Concentration().observe(features_of(steps, kurtosis=kurtosis)).disbelief.any()


def test_few_clients_cannot_say_what_is_usual():
    steps = honest(4)
    told = Concentration().observe(features_of(steps, kurtosis=np.array([1e5, 3.0, 3.0, 3.0])))
    assert (told.uncertainty == 1).all()
