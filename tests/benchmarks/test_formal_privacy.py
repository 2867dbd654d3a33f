"""The simulation of formal privacy trains as participants do, and adds the noise that its epsilon asks for."""

import numpy as np
import pytest

from benchmarks.formal_privacy import DELTA, Pages, World, learned, noise_for, private_steps, report
from eitr.model.network import Network
from eitr.model.private import PrivatePlan, clipped_sum, gradient_lengths
from eitr.model.published_noise import epsilon
from eitr.pages.sparse import SparseRows

pytest.importorskip("dp_accounting", reason="noise on published models needs it; install eitr[formal]")

WIDTH, CLASSES = 5, 6


def pages(rng: np.random.Generator, count: int) -> Pages:
    """Return pages whose class can be told from their inputs."""
    labels = rng.integers(CLASSES, size=count)
    centres = np.random.default_rng(0).uniform(0, 2, (CLASSES, WIDTH))
    inputs = np.maximum(centres[labels] + rng.normal(0, 0.3, (count, WIDTH)), 0.0)
    return Pages(np.hstack([inputs, np.ones((count, 1))]), labels)


@pytest.fixture
def world() -> World:
    rng = np.random.default_rng(1)
    return World(rng.normal(0, 0.3, (WIDTH + 1, CLASSES)), pages(rng, 250), pages(rng, 300), pages(rng, 200))


def test_gradients_are_those_of_private_training(world: World) -> None:
    network = Network((WIDTH, CLASSES))
    vector = world.start.ravel().astype(np.float32)
    model = vector.reshape(world.start.shape).astype(np.float64)
    dense = world.pool.inputs[:, :-1]
    rows = SparseRows.of([(np.arange(WIDTH, dtype=np.int32), row.astype(np.float32)) for row in dense], width=WIDTH)
    exact = Pages(np.hstack([rows.dense(), np.ones((len(dense), 1))]).astype(np.float64), world.pool.labels)
    lengths = gradient_lengths(network, vector, rows, exact.labels, layers=1)
    np.testing.assert_allclose(exact.lengths(model), lengths)
    clip = float(np.median(lengths))
    summed = clipped_sum(network, vector, rows, exact.labels, layers=1, clip=clip)
    np.testing.assert_allclose(exact.gradients(model, clip).sum(axis=0), summed, atol=1e-12)


def test_steps_lead_downhill_once_the_noise_is_averaged(world: World) -> None:
    plan = PrivatePlan(clip=0.2)
    steps = private_steps(world, world.start, plan, 3000, np.random.default_rng(2))
    spread = plan.noise * plan.reach
    assert steps.std(axis=0).mean() == pytest.approx(spread, rel=0.1)
    downhill = -world.train.gradients(world.start, plan.clip).mean(axis=0)
    expected = plan.learning_rate * plan.own_weight * 4 * downhill
    np.testing.assert_allclose(steps.mean(axis=0), expected, atol=5 * spread / np.sqrt(3000))


@pytest.mark.parametrize("wanted", [8.0, 2.0])
def test_the_noise_is_the_least_for_an_epsilon(wanted: float) -> None:
    noise = noise_for(wanted, 40)
    assert epsilon({noise: 40}, DELTA) <= wanted < epsilon({noise / 1.001: 40}, DELTA)


def test_much_noise_costs_accuracy_and_little_does_not(world: World) -> None:
    plain = learned(world, 20, 0.0, seed=0)
    assert learned(world, 20, 1e-6, seed=0) == pytest.approx(plain, abs=0.05)
    assert learned(world, 20, 500.0, seed=0) < plain - 0.1


def test_the_report_says_from_how_many_participants_on_it_pays(world: World) -> None:
    text = report(world, [2, 400], seeds=1)
    assert "| 2  " in text
    assert "| 400  " in text
    assert "Epsilon 8 (noise multiplier 4.04) costs less than 1 point from so many participants on:" in text
