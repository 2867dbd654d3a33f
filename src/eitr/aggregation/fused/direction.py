"""Does a client go where the others go? Judged on its steps of many rounds: those of one round say little late on."""

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
from eitr.aggregation.opinions import Opinion, cumulative_fusion


@dataclass(frozen=True)
class Direction:
    """While everybody learns the same: the cosine with a robust centre, the smaller of those with the coordinate median
    and with the agreeing majority. At 0 and below it is full disbelief.

    Later there is no common direction any more. Then: the median cosine with the others, in robust deviations below
    what is usual. Who wants something else meets resistance in every round, with steps that point against most others'.
    """

    name: ClassVar[str] = "direction"

    agreement: float = 0.6
    """The usual cosine with the centre at which the first is sure of itself; it knows nothing at half of it."""
    far: float = 1.8
    """Deviations up to which nobody is doubted by the second."""
    too_far: float = 3.2
    """... and from which on there is no trust."""

    def observe(self, features: RoundFeatures) -> Opinion:
        """Compare the fading sums of steps."""
        if features.clients < 4:
            return Opinion.vacuous(features.clients)
        return cumulative_fusion(self._with_centre(features), self._with_others(features))

    def _with_centre(self, features: RoundFeatures) -> Opinion:
        found = np.minimum(features.towards, towards_majority(features.cosines_together))
        usual = middle(found)
        certainty = 2 * usual / self.agreement - 1
        return opinion(1.0 - falling(found, 0.0, max(usual, 1e-9) / 2), certainty)

    def _with_others(self, features: RoundFeatures) -> Opinion:
        peers = undoubted(features)
        if peers.sum() < 5:
            return Opinion.vacuous(features.clients)
        cosines = np.where(np.eye(features.clients, dtype=np.bool_), np.nan, features.cosines_together)[:, peers]
        found = middles(cosines)
        usual = middle(found[peers])
        below = (usual - found) / max(deviation(found[peers]), 0.6 * features.noise)  # a median errs less than a cosine
        return opinion(falling(below, self.far, self.too_far), falling(np.array(usual), 0.05, 0.15))


def towards_majority(cosines: Floats) -> Floats:
    """Return each vector's cosine with the mean of the others in the majority that is nearest to one of them."""
    clients = len(cosines)
    needed = clients // 2 + 1
    near = cosines.round(9)  # among equals the first are taken, not those that rounding favours
    nearest = np.sort(near, axis=1)[:, -needed:].sum(axis=1)
    middle = int(np.argmax(nearest))
    chosen = np.argsort(-near[middle], kind="stable")[:needed]
    others = np.zeros((clients, clients))
    others[:, chosen] = 1.0
    np.fill_diagonal(others, 0.0)
    length = np.sqrt(np.maximum(((others @ cosines) * others).sum(axis=1), 0.0))
    return np.asarray((others * cosines).sum(axis=1) / np.where(length > 0, length, np.inf))
