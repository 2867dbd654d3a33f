"""The coordinate-wise median and trimmed mean for many runs: means of the middle of each sorted column."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from eitr.aggregation.interface import Rule
from eitr.lab.aggregation.blocks import blocks
from eitr.lab.aggregation.interface import BatchedRule, Outcome


class _MiddleOfColumns(BatchedRule):
    """The mean of each sorted column without the first and last `drop` values, which differ from run to run."""

    def __init__(self, rules: Sequence[Rule], *arguments: Any, **options: Any) -> None:
        super().__init__(rules, *arguments, **options)
        self.drop = [self._dropped(rule) for rule in self.rules]

    @abstractmethod
    def _dropped(self, rule: Rule) -> int:
        """Return how many values a rule leaves out on each side."""

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        if self.cuda:
            from eitr.lab.aggregation.cuda_columns import middle_of_columns

            drop = torch.tensor(self.drop, dtype=torch.int32, device=self.device)
            return Outcome(middle_of_columns(updates, drop), self.uniform())
        models = torch.empty((self.runs, self.parameters), dtype=torch.float32, device=self.device)
        for block in blocks(self.runs, self.parameters, 4 * 8 * self.clients, self.device):
            ordered = updates[block.runs, :, block.columns].sort(dim=1).values
            for place, run in enumerate(range(self.runs)[block.runs]):
                models[run, block.columns] = _mean(ordered[place, self.drop[run] : self.clients - self.drop[run]])
        return Outcome(models, self.uniform())


def _mean(ordered: Tensor) -> Tensor:
    """Return the mean of sorted rows, around the smallest and not beyond the largest."""
    lowest, highest = ordered[0].to(torch.float64), ordered[-1].to(torch.float64)
    mean = lowest + (ordered.to(torch.float64) - lowest).mean(dim=0)
    return torch.minimum(torch.maximum(mean, lowest), highest).to(torch.float32)


class BatchedMedian(_MiddleOfColumns):
    """`eitr.aggregation.median.Median`: of an even number, the mean of the two middle values."""

    def _dropped(self, rule: Rule) -> int:
        return (self.clients - 1) // 2


class BatchedTrimmedMean(_MiddleOfColumns):
    """`eitr.aggregation.trimmed_mean.TrimmedMean`: without the floor(beta M) smallest and largest."""

    def _dropped(self, rule: Any) -> int:
        # 0.3 * 10 is 2.9999999999999996: the share is meant in decimals.
        return min(int(np.floor(rule.beta * self.clients + 1e-9)), (self.clients - 1) // 2)
