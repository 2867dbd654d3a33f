"""Is a client's step in few parameters, or in others than everybody's?

Training changes all layers at once: who has few pages moves few words of the first layer, but the layers above it like
everybody. A step in biases alone, or in the rows of a few words, was not trained. The projection limits single large
values, so that detectors that look at it do not see such a step.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.fused.features import (
    MASS,
    PRIOR,
    Floats,
    RoundFeatures,
    deviation,
    falling,
    middle,
    middles,
    shortening,
    undoubted,
)
from eitr.aggregation.opinions import Opinion

GROUPS = (32, 512, 8192)
"""Parameters are put into groups by how far the round's steps move them: the 32 that move most, the next up to 512, the
next up to 8192, and the rest, in which an honest client with few pages may have nothing."""
_LEAST = 1e-4
"""A smaller share of a step is as good as none."""


@dataclass(frozen=True)
class Concentration:
    """Judged in two ways, and the worse counts, both on a logarithmic scale, beside clients that nobody doubts.

    How concentrated a step is: the sum of its fourth powers, no step taken as longer than usual. Short steps are often
    concentrated, and do no harm. What it lacks: by which factors its shares in the parameters that everybody moves are
    smaller than usual, all groups together. One page can lack most of one group, but not of two.

    Steps that are mostly added noise have the kurtosis of noise, 3, and that is all there is to compare.

    There is evidence against a client only: a step that is spread as usual says nothing for whoever sent it.
    """

    name: ClassVar[str] = "concentration"

    concentrated: tuple[float, float] = (6.0, 12.0)
    """Times the usual concentration up to which nobody is doubted, and from which on there is no trust."""
    lacking: tuple[float, float] = (25.0, 100.0)
    """The same for the product of those factors."""
    far: tuple[float, float] = (3.5, 7.0)
    """Both reach at least this many robust deviations: in some rounds honest clients differ more than in others."""
    far_in_noise: tuple[float, float] = (5.0, 10.0)
    """Standard deviations of the kurtosis of noise."""
    fewest: int = 5
    """Undoubted clients that it takes to say what is usual."""

    def observe(self, features: RoundFeatures) -> Opinion:
        """Compare where and how densely the steps lie."""
        if features.kurtosis is None:
            return Opinion.vacuous(features.clients)
        if features.added_noise:
            # The kurtosis of n normal numbers varies by sqrt(24 / n), `noise` being 1 / sqrt(n).
            away = (features.kurtosis - 3.0) / (math.sqrt(24.0) * features.noise)
            return _against(falling(away, *self.far_in_noise))
        peers = undoubted(features)
        if peers.sum() < self.fewest:
            return Opinion.vacuous(features.clients)
        above = np.log(np.maximum(features.kurtosis * (shortened_lengths(features)) ** 4, 1e-300))
        found = above - middle(above[peers])
        trust = falling(found, *self._limits(self.concentrated, deviation(above[peers])))
        if features.group_shares is not None:
            shares = np.log(np.maximum(features.group_shares, _LEAST))
            lack = np.maximum(middles(shares[peers].T) - shares, 0.0).sum(axis=1)
            trust = np.minimum(trust, falling(lack, *self._limits(self.lacking, deviation(lack[peers]))))
        return _against(trust)

    def _limits(self, times: tuple[float, float], unit: float) -> tuple[float, float]:
        first, last = (max(math.log(many), far * unit) for many, far in zip(times, self.far, strict=True))
        return first, last


def shortened_lengths(features: RoundFeatures) -> Floats:
    """Return the lengths with which steps count, none longer than usual."""
    return np.asarray(features.lengths * shortening(features.lengths))


def _against(trust: Floats) -> Opinion:
    return Opinion.from_evidence(np.zeros_like(trust), MASS * (1.0 - trust), PRIOR)
