"""Nearest-neighbour mixing for many runs."""

from typing import cast

import numpy as np
import torch
from torch import Tensor

from eitr.aggregation.nnm import NearestNeighbourMixing
from eitr.lab.aggregation.blocks import blocks
from eitr.lab.aggregation.gram import gram_of_steps
from eitr.lab.aggregation.interface import BatchedRule, Outcome
from eitr.lab.aggregation.middle import middle_of


class BatchedNearestNeighbourMixing(BatchedRule):
    """`eitr.aggregation.nnm.NearestNeighbourMixing`: means of neighbours, then a trimmed mean."""

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        rules = cast(tuple[NearestNeighbourMixing, ...], self.rules)
        gram = gram_of_steps(base, updates)
        mixing = torch.from_numpy(np.stack([rule.mixing(one) for rule, one in zip(rules, gram, strict=True)]))
        drop = [rule.attackers for rule in rules]
        factors = mixing.to(self.device, torch.float32)
        models = torch.empty((self.runs, self.parameters), dtype=torch.float32, device=self.device)
        for block in blocks(self.runs, self.parameters, 5 * 8 * self.clients, self.device):
            mine = updates[block.runs, :, block.columns]
            first = mine[:, :1]  # around it: equal updates come out as they were
            mixed = torch.baddbmm(first, factors[block.runs], mine - first)
            models[block.runs, block.columns] = middle_of(mixed, drop[block.runs], cuda=self.cuda)
        return Outcome(models, mixing.mean(dim=1).to(self.device))
