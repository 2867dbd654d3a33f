"""FoundationFL for many runs."""

from typing import cast

import numpy as np
import torch
from torch import Tensor

from eitr.aggregation.foundation_fl import FoundationFL, farthest_of
from eitr.aggregation.interface import Floats
from eitr.lab.aggregation.blocks import blocks
from eitr.lab.aggregation.interface import BatchedRule, Outcome
from eitr.lab.aggregation.middle import middle_of


class BatchedFoundationFL(BatchedRule):
    """`eitr.aggregation.foundation_fl.FoundationFL`: a trimmed mean with copies of the update far from all extremes."""

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        rules = cast(tuple[FoundationFL, ...], self.rules)
        farthest = [farthest_of(reaches) for reaches in _reaches(updates)]
        weights = np.ones((self.runs, self.clients))
        models = torch.empty((self.runs, self.parameters), dtype=torch.float32, device=self.device)
        for copies in sorted({rule.copies(self.clients) for rule in rules}):
            mine = [run for run, rule in enumerate(rules) if rule.copies(self.clients) == copies]
            rows = [[*range(self.clients), *[farthest[run]] * copies] for run in mine]
            weights[mine, [farthest[run] for run in mine]] += copies
            models[mine] = self._trimmed(updates, mine, rows)
        weights /= weights.sum(axis=1, keepdims=True)
        return Outcome(models, torch.from_numpy(weights).to(self.device))

    def _trimmed(self, updates: Tensor, runs: list[int], rows: list[list[int]]) -> Tensor:
        """Return the trimmed means (len(runs), parameters) of the rows named, some of them several times."""
        drop = [cast(FoundationFL, self.rules[run]).attackers for run in runs]
        which, row = torch.tensor(runs, device=self.device)[:, None], torch.tensor(rows, device=self.device)
        models = torch.empty((len(runs), self.parameters), dtype=torch.float32, device=self.device)
        for block in blocks(len(runs), self.parameters, 4 * 8 * len(rows[0]), self.device):
            values = updates[:, :, block.columns][which[block.runs], row[block.runs]]
            models[block.runs, block.columns] = middle_of(values, drop[block.runs], cuda=self.cuda)
        return models


def _reaches(updates: Tensor) -> Floats:
    """Return the squared distances (runs, 2, clients) to the largest and to the smallest values, on the host."""
    runs, clients, parameters = updates.shape
    reaches = torch.zeros((runs, 2, clients), dtype=torch.float64, device=updates.device)
    for block in blocks(runs, parameters, 3 * 8 * clients, updates.device):
        mine = updates[block.runs, :, block.columns].to(torch.float64)
        for side, extreme in enumerate((mine.amax(dim=1, keepdim=True), mine.amin(dim=1, keepdim=True))):
            reaches[block.runs, side] += torch.linalg.vector_norm(mine - extreme, dim=2).square()
    return reaches.cpu().numpy()
