"""Victims train as clients do."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from eitr.errors import InputError
from eitr.lab.runs.privacy import Defence, PrivacyRun
from eitr.lab.simulation.compute import check_runs
from eitr.lab.simulation.privacy.cover_part import spectrum
from eitr.lab.simulation.privacy.run import world_of
from eitr.lab.simulation.privacy.training import make_training
from eitr.model.private import PrivatePlan, private_step, trained_from
from tests.lab.simulation.privacy.conftest import NETWORK, NO_DEFENCE

CPU = torch.device("cpu")


def training_of(defence, examples, start):
    world = world_of(defence.layers, examples, start, CPU)
    return world, make_training(defence, world.layers, world.model, world.pool, torch.Generator().manual_seed(1))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_private_step_is_that_of_clients(layers, examples, start):
    """With all pages of the pool as cover pages, and without noise, nothing is left to chance."""
    defence = Defence(layers=layers, cover_pages=len(start.pool), noise=0.0)
    world, training = training_of(defence, examples, start)
    places = torch.tensor([[0, 2], [4, 6]])
    updates, parts = training.updates(world.pages.at(places))
    plan = PrivatePlan(layers=layers, cover_pages=len(start.pool), clip=training.clip, noise=0.0)
    _, vector = start.classifier.model
    for update, part, own in zip(updates, parts, places.numpy(), strict=True):
        theirs = (examples.rows.take(own), examples.labels[own])
        for found, cover in ((update, (start.pool.rows, start.pool.labels)), (part, None)):
            step = private_step(NETWORK, vector, theirs, cover, plan) - vector
            np.testing.assert_allclose(found.numpy(), step[trained_from(NETWORK, layers) :], atol=2e-6)


def test_the_noise_of_an_update_has_the_stated_deviation(examples, start):
    world, training = training_of(Defence(layers=2, cover_pages=0), examples, start)
    updates, _ = training.updates(world.pages.at(torch.zeros(400, 1, dtype=torch.long)))
    expected = 4 * PrivatePlan(clip=training.clip).reach
    assert float((updates[:200] - updates[200:]).std() / math.sqrt(2)) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("defence", [Defence(cover_pages=50, noise=0.0), replace(NO_DEFENCE, layers=1, cover_pages=50)])
def test_mean_and_covariance_of_cover_pages_are_those_of_updates(defence, examples, start):
    world, training = training_of(defence, examples, start)
    expected, rows = training.cover(2000)
    nobody = world.pages.at(torch.zeros(2000, 0, dtype=torch.long))
    updates, _ = training.updates(nobody)
    error = 5 * updates.std(0) / math.sqrt(1000)
    assert bool(((updates.mean(0) - expected).abs() < error).all())
    assert float((rows**2).sum()) == pytest.approx(float(updates.var(0).sum()), rel=0.1)


@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_a_spectrum_is_the_covariance(shape):
    rows = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    found = spectrum(rows)
    again = found.directions * found.variances @ found.directions.T
    torch.testing.assert_close(again, rows.T @ rows, atol=1e-4, rtol=1e-4)


def test_a_random_start_is_refused_before_anything_is_computed():
    with pytest.raises(InputError, match="--start shipped"):
        check_runs([PrivacyRun(data="builtin", defence=Defence())], CPU)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"method": "none"}, "method must be one of"),
        ({"clip": 0.0}, "needs a clip above 0"),
        ({"method": "paper-sgd"}, "noise belongs to the private step"),
        ({"noise": -1.0}, "noise at least 0"),
        ({"published_noise": -1.0}, "published noise and the limit of own pages are at least 0"),
        ({"group": 0}, "a group has at least one member"),
        ({"method": "paper-sgd", "noise": 0.0, "group": 5}, "with the private step alone"),
        ({"own_weight": 0.0}, "weighs own pages above 0"),
    ],
)
def test_a_defence_that_makes_no_sense_is_refused(changed, message):
    with pytest.raises(InputError, match=message):
        Defence(**changed)


def test_more_cover_pages_than_the_pool_has_are_refused(examples, start):
    with pytest.raises(InputError, match="the pool has 150 pages"):
        training_of(Defence(cover_pages=151), examples, start)
