"""What many pages have in common, what a participant learns about itself, and attackers among the participants."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eitr.errors import InputError
from eitr.lab.runs.privacy import BACKDOOR, FLIP, NO_ATTACK, TOPIC, Defence, PoisonRun, WeightRun
from eitr.lab.simulation.compute import compute as compute_runs
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.privacy.own_weight import calibrated
from eitr.lab.simulation.privacy.run import run_all, world_of
from eitr.lab.simulation.privacy.training import PrivateStep
from eitr.model.private import largest_auc
from tests.lab.simulation.privacy.conftest import ALL_CLIPPED, NO_DEFENCE

DEFENCE = Defence(cover_pages=60)
FREE = replace(DEFENCE, own_limit=0.0)
"""Own pages are not cut together."""
CPU = torch.device("cpu")


@pytest.fixture
def compute(examples, start):
    """Return the numbers of one run by name."""

    def computed(kind, defence=DEFENCE, **more):
        run = kind(data="tiny", start="tiny", defence=defence, **more)
        [done] = run_all([run], examples, start, Context(device=CPU))
        return {name: float(value) for name, value in done.arrays.items()}

    return computed


def test_noise_that_hides_a_page_does_not_hide_what_many_have_in_common(measure):
    def told(defence=DEFENCE, **more):
        return measure(defence, choice=TOPIC, victims=300, **more)["topic.interest"]

    one, many = told(own_pages=1), told(FREE, own_pages=16)
    assert many > 0.5 > one + 0.3
    assert told(own_pages=1, uses=20) > one + 0.15
    assert told(own_pages=16) < many - 0.3
    assert told(replace(FREE, group=10), own_pages=16) < many - 0.2


def test_a_limit_for_own_pages_cuts_what_they_add_together(examples, start):
    world = world_of(1, examples, start, CPU)
    own = world.crowd.draw(50, torch.Generator().manual_seed(0))
    steps = {}
    for limit in (0.0, 1.0):
        defence = replace(DEFENCE, clip=ALL_CLIPPED, own_limit=limit)
        training = PrivateStep(defence, world.layers, world.model, world.pool, torch.Generator())
        steps[limit] = training.own_steps(own) / training.reach
    free, cut = steps[0.0].norm(dim=1), steps[1.0].norm(dim=1)
    assert float(free.max()) > 1.5
    torch.testing.assert_close(cut, free.clamp_max(1.0))


def test_with_a_limit_one_page_still_tells_no_more_than_the_bound(measure):
    defence = replace(DEFENCE, clip=ALL_CLIPPED, noise=1.0, own_limit=1.0)
    found = measure(defence, own_pages=4, victims=300)
    error = found["auc_label_known_error.likelihood-ratio"]
    assert found["auc_label_known.likelihood-ratio"] < largest_auc(1.0, 1) + 2 * error


@pytest.mark.long
def test_a_participant_reads_its_weight_the_better_the_more_it_knows(compute):
    def error(**more):
        return compute(WeightRun, **{"federations": 60, **more})["weight_error"]

    alone = error()
    # The steps of nine others, each as long as one's own, in the 54 numbers of the last layer.
    assert alone == pytest.approx((9 / 54) ** 0.5, rel=0.25)
    assert error(known=8) < 0.7 * alone
    often = error(rounds=16)
    assert often < 0.4 * alone
    assert error(rounds=16, factor=0.5, period=100) > max(0.2, 2 * often)


@pytest.mark.long
def test_a_secret_number_that_never_changes_is_known_from_honest_rounds_and_one_that_changes_is_not(compute):
    def error(period):
        found = {"federations": 100, "known": 8, "rounds": 10, "calibrated": 20, "factor": 0.6, "period": period}
        return compute(WeightRun, **found)["weight_error"]

    assert error(period=1000) < 0.15
    assert error(period=10) > 0.2


def test_a_reader_believes_what_it_read_before_as_far_as_it_helps():
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=400)
    np.testing.assert_allclose(calibrated(hidden, hidden + np.zeros((5, 400))), 0.0, atol=1e-12)
    unrelated = calibrated(hidden, rng.normal(size=(5, 400)))
    assert np.mean(unrelated**2) > 0.95 * np.mean(hidden**2)


def test_attackers_who_are_many_enough_change_what_triggered_pages_are_called(compute):
    defence = replace(NO_DEFENCE, layers=1)

    def triggered(poison, attackers):
        return compute(PoisonRun, defence, poison=poison, clients=20, attacker_share=attackers)["triggered"]

    clean = triggered(NO_ATTACK, 0.9)
    assert triggered(BACKDOOR, 0.9) > clean + 0.2
    # Flipped pages are called the same class as triggered ones.
    assert triggered(FLIP, 0.9) > clean + 0.1
    assert triggered(BACKDOOR, 0.0) == clean


def test_groups_are_judged_by_their_means(compute):
    defence = replace(DEFENCE, noise=0.0, group=5)
    assert 0.0 < compute(PoisonRun, defence, poison=FLIP, clients=20)["accuracy_later"] < 1.0


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (PoisonRun, {"clients": 12, "defence": Defence(group=5)}, "do not make groups of 5"),
        (PoisonRun, {"poison": "some"}, "poison must be one of none, flip, backdoor"),
        (WeightRun, {"known": 10}, "needs other participants"),
        (WeightRun, {"factor": 1.0}, "below 1"),
        (WeightRun, {"defence": Defence(group=5)}, "not to a group"),
    ],
)
def test_runs_that_make_no_sense_are_refused(kind, changed, message):
    with pytest.raises(InputError, match=message):
        kind(**{"data": "tiny", "defence": Defence(), **changed})


def test_runs_of_another_pool_are_refused(examples, start):
    run = WeightRun(data="tiny", start="tiny", defence=DEFENCE, pool="0123456789ab")
    with pytest.raises(InputError, match="runs with the pool 0123456789ab, and the pool of the start is"):
        list(compute_runs([run], Context(device=CPU), examples, start))
