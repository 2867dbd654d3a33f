"""Inner products of the clients' steps for many runs, and every rule that decides by them alone.

The products are summed on the device; M x M numbers of each run then go to the host, where the rule itself decides as
it does on a processor, and its coefficients come back. Such a rule needs no second form.
"""

from typing import cast

import numpy as np
import torch
from torch import Tensor

from eitr.aggregation.interface import Floats
from eitr.aggregation.linear import LinearRule
from eitr.lab.aggregation.blocks import blocks
from eitr.lab.aggregation.combination import weighted_mean
from eitr.lab.aggregation.interface import BatchedRule, Outcome
from eitr.robust.gram import HAIR


def gram_of_steps(base: Tensor, updates: Tensor) -> Floats:
    """Return <g_i, g_j> (runs, clients, clients) of the steps g = update - base, on the host."""
    runs, clients, parameters = updates.shape
    gram = torch.zeros((runs, clients, clients), dtype=torch.float64, device=updates.device)
    for block in blocks(runs, parameters, 2 * 8 * (clients + 1), updates.device):
        steps = updates[block.runs, :, block.columns].to(torch.float64)
        steps -= base[block.runs, None, block.columns]
        gram[block.runs].baddbmm_(steps, steps.mT)
    return gram.cpu().numpy()


class BatchedLinear(BatchedRule):
    """Any `eitr.aggregation.linear.LinearRule`: w = base + sum_i c_i g_i."""

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        return self._combined(base, updates, gram_of_steps(base, updates))

    def _combined(self, base: Tensor, updates: Tensor, gram: Floats) -> Outcome:
        """Return the outcome for inner products (runs, clients, clients)."""
        rules = cast(tuple[LinearRule, ...], self.rules)
        shares = np.stack([rule.coefficients(one) for rule, one in zip(rules, gram, strict=True)])
        total = shares.sum(axis=1, keepdims=True)
        weights = np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / self.clients)
        there = torch.from_numpy(weights).to(self.device)
        models = weighted_mean(updates, there, cuda=self.cuda)
        whole = np.abs(total - 1) <= HAIR
        if not whole.all():
            length = torch.from_numpy(np.where(whole, 1.0, total)).to(self.device, torch.float32)
            models = torch.lerp(base, models, length)
        return Outcome(models, there)
