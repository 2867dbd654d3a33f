"""What does a client's step do to pages whose class the operator knows?"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from eitr.aggregation.fused.features import (
    Floats,
    RoundFeatures,
    deviation,
    falling,
    middle,
    middles,
    opinion,
    undoubted,
)
from eitr.aggregation.opinions import Opinion

_UNTOLD = 1e9
_LEAST = 1e-12
UPPER = 0.99
"""The part of what noise alone does that is below the upper end of it."""


@dataclass(frozen=True)
class Validation:
    """The class that a step harms most, compared with what the others' steps do to it.

    Where clients that nobody doubts hardly differ, less harm is needed: late in training a label flipper harms its
    class less than at the beginning, but still many times as much as anybody else.

    A topic of which the operator has no pages is not asked about: uncertainty, not disbelief.

    Where honest clients add noise, a step does what noise does, and hardly anything else. Steps of noise alone show
    what that is, however few clients there are, and whatever they send. Harm is told in deviations of it: that of the
    mean over all classes, or of one class with a deviation to spare, because the worst of several is looked for.
    """

    name: ClassVar[str] = "validation"

    harm: float = 0.7
    """Rise of the loss beyond the others' up to which nobody is doubted."""
    great_harm: float = 2.5
    """... and from which on there is no trust."""
    least_harm: float = 0.5
    """Where undoubted clients do nearly the same to a class: harm up to which nobody is doubted; no trust from twice
    as much on."""
    far: tuple[float, float] = (5.0, 10.0)
    """Where they do not: the same two limits in robust deviations, up to `harm` and `great_harm`."""
    fewest: int = 5
    """Undoubted clients that it takes to say how much they differ."""
    far_in_noise: float = 3.0
    """Deviations up to which nobody is doubted, where noise is added."""
    too_far_in_noise: float = 5.0
    """... and from which on there is no trust."""

    def observe(self, features: RoundFeatures) -> Opinion:
        """Compare the rise of the loss, class by class."""
        if features.harm is None or features.clients < 3:
            return Opinion.vacuous(features.clients)
        if features.untested.all():
            return Opinion.vacuous(features.clients)
        # A step after which no loss can be told, all numbers having overflowed, does the greatest harm.
        harm = np.nan_to_num(features.harm[:, ~features.untested], nan=_UNTOLD, posinf=_UNTOLD)
        if features.noise_harm is not None:
            alone = features.noise_harm[:, ~features.untested]
            return opinion(falling(_deviations(harm, alone), self.far_in_noise, self.too_far_in_noise), 1.0)
        away = harm - middles(harm.T)
        trust = falling(away.max(axis=1), self.harm, self.great_harm)
        peers = undoubted(features)
        if peers.sum() >= self.fewest:
            for own in away.T:
                usual, unit = middle(own[peers]), deviation(own[peers])
                trust = np.minimum(trust, falling(own - usual, *self._limits(unit)))
        return opinion(trust, 1.0)

    def _limits(self, unit: float) -> tuple[float, float]:
        """Return the limits of harm where undoubted clients differ by so much: lower ones where they hardly differ."""
        far, too_far = self.far
        return (
            min(self.harm, max(self.least_harm, far * unit)),
            min(self.great_harm, max(2 * self.least_harm, too_far * unit)),
        )


def _deviations(harm: Floats, alone: Floats) -> Floats:
    """Return how far each client's harm is above that of noise alone, or of most clients, in deviations.

    Noise raises losses more than it lowers them, so a deviation is told by the upper end of what it does. What all
    clients have in common, such as pages that contradict the trusted ones, is held against nobody.
    """
    both = [np.column_stack([table.mean(axis=1), table]) for table in (harm, alone)]
    usual, high = np.quantile(both[1], (0.5, UPPER), axis=0)
    away = both[0] - np.maximum(usual, middles(both[0].T))
    told = away / np.maximum((high - usual) / NormalDist().inv_cdf(UPPER), _LEAST)
    told[:, 1:] -= 1.0
    return np.asarray(told.max(axis=1))
