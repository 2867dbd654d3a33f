"""What a server with sums of groups, an outsider and a thief see of a victim, and a base that was made to leak."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from eitr.aggregation.fused.features import usual_length
from eitr.errors import InputError
from eitr.lab.runs.privacy import ANY, CORRECTIONS, LEAKING, OUTSIDER, THIEF, Defence, PrivacyRun
from eitr.lab.simulation.privacy.leaking import leaking_base
from eitr.lab.simulation.privacy.run import world_of
from eitr.lab.simulation.privacy.seen import seen_by
from eitr.lab.simulation.privacy.server_round import ServerRounds
from eitr.lab.simulation.privacy.training import make_training
from eitr.model.private import largest_auc
from tests.lab.simulation.privacy.conftest import ALL_CLIPPED, NETWORK

CPU = torch.device("cpu")
BARE = Defence(cover_pages=60, noise=0.0, own_limit=0.0)
PUBLISHED = replace(BARE, published_noise=4.0)


def rounds_of(defence, examples, start, federations=40, clients=10):
    """Return a world, a training, rounds of some federations and updates of their clients."""
    world = world_of(1, examples, start, CPU)
    training = make_training(defence, world.layers, world.model, world.pool, torch.Generator().manual_seed(1))
    updates = training.updates(world.crowd.draw(federations * clients, training.generator))[0]
    rounds = ServerRounds(training, world.crowd, federations, clients)
    return world, training, rounds, updates.view(federations, clients, -1)


def test_a_published_step_is_the_sum_of_the_steps_times_their_shares(examples, start):
    _, training, rounds, updates = rounds_of(BARE, examples, start)
    step, shares = rounds.end(updates)
    expected = (shares.unsqueeze(1) @ (updates - training.subtracted)).squeeze(1)
    assert float(shares.min()) < float(shares.max())
    torch.testing.assert_close(step, expected, atol=1e-6, rtol=1e-3)


def test_the_noise_of_a_published_step_hides_a_page_of_the_client_with_the_largest_share(examples, start):
    _, training, rounds, updates = rounds_of(PUBLISHED, examples, start, federations=100)
    step, shares = rounds.end(updates)
    expected = (shares.unsqueeze(1) @ (updates - training.subtracted)).squeeze(1)
    noise = (step - expected) / shares.amax(1, keepdim=True)
    assert float(noise.std()) == pytest.approx(4.0 * training.reach, rel=0.05)


def test_factors_change_what_a_weight_counts(examples, start):
    _, training, rounds, updates = rounds_of(BARE, examples, start, federations=1, clients=4)
    factors = torch.tensor([[2.0, 1.0, 1.0, 0.0]], dtype=torch.float64)
    _, _, again, _ = rounds_of(BARE, examples, start, federations=1, clients=4)
    plain, shares = again.end(updates)
    step, _ = rounds.end(updates, factors=factors)
    expected = (shares[0] * factors[0].float()) @ (updates - training.subtracted)[0]
    # Weights sum to 1 again, which changes the length alone.
    assert float(torch.cosine_similarity(step[0], expected, dim=0)) == pytest.approx(1.0, abs=1e-5)
    assert float(torch.cosine_similarity(step[0], plain[0], dim=0)) < 0.999


def test_the_memory_of_a_small_step_holds_each_of_its_numbers(examples, start):
    _, training, rounds, updates = rounds_of(BARE, examples, start, federations=5)
    rounds.end(updates)
    steps = updates - training.subtracted
    usual = torch.tensor([[usual_length(one.norm(dim=1).double().numpy())] for one in steps])
    limit = 3.0 * usual / training.layers.size**0.5
    found = rounds.remembered(0) * usual
    torch.testing.assert_close(found.double(), steps[:, 0].double().clamp(-limit, limit), atol=1e-6, rtol=1e-4)


def test_without_noise_an_outsider_and_a_thief_find_pages(measure):
    for viewer in (OUTSIDER, THIEF):
        found = measure(replace(BARE, layers=2), choice=CORRECTIONS, viewer=viewer)
        assert found["auc.known-cover"] > 0.9, viewer
        assert found["best.known-cover"] > 0.5, viewer


@pytest.mark.long
@pytest.mark.parametrize("viewer", [OUTSIDER, THIEF])
def test_with_the_noise_of_the_default_they_stay_within_the_bound(viewer, measure):
    found = measure(replace(BARE, noise=4.0), choice=CORRECTIONS, own_pages=4, uses=2, victims=150, viewer=viewer)
    names = [name for name in found if name.startswith(("auc.", "auc_label_known."))]
    assert len(names) >= 10
    for name in names:
        error = found[name.replace("auc.", "auc_error.").replace("known.", "known_error.")]
        assert found[name] < largest_auc(4.0, 2) + 2 * error, name


@pytest.mark.long
def test_noise_on_the_published_step_hides_pages_from_outsiders_alone(measure):
    assert measure(PUBLISHED)["auc.known-cover"] > 0.99
    defence = replace(PUBLISHED, clip=ALL_CLIPPED, published_noise=1.0)
    found = measure(defence, own_pages=4, victims=300, viewer=OUTSIDER)
    error = found["auc_label_known_error.likelihood-ratio"]
    # The noise is made for the largest weight, which the victim does not always have.
    assert 0.65 < found["auc_label_known.likelihood-ratio"] < largest_auc(1.0, 1) + 2 * error


def test_the_noise_of_a_group_adds_up(measure):
    found = measure(replace(BARE, clip=ALL_CLIPPED, noise=1.0, group=4), own_pages=16, victims=300)
    error = found["auc_label_known_error.likelihood-ratio"]
    assert found["auc_label_known.likelihood-ratio"] == pytest.approx(largest_auc(2.0, 1), abs=2 * error)


def test_a_group_hides_a_page_among_the_pages_of_others(measure):
    alone, together = (measure(replace(BARE, layers=2, group=size), choice=CORRECTIONS) for size in (1, 10))
    assert alone["auc.whitened-filter"] > together["auc.whitened-filter"] + 0.1
    # Who knows all other pages is not stopped by the sum.
    assert together["auc.known-cover"] > 0.99


def test_mean_and_covariance_of_a_group_are_those_of_its_sums(examples, start):
    world, training, _, _ = rounds_of(replace(BARE, group=5), examples, start)
    seen = seen_by("server", training, world.crowd)
    expected, rows = seen.cover(0)
    nobody = world.pages.at(torch.zeros(2000, 0, dtype=torch.long))
    sums, _ = seen.updates(nobody)
    assert bool(((sums.mean(0) - expected).abs() < 5 * sums.std(0) / 1000**0.5).all())
    assert float((rows**2).sum()) == pytest.approx(float(sums.var(0).sum()), rel=0.1)


def test_a_base_that_leaks_answers_to_the_pages_it_looks_for_alone(examples, start):
    sought = np.arange(0, 32, 2)
    base = leaking_base(NETWORK, examples.rows.take(sought))
    world = world_of(1, examples, start, CPU, base)
    units = world.pages.inputs > 0
    assert bool((units[sought].sum(1) == 1).all())
    assert float(units[600 // 2 :].any(1).double().mean()) < 0.05


def test_a_base_that_leaks_finds_pages_that_noise_does_not_hide(measure):
    more = {"base": LEAKING, "candidates": 16}
    found = measure(BARE, **more)
    assert found["auc.matched-filter"] > 0.9
    hidden = measure(replace(BARE, noise=1.0), victims=300, own_pages=4, **more)
    error = hidden["auc_label_known_error.likelihood-ratio"]
    # All gradients are as long as the clip: the bound is reached, and not passed.
    assert hidden["auc_label_known.likelihood-ratio"] == pytest.approx(largest_auc(1.0, 1), abs=2 * error)


def test_settings_that_make_no_sense_are_refused():
    cases: list[tuple[dict[str, Any], str]] = [
        ({"viewer": "nobody"}, "viewer must be one of server, outsider, thief"),
        ({"viewer": THIEF, "defence": Defence(group=5)}, "remembers nothing of a client"),
        ({"choice": "some"}, f"choice must be one of {ANY}"),
    ]
    for changed, message in cases:
        with pytest.raises(InputError, match=message):
            PrivacyRun(**{"data": "tiny", "defence": Defence(), **changed})
