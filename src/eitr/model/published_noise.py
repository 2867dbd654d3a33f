"""A mean of updates that may be published: what one participant can change in it is bounded, and noise hides it.

Each participant's step is cut to a length and rounded to a grid; the steps are added, noise is added to the sum, and
the sum is divided by a number that is fixed before anybody sends. Whatever one participant sends instead of nothing,
the sum moves by at most the length, so that this is the Gaussian mechanism with the noise multiplier `noise`. What is
computed from its result, and from public numbers, tells no more. `docs/privacy.md` says what follows for participants.
"""

import math
import secrets
from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.model.discrete_gaussian import Below, discrete_gaussian
from eitr.model.private import Floats, PrivatePlan

GRID = 2**20
"""The longest step of one participant, in steps of the grid: the sum and its noise are whole numbers."""
MISSING = (
    "noise on published models needs the package dp-accounting, which computes how much privacy is left: "
    "pip install 'eitr[formal]'"
)


def longest_step(plan: PrivatePlan, parameters: int, multiple: float) -> float:
    """Return the length to which steps are cut: a multiple of the length that the noise of an update has by itself.

    An honest update is mostly noise, so that a multiple slightly above 1 changes hardly any of them.
    """
    return multiple * plan.added_noise * math.sqrt(parameters)


def bounded_steps(steps: NDArray[np.floating], longest: float) -> NDArray[np.int64]:
    """Return steps, (participants, parameters), on the grid, each row at most `GRID` long, whatever was sent.

    Rows are cut a little shorter than that and rounded towards zero, so that no rounding can exceed it.
    """
    exact = np.asarray(steps, np.float64)
    if not np.isfinite(exact).all():
        raise InputError("a step holds a NaN or an infinite number: reject such updates before")
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    on_grid: Floats = np.trunc(exact / np.maximum(lengths, longest) * (GRID - 1))
    return on_grid.astype(np.int64)


def noisy_mean(
    steps: NDArray[np.floating], *, longest: float, noise: float, participants: int, below: Below = secrets.randbelow
) -> Floats:
    """Return the sum of the bounded steps with noise, divided by the number of participants that was announced.

    The standard deviation of the noise is `noise` times the longest step. With fewer steps than participants, the
    missing ones count as zero.
    """
    total = bounded_steps(steps, longest).sum(axis=0)
    drawn = discrete_gaussian(math.ceil(noise * GRID), len(total), below)
    return np.asarray((total + np.array(drawn, np.int64)) * (longest / GRID / participants), np.float64)


def epsilon(rounds: Mapping[float, int], delta: float) -> float:
    """Return the epsilon that so many rounds of each noise multiplier cost somebody who took part in all of them.

    Computed by dp-accounting from Rényi divergences, whose bounds hold for the discrete Gaussian, too.
    """
    try:
        import dp_accounting
    except ImportError:
        raise InputError(MISSING) from None
    accountant = dp_accounting.rdp.RdpAccountant()
    for noise, count in sorted(rounds.items()):
        accountant.compose(dp_accounting.GaussianDpEvent(noise), count)
    return float(accountant.get_epsilon(delta))


def largest_accuracy(rounds: Mapping[float, int]) -> float:
    """Return how often anybody can be right at most who guesses, from all rounds, between two equally likely cases.

    The cases: a participant sent what they sent, or nothing. Rounds of Gaussian noise tell together as much as one
    whose two means are `apart` standard deviations apart (Dong, Roth and Su, "Gaussian differential privacy", 2022).

    >>> largest_accuracy({}), round(largest_accuracy({4.0: 40}), 3)
    (0.5, 0.785)
    """
    apart = math.sqrt(sum(count / noise**2 for noise, count in rounds.items()))
    return NormalDist().cdf(apart / 2)
