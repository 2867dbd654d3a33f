"""What may be published of a round: one participant moves it by a bounded length, and the noise is as large as said."""

import itertools
import math
import random
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from eitr.errors import InputError
from eitr.model.discrete_gaussian import discrete_gaussian
from eitr.model.private import PrivatePlan
from eitr.model.published_noise import GRID, bounded_steps, epsilon, largest_accuracy, longest_step, noisy_mean

dp_accounting = pytest.importorskip("dp_accounting", reason="noise on published models needs it; install eitr[formal]")

PARAMETERS = 198
HUGE = float(np.finfo(np.float32).max)


def squared_lengths(rows):
    """Return the exact squares of the lengths of whole-numbered rows."""
    return [sum(int(value) ** 2 for value in row) for row in rows]


@given(
    arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=st.floats(-HUGE, HUGE, width=32)),
    st.floats(1e-9, 1e6),
)
def test_no_step_is_longer_than_the_bound_whatever_was_sent(steps, longest):
    assert max(squared_lengths(bounded_steps(steps, longest))) <= GRID**2


def test_hostile_steps_move_the_sum_by_no_more_than_the_bound():
    rng = np.random.default_rng(5)
    honest = rng.normal(0, 0.01, (20, PARAMETERS))
    direction = rng.normal(size=PARAMETERS)
    direction /= np.linalg.norm(direction)
    hostile = {
        "huge": HUGE * np.ones(PARAMETERS),
        "aligned": 1e6 * honest.sum(axis=0),
        "opposite": -1e6 * honest.sum(axis=0),
        "exactly as long as allowed": 0.15 * direction,
        "one parameter": np.eye(PARAMETERS)[3] * 1e30,
        "nothing": np.zeros(PARAMETERS),
    }
    without = bounded_steps(honest, 0.15).sum(axis=0)
    for name, step in hostile.items():
        moved = bounded_steps(np.vstack([honest, step]), 0.15).sum(axis=0) - without
        assert squared_lengths([moved])[0] <= GRID**2, name
    longest = bounded_steps(np.array([hostile["aligned"]]), 0.15)
    assert math.sqrt(squared_lengths(longest)[0]) > 0.999 * GRID, "a long step is cut to the bound, not below"


def test_what_others_send_does_not_change_a_step():
    rng = np.random.default_rng(6)
    mine = rng.normal(0, 0.01, PARAMETERS)
    alone = bounded_steps(mine[None], 0.15)[0]
    among = bounded_steps(np.vstack([mine, rng.normal(0, 1e5, (9, PARAMETERS))]), 0.15)[0]
    np.testing.assert_array_equal(alone, among)


def test_a_short_step_stays_as_it_is_but_for_the_grid():
    steps = np.random.default_rng(7).normal(0, 0.001, (3, PARAMETERS))
    np.testing.assert_allclose(bounded_steps(steps, 0.15) * 0.15 / GRID, steps, atol=2 * 0.15 / GRID)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(InputError, match="NaN or an infinite"):
        bounded_steps(np.array([[0.0, bad]]), 1.0)


def seeded(number):
    source = random.Random(number)
    return source.randrange


@pytest.mark.parametrize("deviation", [1, 3, 40])
def test_the_noise_has_the_discrete_gaussian_distribution(deviation):
    drawn = np.array(discrete_gaussian(deviation, 20_000, seeded(deviation)))
    values = np.arange(-6 * deviation, 6 * deviation + 1)
    chances = np.exp(-(values**2) / (2 * deviation**2))
    chances /= chances.sum()
    found = np.array([(drawn == value).sum() for value in values])
    assert found.sum() == len(drawn)
    often = chances * len(drawn) >= 5
    expected = np.append(chances[often], chances[~often].sum()) * len(drawn)
    counted = np.append(found[often], found[~often].sum())
    assert stats.chisquare(counted, expected).pvalue > 0.001


def test_the_noise_of_a_mean_has_the_standard_deviation_that_is_accounted_for():
    steps, noise, longest, participants = np.zeros((4, 20_000)), 3.5, 0.2, 10
    drawn = noisy_mean(steps, longest=longest, noise=noise, participants=participants, below=seeded(1))
    deviation = noise * longest / participants
    assert drawn.std() == pytest.approx(deviation, rel=0.02)
    assert abs(drawn.mean()) < 4 * deviation / math.sqrt(len(drawn))
    assert stats.kstest(drawn / deviation, "norm").pvalue > 0.001


def test_the_noise_is_new_every_time_and_not_that_of_a_seed():
    random.seed(0)
    np.random.seed(0)
    first = noisy_mean(np.zeros((1, 50)), longest=1.0, noise=1.0, participants=1)
    random.seed(0)
    np.random.seed(0)
    assert not np.array_equal(first, noisy_mean(np.zeros((1, 50)), longest=1.0, noise=1.0, participants=1))


def test_the_sum_is_divided_by_the_announced_number_not_by_how_many_came():
    steps = np.full((4, 3), 0.1)
    few = noisy_mean(steps, longest=1.0, noise=1e-5, participants=8)
    np.testing.assert_allclose(few, 0.05, atol=1e-4)


def test_honest_updates_are_hardly_ever_cut():
    plan = PrivatePlan(clip=0.3)
    noise = np.random.default_rng(8).normal(0, plan.noise * plan.reach, (2000, PARAMETERS))
    longest = longest_step(plan, PARAMETERS, 1.1)
    assert (np.linalg.norm(noise, axis=1) > longest).mean() < 0.05


def test_epsilon_is_that_of_dp_accounting():
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(2.0), 3)
    accountant.compose(dp_accounting.GaussianDpEvent(5.0), 10)
    assert epsilon({5.0: 10, 2.0: 3}, 1e-5) == pytest.approx(accountant.get_epsilon(1e-5), rel=1e-12)


@pytest.mark.parametrize(
    ("noise", "count", "least", "most"),
    # From the exact curve of the Gaussian mechanism (Balle and Wang, 2018); Rényi divergences lose up to a tenth.
    [(1.0, 1, 4.37, 4.82), (3.8, 40, 7.98, 8.80), (12.6, 40, 1.99, 2.20)],
)
def test_epsilon_of_known_cases(noise, count, least, most):
    assert least <= exact_epsilon(math.sqrt(count) / noise, 1e-5) <= epsilon({noise: count}, 1e-5) <= most


def exact_epsilon(apart, delta):
    """Return epsilon of two normal distributions so many standard deviations apart, by bisection."""
    low, high = 0.0, 200.0
    for _ in range(100):
        middle = (low + high) / 2
        told = stats.norm.cdf(apart / 2 - middle / apart) - math.exp(middle) * stats.norm.cdf(
            -apart / 2 - middle / apart
        )
        low, high = (middle, high) if told > delta else (low, middle)
    return high


def test_epsilon_grows_with_rounds_and_falls_with_noise():
    by_rounds = [epsilon({4.0: count}, 1e-5) for count in (1, 10, 40, 200)]
    by_noise = [epsilon({noise: 40}, 1e-5) for noise in (1.0, 2.0, 8.0, 30.0)]
    by_accuracy = [largest_accuracy({4.0: count}) for count in (0, 1, 10, 40)]
    assert all(before < after for before, after in itertools.pairwise(by_rounds))
    assert all(before > after for before, after in itertools.pairwise(by_noise))
    assert by_accuracy[0] == 0.5
    assert all(before < after for before, after in itertools.pairwise(by_accuracy))


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(InputError, match=r"pip install 'eitr\[formal\]'"):
        epsilon({1.0: 1}, 1e-5)
