"""Subjective logic: opinions with their uncertainty, and how opinions of several sources become one.

An opinion is belief + disbelief + uncertainty = 1, here one for each of many clients. It is the same thing as evidence:
r observations for and s against, with a non-informative prior of weight W:

    b = r / (r + s + W)     d = s / (r + s + W)     u = W / (r + s + W)

Jøsang, "Subjective Logic: A Formalism for Reasoning Under Uncertainty", Springer 2016; the names are his.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Opinion:
    """Belief, disbelief and uncertainty about each client; they sum to 1.

    >>> Opinion.from_evidence([3.0], [1.0], prior=2.0)
    Opinion(belief=array([0.5]), disbelief=array([0.16666667]), uncertainty=array([0.33333333]))
    """

    belief: Floats
    disbelief: Floats
    uncertainty: Floats

    @classmethod
    def from_evidence(cls, positive: ArrayLike, negative: ArrayLike, prior: float) -> Self:
        """Form opinions from observations for and against; `prior` is the weight W of knowing nothing, above 0."""
        for_it = np.asarray(positive, dtype=np.float64)
        against = np.asarray(negative, dtype=np.float64)
        total = for_it + against + prior
        return cls(for_it / total, against / total, prior / total)

    @classmethod
    def vacuous(cls, clients: int) -> Self:
        """Know nothing about anybody: the neutral element of cumulative fusion."""
        nothing = np.zeros(clients)
        return cls(nothing, nothing, np.ones(clients))

    def expectation(self, base_rate: float) -> Floats:
        """Return E = b + a u: the share a = `base_rate` of the uncertainty counts as belief."""
        return self.belief + base_rate * self.uncertainty

    def evidence(self, prior: float) -> tuple[Floats, Floats]:
        """Return the observations for and against that the opinions stand for; dogmatic ones (u = 0) have no end."""
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = [prior * part / self.uncertainty for part in (self.belief, self.disbelief)]
        return np.where(self.belief > 0, parts[0], 0.0), np.where(self.disbelief > 0, parts[1], 0.0)


def cumulative_fusion(first: Opinion, second: Opinion) -> Opinion:
    """Join opinions from independent sources: their evidence adds up, and uncertainty falls.

    Two dogmatic opinions (u = 0) count the same.

        b = (b1 u2 + b2 u1) / (u1 + u2 - u1 u2)      u = u1 u2 / (u1 + u2 - u1 u2)

    >>> once = Opinion.from_evidence([3.0], [1.0], 2.0)
    >>> cumulative_fusion(once, once).evidence(2.0)
    (array([6.]), array([2.]))
    """
    both = first.uncertainty * second.uncertainty
    total = first.uncertainty + second.uncertainty - both
    dogmatic = total <= 0
    scale = np.where(dogmatic, 1.0, total)
    # The weight of an opinion is the other's uncertainty.
    mine, theirs = (np.where(dogmatic, 0.5, other.uncertainty / scale) for other in (second, first))
    belief = mine * first.belief + theirs * second.belief
    disbelief = mine * first.disbelief + theirs * second.disbelief
    return Opinion(belief, disbelief, np.where(dogmatic, 0.0, both / scale))


def trust_discount(trust: ArrayLike, opinion: Opinion) -> Opinion:
    """Take an opinion from somebody trusted with probability `trust`: what is not trusted becomes uncertainty.

        b' = t b      d' = t d      u' = 1 - t (b + d)

    >>> trust_discount(0.5, Opinion.from_evidence([3.0], [1.0], 2.0)).belief
    array([0.25])
    """
    share = np.asarray(trust, dtype=np.float64)
    belief, disbelief = share * opinion.belief, share * opinion.disbelief
    return Opinion(belief, disbelief, np.maximum(1.0 - belief - disbelief, 0.0))
