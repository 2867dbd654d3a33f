"""FLAME: keep the majority that goes one way, clip its steps to the median length, blur the result."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Floats, Result, Round
from eitr.aggregation.linear import LinearRule
from eitr.aggregation.rule_state import RuleState
from eitr.robust.gram import HAIR, gram_of_steps
from eitr.settings import setting


@dataclass(frozen=True, kw_only=True)
class Flame(LinearRule):
    """w = base + (1/K) sum_{i kept} g_i min(1, S / |g_i|) + noise, S the median of all step lengths |g_i|.

    Kept are the K clients of the one cluster of more than half of all that HDBSCAN finds by cosine distance; the noise
    is normal with deviation lambda S. The publication compares the angles of models, we those of steps g = w - base:
    models that started from one share almost all of their direction. The noise is a function of seed and round, the
    same on every device, and drawn anew in every round; it hides nobody from a server that knows the seed.

    >>> base, updates = np.zeros(2), np.array([[3.0, 0.0], [4.0, 3.0], [4.0, 2.0], [-9.0, 1.0]])
    >>> rule = Flame(lambda_=0.0)
    >>> _, result = rule.update(rule.init(), Round(base, updates, ["a", "b", "c", "d"]))
    >>> result.weights.round(2).tolist(), result.model.round(2).tolist()
    ([0.34, 0.32, 0.34, 0.0], [3.6, 1.61])

    Nguyen et al., "FLAME: Taming Backdoors in Federated Learning", USENIX Security 2022.
    """

    name: ClassVar[str] = "flame"
    summary: ClassVar[str] = "mean of the clipped steps of a majority that goes one way, with noise"

    lambda_: float = setting(0.001, "deviation of the noise, in median step lengths", least=0.0)
    seed: int = setting(0, "where the noise starts from", least=0, most=2**32 - 1)

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        base = round.need("base")
        gram = gram_of_steps(round.updates, base, round.order)
        result = self._combined(state, round, base, gram)
        deviation = self.deviation(gram)
        if deviation > 0:
            noise = self.noise(round.index, len(base))
            np.add(result.model, deviation * noise, out=result.model, casting="same_kind")
        return state, result

    def coefficients(self, gram: Floats) -> Floats:
        """Return min(1, S / |g_i|) / K for the majority, 0 for the others."""
        kept = majority(_cosine_distances(gram))
        lengths = np.sqrt(np.diag(gram))
        median = float(np.median(lengths))
        clip = np.where(lengths > median, median / np.where(lengths > 0, lengths, 1), 1.0)
        return np.asarray(kept * clip / kept.sum())

    def deviation(self, gram: Floats) -> float:
        """Return the standard deviation of the noise, lambda S."""
        return self.lambda_ * float(np.median(np.sqrt(np.diag(gram))))

    def noise(self, index: int, parameters: int) -> NDArray[np.float32]:
        """Return what is added in round `index`, for a deviation of 1."""
        return np.random.default_rng((self.seed, index)).standard_normal(parameters, dtype=np.float32)


def majority(distances: Floats) -> NDArray[np.bool_]:
    """Say who belongs to the cluster that HDBSCAN finds, told that one holds more than half and min_samples is 1.

    Two clusters of more than half there cannot be, and with min_samples 1 HDBSCAN is single linkage. What is left of
    its tree is one branch: raise a threshold until a group whose links are all below it holds more than half.

    >>> line = np.array([0.0, 0.1, 0.3, 5.0, 9.0])
    >>> majority(np.abs(line[:, None] - line)).tolist()
    [True, True, True, False, False]
    """
    size = len(distances)
    group = np.arange(size)
    pairs = np.triu_indices(size, 1)
    links = distances[pairs]
    limit = np.inf
    for link in np.argsort(links, kind="stable"):
        if links[link] > limit + HAIR:
            break
        one, other = group[pairs[0][link]], group[pairs[1][link]]
        group[group == other] = one
        if limit == np.inf and np.count_nonzero(group == one) > size // 2:
            limit = links[link]  # who is linked at the same distance belongs to it, too
    return np.asarray(group == np.bincount(group).argmax())


def _cosine_distances(gram: Floats) -> Floats:
    """Return 1 - cos(g_i, g_j); a step of length 0 has no direction in common with any but such steps."""
    lengths = np.sqrt(np.diag(gram))
    still = lengths == 0
    scale = np.where(still, 1, lengths)
    cosines = gram / np.outer(scale, scale) + np.outer(still, still)
    return np.asarray(1 - np.clip(cosines, -1, 1))
