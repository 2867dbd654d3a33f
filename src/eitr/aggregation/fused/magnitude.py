"""How long is a client's step? No honest step is many times as long as the usual one, and none has no length."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.fused.features import Floats, RoundFeatures, falling, opinion, usual_length
from eitr.aggregation.opinions import Opinion


@dataclass(frozen=True)
class Magnitude:
    """Full trust up to `far` usual lengths, none from `too_far` on; a step shorter than `short` earns little.

    Steps that are mostly added noise all have nearly the same length: there, what is far is told in deviations.
    Whatever the opinion, no step counts with more than the usual length.
    """

    name: ClassVar[str] = "magnitude"

    far: float = 2.0
    too_far: float = 3.5
    short: float = 0.1
    far_in_noise: float = 4.0
    """Standard deviations of the length of noise up to which nobody is doubted, where noise is added."""
    too_far_in_noise: float = 8.0
    """... and from which on there is no trust."""

    def observe(self, features: RoundFeatures) -> Opinion:
        """Compare lengths with the median one."""
        usual = usual_length(features.lengths)
        if features.clients < 3 or usual <= 0:
            return Opinion.vacuous(features.clients)
        ratio = features.lengths / usual
        if features.added_noise:
            return opinion(self._like_noise(ratio, features.noise), 1.0)
        trust = np.minimum(falling(ratio, self.far, self.too_far), np.clip(ratio / self.short, 0.0, 1.0))
        return opinion(trust, 1.0)

    def _like_noise(self, ratio: Floats, noise: float) -> Floats:
        """The length of n normal numbers varies by 1 / sqrt(2 n), `noise` being 1 / sqrt(n)."""
        away = np.maximum(ratio, 1.0 / np.maximum(ratio, 1e-9)) - 1.0
        return falling(away * math.sqrt(2.0) / noise, self.far_in_noise, self.too_far_in_noise)
