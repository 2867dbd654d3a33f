"""How many validation pages of a kind a model gets right compared with another model, page by page.

Pages that both models get right, or both wrong, tell nothing about which is better. If neither were better, each of the
other pages would be lost or gained with equal chance: this is the exact sign test, or McNemar's test.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.validation import Right

LARGEST_ODDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Measure:
    """Pages that are judged together, and how much of them a model may lose."""

    title: str
    weights: NDArray[np.int64]
    """How much each page counts; 0: not at all."""
    margin: float
    """The largest share of the weight that may be lost, whether by chance or not; 1: any loss is allowed."""
    setting: str
    """Where the margin comes from, in words."""
    level: float
    """A loss that chance explains less often than this is refused, however small it is."""

    def share(self, right: Right) -> float:
        """Return the share of the weight that a model gets right."""
        return float(self.weights[right].sum() / self.weights.sum())

    def chance(self, known: Right, new: Right) -> float:
        """Return how often chance alone makes a model lose so much, if it is as good as the known one."""
        return chance_of_loss(self.weights[known & ~new].tolist(), self.weights[new & ~known].tolist())

    def loses(self, known: Right, new: Right) -> bool:
        """Say whether a model loses more than it may against a known one."""
        loss = self.share(known) - self.share(new)
        if loss <= 0 or self.margin >= 1:
            return False
        largest_page = self.weights.max() / self.weights.sum()  # a single page is never too much
        return loss > max(self.margin, largest_page) + 1e-9 or self.chance(known, new) < self.level

    def described(self, known: Right, new: Right) -> str:
        """Return the loss in words."""
        counts = np.unique(self.weights[self.weights > 0])
        if len(counts) == 1:
            judged = self.weights > 0
            before, after = (int((right & judged).sum()) for right in (known, new))
            told = f"{self.title} would fall from {before} to {after} of {int(judged.sum())} pages"
        else:
            told = f"{self.title} would fall from {100 * self.share(known):.1f} to {100 * self.share(new):.1f} %"
        chance = self.chance(known, new)
        if chance < self.level:
            return f"{told}; chance explains that in {odds(chance)}"
        return f"{told}, more than {self.setting} allows (chance explains that in {odds(chance)})"


def chance_of_loss(lost: Sequence[int], gained: Sequence[int]) -> float:
    """Return the chance that at least so much is lost if each page is lost or gained with equal chance.

    The numbers are the weights of the pages that changed.

    >>> chance_of_loss([1] * 5, []), chance_of_loss([1, 1], [1]), chance_of_loss([], [1])
    (0.03125, 0.5, 1.0)
    """
    sums = np.zeros(sum(lost) + sum(gained) + 1)
    sums[0] = 1.0
    reached = 0
    for weight in (*lost, *gained):
        reached += weight
        sums[weight : reached + 1] = 0.5 * (sums[weight : reached + 1] + sums[: reached + 1 - weight])
        sums[:weight] *= 0.5
    return min(1.0, float(sums[sum(lost) :].sum()))


def odds(chance: float) -> str:
    """Return a chance in words.

    >>> odds(0.005), odds(0.4), odds(0.0)
    ('1 case of 200', '4 cases of 10', 'fewer than 1 case of 1,000,000')
    """
    if chance < 1 / LARGEST_ODDS:
        return f"fewer than 1 case of {LARGEST_ODDS:,}"
    if chance > 0.1:
        return f"{round(10 * chance)} {'cases' if chance >= 0.15 else 'case'} of 10"
    cases = 1 / chance
    return f"1 case of {round(cases) if cases < 100 else round(cases, 2 - len(str(int(cases)))):,.0f}"
