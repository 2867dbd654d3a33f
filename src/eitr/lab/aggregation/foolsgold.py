"""FoolsGold for many runs."""

from typing import Any

import torch
from torch import Tensor

from eitr.aggregation.foolsgold import SAME
from eitr.lab.aggregation.blocks import blocks, from_start
from eitr.lab.aggregation.combination import weighted_mean
from eitr.lab.aggregation.interface import BatchedRule, Outcome, normalised


class BatchedFoolsGold(BatchedRule):
    """`eitr.aggregation.foolsgold.FoolsGold`: weights from the cosine similarity of accumulated steps."""

    remembers = ("steps", "rounds")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.start = self.settings("start", torch.int64)
        shape = (self.runs, self.population, self.parameters)
        self.steps = torch.zeros(shape, dtype=torch.float32, device=self.device)
        self.rounds = torch.zeros((), dtype=torch.int64, device=self.device)

    @classmethod
    def bytes_of_memory(cls, parameters: int) -> int:
        """Return what the accumulated step of a client takes."""
        return 4 * parameters

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        gram = torch.zeros((self.runs, self.clients, self.clients), dtype=torch.float64, device=self.device)
        for block in blocks(self.runs, self.parameters, 3 * 8 * self.clients, self.device):
            where = (block.runs, slice(None), block.columns)
            # This round's step is rounded to float32 before it is added, as on the CPU.
            self.steps[where] += updates[where] - base[block.runs, None, block.columns]
            steps = from_start(self.steps[where].to(torch.float64), self.start, block)
            gram[block.runs] += steps @ steps.mT
        self.rounds += 1
        weights = normalised(foolsgold_shares(_cosines(gram)))
        return Outcome(weighted_mean(updates, weights, cuda=self.cuda), weights)


def _cosines(gram: Tensor) -> Tensor:
    """Return cosines (runs, clients, clients); a step of length 0 is similar to nobody."""
    length = gram.diagonal(dim1=1, dim2=2).sqrt()
    scale = torch.where(length > 0, length, 1.0)
    cosine = gram / (scale[:, :, None] * scale[:, None, :])
    return torch.where(cosine > 1 - SAME, 1.0, cosine)


def foolsgold_shares(cosine: Tensor) -> Tensor:
    """Return the weights (runs, clients) for cosine similarities, before normalising."""
    size = cosine.shape[1]
    if size == 1:
        return torch.ones_like(cosine[:, 0])
    itself = torch.eye(size, dtype=torch.bool, device=cosine.device)
    nearest = cosine.masked_fill(itself, -torch.inf).amax(dim=2)
    mine, theirs = nearest[:, :, None], nearest[:, None, :]
    ratio = mine.clamp(min=0) / torch.where(theirs > 0, theirs, 1.0)
    pardon = torch.where((theirs > mine) & (theirs > 0), ratio, 1.0)
    alpha = (1 - (cosine * pardon).masked_fill(itself, -torch.inf).amax(dim=2)).clamp(0, 1)
    largest = alpha.amax(dim=1, keepdim=True)
    relative = (alpha / torch.where(largest > 0, largest, 1.0)).clamp(1e-12, 0.99)
    shares = (torch.log(relative / (1 - relative)) + 0.5).clamp(0, 1)
    some = (largest > 0) & (shares.sum(dim=1, keepdim=True) > 0)
    return torch.where(some, shares, torch.ones_like(shares))
