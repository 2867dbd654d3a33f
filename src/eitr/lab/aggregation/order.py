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
from eitr.lab.aggregation.middle import middle_of


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
            return Outcome(middle_of(updates, self.drop, cuda=True), self.uniform())
        models = torch.empty((self.runs, self.parameters), dtype=torch.float32, device=self.device)
        for block in blocks(self.runs, self.parameters, 4 * 8 * self.clients, self.device):
            values = updates[block.runs, :, block.columns]
            models[block.runs, block.columns] = middle_of(values, self.drop[block.runs], cuda=False)
        return Outcome(models, self.uniform())


class BatchedMedian(_MiddleOfColumns):
    """`eitr.aggregation.median.Median`: of an even number, the mean of the two middle values."""

    def _dropped(self, rule: Rule) -> int:
        return (self.clients - 1) // 2


class BatchedTrimmedMean(_MiddleOfColumns):
    """`eitr.aggregation.trimmed_mean.TrimmedMean`: without the floor(beta M) smallest and largest."""

    def _dropped(self, rule: Any) -> int:
        # 0.3 * 10 is 2.9999999999999996: the share is meant in decimals.
        return min(int(np.floor(rule.beta * self.clients + 1e-9)), (self.clients - 1) // 2)
