"""Bulyan for many runs."""

from typing import cast

import numpy as np
import torch
from torch import Tensor

from eitr.aggregation.bulyan import Bulyan
from eitr.lab.aggregation.blocks import blocks
from eitr.lab.aggregation.gram import gram_of_steps
from eitr.lab.aggregation.interface import BatchedRule, Outcome
from eitr.lab.aggregation.middle import middle_of
from eitr.lab.aggregation.repeated_median import median_of_sorted


class BatchedBulyan(BatchedRule):
    """`eitr.aggregation.bulyan.Bulyan`: the values near the median among updates that Krum chose."""

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        gram = gram_of_steps(base, updates)
        weights = np.zeros((self.runs, self.clients))
        models = torch.empty((self.runs, self.parameters), dtype=torch.float32, device=self.device)
        for run, rule in enumerate(cast(tuple[Bulyan, ...], self.rules)):
            chosen = rule.chosen(gram[run])
            weights[run, chosen] = 1 / len(chosen)
            rows = torch.from_numpy(chosen).to(self.device)
            count = len(chosen) - 2 * rule.attackers
            for block in blocks(1, self.parameters, 6 * 8 * self.clients, self.device):
                values = updates[run, :, block.columns][rows]
                models[run, block.columns] = _mean_near_median(values, count)
        return Outcome(models, torch.from_numpy(weights).to(self.device))


def _mean_near_median(values: Tensor, count: int) -> Tensor:
    """Return the mean (columns,) of the `count` values of each column (size, columns) nearest to its median."""
    size = len(values)
    if count == size:
        return middle_of(values[None], [0], cuda=False)[0]
    # In a sorted column the nearest values stand side by side: of all stretches, the one that reaches least far.
    ordered = values.sort(dim=0).values.to(torch.float64)
    median = median_of_sorted(ordered[None])
    reach = torch.maximum(median - ordered[: size - count + 1], ordered[count - 1 :] - median)
    begin = reach.min(dim=0, keepdim=True).indices
    lowest, highest = ordered.gather(0, begin), ordered.gather(0, begin + count - 1)
    rank = torch.arange(size, device=values.device)[:, None]
    near = (rank >= begin) & (rank < begin + count)
    mean = lowest + torch.where(near, ordered - lowest, 0.0).sum(dim=0, keepdim=True) / count
    return torch.minimum(torch.maximum(mean, lowest), highest)[0].to(torch.float32)
