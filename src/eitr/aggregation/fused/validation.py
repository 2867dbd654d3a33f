"""What does a client's step do to pages whose class the operator knows?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.fused.features import RoundFeatures, falling, middles, opinion
from eitr.aggregation.opinions import Opinion

_UNTOLD = 1e9


@dataclass(frozen=True)
class Validation:
    """The class that a step harms most, compared with what the others' steps do to it.

    A topic of which the operator has no pages is not asked about: uncertainty, not disbelief.
    """

    name: ClassVar[str] = "validation"

    harm: float = 0.7
    """Rise of the loss beyond the others' up to which nobody is doubted."""
    great_harm: float = 2.5
    """... and from which on there is no trust."""

    def observe(self, features: RoundFeatures) -> Opinion:
        """Compare the rise of the loss, class by class."""
        if features.harm is None or features.clients < 3:
            return Opinion.vacuous(features.clients)
        if features.untested.all():
            return Opinion.vacuous(features.clients)
        # A step after which no loss can be told, all numbers having overflowed, does the greatest harm.
        harm = np.nan_to_num(features.harm[:, ~features.untested], nan=_UNTOLD, posinf=_UNTOLD)
        worst = (harm - middles(harm.T)).max(axis=1)
        return opinion(falling(worst, self.harm, self.great_harm), 1.0)
