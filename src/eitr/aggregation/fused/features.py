"""The features of a round that the detectors judge by: a few numbers per client, from whatever device."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.opinions import Opinion

Floats = NDArray[np.float64]

NOISE_DRAWS = 512
"""Steps of noise alone that are tried on trusted pages, to know what noise does to them."""
MASS = 10.0
"""How many observations a detector that is sure of itself is worth in a round."""
PRIOR = 2.0
"""The weight W of knowing nothing, as in the paper."""
TWINS = 0.98
"""Cosine from which two steps of a round are one and the same: training is random, and two clients never give that."""


@dataclass(frozen=True, kw_only=True)
class RoundFeatures:
    """The clients of one round, in the order of their ids."""

    lengths: Floats
    """(clients,): the length of each step."""
    rejected: Floats
    """(clients,): the share of parameters that the paper's detection rejects."""
    now: Floats
    """(clients, clients): inner products of this round's projected steps."""
    together: Floats
    """(clients, clients): inner products of the fading sums of each client's projected steps, this round's included."""
    towards: Floats
    """(clients,): the cosine of each fading sum with the coordinate median of all, each taken with length 1."""
    doubt: Floats
    """(clients,): how much each client was doubted before this round, from 0 to 1; 0 for a newcomer."""
    noise: float
    """The error of a cosine of two projected steps."""
    added_noise: float = 0.0
    """Standard deviation of the noise that honest clients add to each parameter, 0 if they add none. With it, hardly
    anything else is in a step: who looks like everybody may still be an attacker, and what is usual is known well."""
    kurtosis: Floats | None = None
    """(clients,): how few parameters a step is in: n times the sum of fourth powers, by the squared sum of squares.
    It is 3 for normal noise, and n for a step in one of n parameters."""
    group_shares: Floats | None = None
    """(clients, groups): the share of each step's squared length in parameters that everybody moves (`GROUPS`); None in
    rounds with added noise, which moves all parameters alike."""
    harm: Floats | None = None
    """(clients, classes): by how much the client's step raises the loss on trusted pages; NaN where there are none."""
    noise_harm: Floats | None = None
    """(draws, classes): what steps of noise alone do to the same losses; known where noise is added and `harm` is."""
    pushes: Floats | None = None
    """(clients, classes): what the client's step adds to the bias of each class; known wherever `harm` is."""

    @property
    def clients(self) -> int:
        """How many clients took part."""
        return len(self.lengths)

    @cached_property
    def cosines_now(self) -> Floats:
        """(clients, clients): cosines of this round's steps."""
        return cosines_of(self.now)

    @cached_property
    def cosines_together(self) -> Floats:
        """(clients, clients): cosines of the fading sums."""
        return cosines_of(self.together)

    @cached_property
    def untested(self) -> NDArray[np.bool_]:
        """(classes,): of which classes there are no trusted pages."""
        harm = np.empty((1, 0)) if self.harm is None else self.harm
        return np.asarray(np.isnan(harm).all(axis=0))


class Detector(Protocol):
    """One kind of evidence."""

    @property
    def name(self) -> str:
        """Return the name under which its opinions are reported."""

    def observe(self, features: RoundFeatures) -> Opinion:
        """Return an opinion of every client: belief that it is honest, disbelief, and how uncertain that is."""


def usual_length(lengths: Floats) -> float:
    """Return the median length of the steps, those shorter than a fifth of the median left out.

    >>> usual_length(np.array([0.0, 0.01, 2.0, 3.0, 4.0]))
    3.0
    """
    return middle(lengths[lengths >= middle(lengths) / 5])


def shortening(lengths: Floats) -> Floats:
    """Return what each step is multiplied by so that none is longer than usual.

    >>> shortening(np.array([1.0, 2.0, 8.0])).tolist()
    [1.0, 1.0, 0.25]
    """
    usual = usual_length(lengths)
    return np.asarray(usual / np.maximum(np.maximum(lengths, usual), 1e-300))


def opinion(trust: Floats, certainty: Floats | float) -> Opinion:
    """Return opinions worth `MASS` observations at full certainty, the share `trust` of them in favour."""
    mass = MASS * np.clip(certainty, 0.0, 1.0) * np.ones_like(trust)
    return Opinion.from_evidence(mass * trust, mass * (1.0 - trust), PRIOR)


def falling(values: Floats, start: float, end: float) -> Floats:
    """Return 1 up to `start`, 0 from `end` on, and a straight line between.

    >>> falling(np.array([0.0, 1.5, 9.0]), 1.0, 2.0).tolist()
    [1.0, 0.5, 0.0]
    """
    return np.asarray(np.clip((end - values) / (end - start), 0.0, 1.0))


def cosines_of(inner: Floats) -> Floats:
    """Return the cosines of vectors with these inner products; a vector of length 0 is similar to none."""
    lengths = np.sqrt(np.diag(inner))
    scale = np.where(lengths > 0, lengths, 1.0)
    return np.asarray(inner / np.outer(scale, scale))


def twins_of(features: RoundFeatures) -> NDArray[np.bool_]:
    """Return which clients sent the same as which others, (clients, clients); nobody is their own twin."""
    return np.asarray((features.cosines_now > TWINS) & ~np.eye(features.clients, dtype=np.bool_))


def undoubted(features: RoundFeatures) -> NDArray[np.bool_]:
    """Return whose steps say what is usual: clients not doubted before, with steps neither tiny nor huge."""
    usual = usual_length(features.lengths)
    size = np.diag(features.together)
    peers = (features.doubt < 0.5) & (features.lengths > usual / 5) & (features.lengths < 4 * usual) & (size > 0)
    return np.asarray(peers)


def middle(values: Floats) -> float:
    """Return the median of all numbers, NaN aside. On so few numbers it is ten times as fast as numpy's.

    >>> middle(np.array([4.0, 1.0, np.nan, 3.0]))
    3.0
    """
    count = values.size - int(np.count_nonzero(np.isnan(values)))
    low, high = (count - 1) // 2, count // 2
    ordered = np.partition(values, (low, high), axis=None)  # NaN comes last
    return float(0.5 * (ordered[low] + ordered[high]))


def middles(rows: Floats) -> Floats:
    """Return the median of each row, NaN aside; no row is all NaN.

    >>> middles(np.array([[4.0, 1.0, np.nan, 3.0], [1.0, 2.0, 3.0, 4.0]])).tolist()
    [3.0, 2.5]
    """
    ordered = np.sort(rows, axis=1)
    count = rows.shape[1] - np.count_nonzero(np.isnan(rows), axis=1)
    number = np.arange(len(rows))
    return np.asarray(0.5 * (ordered[number, (count - 1) // 2] + ordered[number, count // 2]))


def deviation(values: Floats) -> float:
    """Return 1.4826 times the median distance to the median: a standard deviation that outliers do not move."""
    return 1.4826 * middle(np.abs(values - middle(values)))
