"""The attack with inside knowledge: it tries, keeps to the constraint, and does harm."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="attacks work on torch tensors; install eitr[lab]")

from eitr.attacks.inside import LONGEST, OBVIOUS, CandidateBuilder, Inside, RandomNumbers, Recipe, explored, varied  # noqa: E402
from eitr.attacks.interface import Rehearsal  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from tests.attacks.scenes import scene, with_inside_knowledge  # noqa: E402


def far(sent, given):
    return (sent - given.others.mean(dim=0)).norm(dim=1)


@pytest.mark.parametrize("candidates", [1, 2, 3, 50])
def test_it_rehearses_as_often_as_it_is_told(candidates):
    given, calls = with_inside_knowledge(scene())
    Inside(candidates=candidates).craft(given)
    assert len(calls) == candidates


def test_what_it_sends_was_rehearsed_and_no_two_attackers_are_twins():
    given, calls = with_inside_knowledge(scene(parameters=400), limit=1.0)
    sent = Inside(candidates=60).craft(given)
    assert any(torch.equal(sent, one) for one in calls)
    assert not torch.equal(sent[0], sent[1])
    assert torch.cosine_similarity(sent[0] - given.base, sent[1] - given.base, dim=0) < 0.9999


def test_it_does_the_most_harm_that_leaves_every_attacker_in_good_standing():
    limit = 0.5
    given, calls = with_inside_knowledge(scene(), limit)
    sent = Inside(candidates=200).craft(given)
    assert far(sent, given).max() <= limit
    allowed = [one for one in calls if far(one, given).max() <= limit]
    forbidden = [one for one in calls if far(one, given).max() > limit]
    harm = given.harm(given.rehearse(sent).model)
    assert len(allowed) > 10
    assert harm == max(given.harm(given.rehearse(one).model) for one in allowed)
    assert harm < max(given.harm(given.rehearse(one).model) for one in forbidden)  # it was tempted


def test_good_standing_is_that_of_the_median_whatever_harm_and_reputation_are_measured_in():
    given, calls = with_inside_knowledge(scene(others=3))

    def rehearse(sent):
        calls.append(sent)
        near = far(sent, given).max() <= 0.5
        return Rehearsal(sent.mean(dim=0), np.array([25.0, 20.0 if near else 15.0, 25.0, 10.0, 20.0, 30.0]))

    def harm(model):
        return 0.01 * float((model - given.others.mean(dim=0)).norm())  # never as much as a reputation

    sent = Inside(candidates=60).craft(given._replace(rehearse=rehearse, harm=harm))
    assert max(far(one, given).max() for one in calls) > 0.5
    assert far(sent, given).max() <= 0.5
    assert harm(sent.mean(dim=0)) == max(harm(one.mean(dim=0)) for one in calls if far(one, given).max() <= 0.5)


def test_the_second_half_improves_on_the_first_and_comes_near_the_best_there_is():
    limit, improved = 0.5, 0
    for drawn in range(5):
        given, calls = with_inside_knowledge(scene(drawn=drawn), limit)
        Inside(candidates=200).craft(given)
        harms = [
            given.harm(given.rehearse(one).model) if far(one, given).max() <= limit else 0.0 for one in list(calls)
        ]
        improved += max(harms[100:]) > max(harms[:100])
        most = (limit * 3 / 10) ** 2 * 1.1  # three of ten at the limit; the mean of the others is itself a bit off
        assert 0.9 * (limit * 3 / 10) ** 2 < max(harms) < most
    assert improved >= 4


def test_where_nothing_is_admissible_it_sends_what_leaves_its_worst_attacker_best():
    given, calls = with_inside_knowledge(scene())  # standing falls with the distance from the mean
    given = given._replace(
        rehearse=lambda sent, inner=given.rehearse: inner(sent)._replace(
            reputation=np.concatenate([-far(sent, given).numpy(), np.ones(len(given.others))])
        ),
        harm=lambda model: pytest.fail("harm is asked only of what is admissible"),
    )
    sent = Inside(candidates=80).craft(given)
    assert far(sent, given).max() == min(far(one, given).max() for one in calls)


def test_a_rule_that_says_nothing_of_anybody_is_no_good_standing():
    given, _ = with_inside_knowledge(scene())

    def silent(sent):
        return Rehearsal(sent[0], np.full(len(sent) + len(given.others), np.nan))

    def asked(model):
        pytest.fail("harm is asked only of what is admissible")

    sent = Inside(candidates=10).craft(given._replace(rehearse=silent, harm=asked))
    assert torch.isfinite(sent).all()


def test_a_loss_that_is_no_number_is_not_preferred():
    given, calls = with_inside_knowledge(scene(), limit=1e9)
    harms = iter([float("nan"), 1.0] + [float("nan")] * 100)
    sent = Inside(candidates=20).craft(given._replace(harm=lambda model: next(harms)))
    assert torch.equal(sent, calls[1])


def test_attackers_that_go_the_same_way_differ_by_their_noise():
    recipe = Recipe((1.0, 0.0, 0.0, 0.0), loudness=0.5)
    given = scene(parameters=20_000)
    steps = CandidateBuilder(given).build(recipe) - given.base
    assert torch.cosine_similarity(steps[0], steps[1], dim=0) == pytest.approx(0.8, abs=0.02)


def test_each_round_explores_recipes_of_its_own():
    lengths = []
    for number in (1, 2):
        given, calls = with_inside_knowledge(scene(round=number))
        Inside(candidates=40).craft(given)
        lengths.append([round(float((one[0] - given.base).norm()), 4) for one in calls[:20]])
    obvious = len(OBVIOUS)
    assert lengths[0][:obvious] == lengths[1][:obvious]
    assert lengths[0][obvious:] != lengths[1][obvious:]


def test_steps_are_at_most_three_times_as_long_as_usual():
    given, calls = with_inside_knowledge(scene())
    Inside(candidates=200).craft(given)
    usual = float((given.others - given.base).norm(dim=1).median())
    lengths = torch.stack([(one - given.base).norm(dim=1) for one in calls]) / usual
    assert lengths.max() <= LONGEST * 1.001
    assert lengths.max() > 2.5
    assert lengths.min() < 0.5


def test_where_all_clients_attack_only_the_harm_counts():
    given, calls = with_inside_knowledge(scene(others=0))
    sent = Inside(candidates=40).craft(given)
    assert given.harm(sent.mean(dim=0)) == max(given.harm(one.mean(dim=0)) for one in list(calls))


@pytest.mark.parametrize("missing", ["rehearse", "harm"])
def test_it_needs_the_engine_that_rehearses(missing):
    given, _ = with_inside_knowledge(scene())
    with pytest.raises(InputError, match="needs the engine for processors"):
        Inside().craft(given._replace(**{missing: None}))


def test_recipes_stay_within_their_bounds():
    chance = RandomNumbers(1)
    recipes = [explored(chance) for _ in range(100)]
    recipes += [varied(recipe, chance, 0.5) for recipe in recipes]
    assert all(0 <= recipe.share <= 1 for recipe in recipes)
    assert all(0 <= recipe.length <= LONGEST for recipe in recipes)
    assert {recipe.model < 0 for recipe in recipes} == {True, False}


def test_the_numbers_of_its_chance_are_standard_normal():
    chance = RandomNumbers(7)
    drawn = [chance.normal() for _ in range(5000)]
    assert np.mean(drawn) == pytest.approx(0, abs=0.05)
    assert np.std(drawn) == pytest.approx(1, abs=0.05)
