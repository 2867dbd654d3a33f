"""The paper's evidence: how many of a client's values lie far from the line through everybody's."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.fused.features import RoundFeatures, deviation, falling, middle, opinion
from eitr.aggregation.opinions import Opinion


@dataclass(frozen=True)
class Residual:
    """Judged among the clients of the round: of an honest client with unusual data a quarter may be rejected."""

    name: ClassVar[str] = "residual"

    usual: float = 0.3
    """The share of rejected values up to which nobody is doubted; there is no trust from twice as many on."""
    far: float = 4.0
    """Deviations above the median share up to which nobody is doubted; ... from twice as many on."""
    certainty: float = 0.5
    """Not certain: with very skewed data, the honest client with the most pages stands out."""

    def observe(self, features: RoundFeatures) -> Opinion:
        """Compare the shares of rejected values."""
        if features.clients < 4:
            return Opinion.vacuous(features.clients)
        above = (features.rejected - middle(features.rejected)) / (deviation(features.rejected) + 0.02)
        trust = np.maximum(
            falling(above, self.far, 2 * self.far), falling(features.rejected, self.usual, 2 * self.usual)
        )
        return opinion(trust, self.certainty)
