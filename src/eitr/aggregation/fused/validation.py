"""What does a client's step do to pages whose class the operator knows?"""

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Validation:
    """The class that a step harms most, compared with what the others' steps do to it.

    Where clients that nobody doubts hardly differ, less harm is needed: late in training a label flipper harms its
    class less than at the beginning, but still many times as much as anybody else.

    A topic of which the operator has no pages is not asked about: uncertainty, not disbelief.

    Where honest clients add noise, steps are so short, and what noise does to the loss so alike for all, that harm is
    told in robust deviations instead: that of the mean over all classes, or of one class with a deviation to spare,
    because the worst of several is looked for.
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
    """Undoubted clients that it takes to say how much they differ; where noise is added, clients."""
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
        if features.added_noise:
            return self._in_noise(harm)
        away = harm - middles(harm.T)
        trust = falling(away.max(axis=1), self.harm, self.great_harm)
        peers = undoubted(features)
        if peers.sum() >= self.fewest:
            for own in away.T:
                usual, unit = middle(own[peers]), deviation(own[peers])
                trust = np.minimum(trust, falling(own - usual, *self._limits(unit)))
        return opinion(trust, 1.0)

    def _in_noise(self, harm: Floats) -> Opinion:
        """Compare in deviations. Those of few clients are often far too small by chance: the limits are wider there."""
        if len(harm) < self.fewest:
            return Opinion.vacuous(len(harm))
        wider = 1.0 + (6.0 / len(harm)) ** 4
        return opinion(falling(_deviations(harm), wider * self.far_in_noise, wider * self.too_far_in_noise), 1.0)

    def _limits(self, unit: float) -> tuple[float, float]:
        """Return the limits of harm where undoubted clients differ by so much: lower ones where they hardly differ."""
        far, too_far = self.far
        return (
            min(self.harm, max(self.least_harm, far * unit)),
            min(self.great_harm, max(2 * self.least_harm, too_far * unit)),
        )


def _deviations(harm: Floats) -> Floats:
    """Return how far each client's harm is above the others', in robust deviations."""
    mean = harm.mean(axis=1)
    in_all = (mean - middle(mean)) / max(deviation(mean), _LEAST)
    away = harm - middles(harm.T)
    in_a_class = (away / np.maximum(1.4826 * middles(np.abs(away).T), _LEAST)).max(axis=1)
    return np.asarray(np.maximum(in_all, in_a_class - 1.0))
