"""Do clients pull in one direction that the others do not have, round after round?

Late in training, honest steps have hardly anything in common any more: what they had in common has been learned.
Clients that still share a direction want something that the others do not let through.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.fused.features import (
    Floats,
    RoundFeatures,
    falling,
    middle,
    middles,
    opinion,
    twins_of,
    undoubted,
)
from eitr.aggregation.opinions import Opinion, trust_discount

NEAREST = 64
"""With so many of its nearest, at most, a client is compared where noise is added."""
_SEED_OF_DRAWS = 42


@dataclass(frozen=True)
class Collusion:
    """What a client has in common with its nearest ones, beyond what two clients usually have: the inner product of
    their fading sums of steps, in usual squared lengths.

    Judged in two ways, and the worse counts: in robust deviations of all pairs, which tells attackers apart while
    everybody still learns the same; and by itself, once honest clients have nothing in common any more. What is usual
    is learned from clients that nobody doubts. Clients that bring a topic of which the operator has no pages have much
    in common, too: of them the detector is uncertain.

    Where clients add noise, honest steps have nothing in common but chance: cosines are compared with those of noise.
    """

    name: ClassVar[str] = "collusion"

    group: float = 0.1
    """The share of clients that are compared with."""
    far: float = 2.8
    """Deviations up to which nobody is doubted."""
    too_far: float = 4.2
    """... and from which on there is no trust."""
    common: float = 0.1
    """The largest common part up to which nobody is doubted, once the usual one is below a tenth."""
    too_common: float = 0.35
    """... and from which on there is no trust."""
    apart: tuple[float, float] = (1.5, 3.5)
    """Both reach at least this many deviations: where honest clients differ much, some of them resemble each other."""
    alike_in_noise: tuple[float, float] = (3.0, 5.0)
    """Deviations up to which nobody is doubted, and from which on there is no trust, where noise is added."""
    fewest: int = 5
    """Undoubted clients that it takes to say what is usual."""

    def observe(self, features: RoundFeatures) -> Opinion:
        """Compare inner products."""
        if features.added_noise:
            return self._in_noise(features)
        peers = undoubted(features)
        if peers.sum() < self.fewest:
            return Opinion.vacuous(features.clients)
        pairs, bounded = _common_parts(features, peers)
        among = _others(bounded[np.ix_(peers, peers)])
        usual = _middle_of_clients(among)
        # Less is the error of the projection.
        unit = max(1.4826 * _middle_of_clients(np.abs(among - usual)), 2 * features.noise)
        pairs, bounded = (np.where(np.isnan(_others(table)), usual, _others(table)) for table in (pairs, bounded))
        trust = np.minimum(self._by_deviation(bounded, usual, unit), self._by_itself(pairs, usual, unit))
        return trust_discount(1.0 - novelty(features), opinion(trust, 1.0))

    def _in_noise(self, features: RoundFeatures) -> Opinion:
        """Compare cosines with those of noise, which are known: nobody need say what is usual, nor be undoubted.

        How many are alike is not known. For each number of nearest clients, their mean cosine is compared with what it
        would be if all sent noise, and the number that stands out most counts. Clients that are alike count as fewer:
        who resembles one of them by chance resembles all.
        """
        if features.clients < 3:
            return Opinion.vacuous(features.clients)
        cosines = np.where(_copied(features), 0.0, features.cosines_together)
        np.fill_diagonal(cosines, -np.inf)
        usual, unit = means_of_nearest(features.clients - 1)
        numbers = np.arange(1, len(usual) + 1)
        alike = np.empty(features.clients)
        for client, own in enumerate(cosines):
            nearest = np.argsort(-own, kind="stable")[: len(usual)]
            among = features.cosines_together[np.ix_(nearest, nearest)].cumsum(axis=0).cumsum(axis=1).diagonal()
            means = own[nearest].cumsum() / np.sqrt(numbers * np.maximum(among, numbers)) / features.noise
            alike[client] = ((means - usual) / unit).max()
        return opinion(falling(alike, *self.alike_in_noise), 1.0)

    def _by_deviation(self, pairs: Floats, usual: float, unit: float) -> Floats:
        nearest = np.sort(pairs, axis=1)[:, -max(1, round(self.group * len(pairs))) :].mean(axis=1)
        return falling((nearest - usual) / unit, self.far, self.too_far)

    def _by_itself(self, pairs: Floats, usual: float, unit: float) -> Floats:
        limits = (max(least, far * unit) for least, far in zip((self.common, self.too_common), self.apart, strict=True))
        doubt = 1.0 - falling(pairs.max(axis=1) - max(usual, 0.0), *limits)
        return np.asarray(1.0 - doubt * falling(np.array(usual), 0.1, 0.4))


def _common_parts(features: RoundFeatures, peers: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the inner products of all pairs of clients, and the same with long steps shortened to the usual length.

    While everybody goes the same way, a long step has a large inner product with all others. Two clients that are
    twins of each other and of nobody else are left out (NaN): one may have copied the other, and they share one weight.
    """
    unit = middle(np.diag(features.together)[peers])
    pairs = np.where(_copied(features), np.nan, features.together / unit)
    return pairs, pairs / np.maximum(np.sqrt(np.diag(features.together) / unit), 1.0)[None, :]


def _copied(features: RoundFeatures) -> NDArray[np.bool_]:
    """Return which pairs are twins of each other and of nobody else."""
    twins = twins_of(features)
    return np.asarray(twins & (twins.sum(axis=1) == 1)[:, None])


@lru_cache(maxsize=64)
def means_of_nearest(others: int) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the mean of the k largest of so many normal numbers, for each k."""
    drawn = np.random.default_rng(_SEED_OF_DRAWS).normal(size=(max(200, 400_000 // others), others))
    largest = -np.sort(-drawn, axis=1)[:, :NEAREST]
    means = largest.cumsum(axis=1) / np.arange(1, largest.shape[1] + 1)
    return means.mean(axis=0), means.std(axis=0)


def novelty(features: RoundFeatures) -> Floats:
    """Return how far each client teaches a class of which there are no trusted pages, from 0 to 1.

    Who brings pages of it raises its bias by much more than the others, who have none, lower it. An attacker who sends
    the opposite of everybody's step raises it as well, but by no more than they lower it while there is something to
    learn, and by next to nothing later. Where clients add noise, it pushes biases more than pages do: nobody can tell.
    """
    if features.pushes is None or not features.untested.any() or features.added_noise:
        return np.zeros(features.clients)
    pushes = features.pushes[:, features.untested]
    usual = np.maximum(middles(np.abs(pushes).T), 1e-300)
    taught = np.minimum(1.0 - falling(pushes / usual, 1.3, 2.0), 1.0 - falling(pushes, 0.05, 0.1))
    return np.asarray(taught.max(axis=1))


def _middle_of_clients(among: Floats) -> float:
    """Return the median over clients of each one's median over the others.

    Not that of all pairs: with 30 % attackers, pairs of honest clients are less than half of all.
    """
    return middle(middles(among))


def _others(table: Floats) -> Floats:
    """Return the table without its diagonal, (clients, clients - 1)."""
    return table[~np.eye(len(table), dtype=np.bool_)].reshape(len(table), -1)
