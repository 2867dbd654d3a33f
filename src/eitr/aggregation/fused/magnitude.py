"""How long is a client's step? No honest step is many times as long as the usual one, and none has no length."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.fused.features import RoundFeatures, falling, opinion, usual_length
from eitr.aggregation.opinions import Opinion


@dataclass(frozen=True)
class Magnitude:
    """Full trust up to `far` usual lengths, none from `too_far` on; a step shorter than `short` earns little.

    Whatever the opinion, no step counts with more than the usual length.
    """

    name: ClassVar[str] = "magnitude"

    far: float = 2.0
    too_far: float = 3.5
    short: float = 0.1

    def observe(self, features: RoundFeatures) -> Opinion:
        """Compare lengths with the median one."""
        usual = usual_length(features.lengths)
        if features.clients < 3 or usual <= 0:
            return Opinion.vacuous(features.clients)
        ratio = features.lengths / usual
        trust = np.minimum(falling(ratio, self.far, self.too_far), np.clip(ratio / self.short, 0.0, 1.0))
        return opinion(trust, 1.0)
