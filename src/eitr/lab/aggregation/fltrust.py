"""FLTrust for many runs."""

import torch
from torch import Tensor

from eitr.errors import InputError
from eitr.lab.aggregation.blocks import blocks
from eitr.lab.aggregation.interface import BatchedRule, Outcome


class BatchedFLTrust(BatchedRule):
    """`eitr.aggregation.fltrust.FLTrust`: trust from the cosine to the root step; nobody trusted: the model is kept."""

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        if root is None:
            raise InputError("the rule 'fltrust' needs parameters trained on trusted data")
        inner, squares, root_squares = self._products(base, updates, root)
        lengths, root_length = squares.sqrt(), root_squares.sqrt()[:, None]
        known = (lengths > 0) & (root_length > 0)
        trust = torch.where(known, inner / torch.where(known, lengths * root_length, 1.0), 0.0).clamp(min=0)
        total = trust.sum(dim=1, keepdim=True)
        weights = trust / torch.where(total > 0, total, 1.0)
        scaled = torch.where(lengths > 0, weights * root_length / torch.where(lengths > 0, lengths, 1.0), 0.0)
        models = self._moved(base, updates, scaled)
        return Outcome(models, torch.where(total > 0, weights, torch.nan))

    def _products(self, base: Tensor, updates: Tensor, root: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return, in float64, <g_i, g_0>, <g_i, g_i> (runs, clients) and <g_0, g_0> (runs,), g the steps."""
        inner = torch.zeros((self.runs, self.clients), dtype=torch.float64, device=self.device)
        squares = torch.zeros_like(inner)
        root_squares = torch.zeros_like(inner[:, 0])
        for block in blocks(self.runs, self.parameters, 3 * 8 * self.clients, self.device):
            start = base[block.runs, block.columns].to(torch.float64)
            goal = root[block.runs, block.columns].to(torch.float64) - start
            steps = updates[block.runs, :, block.columns].to(torch.float64) - start[:, None]
            inner[block.runs] += (steps @ goal[:, :, None])[:, :, 0]
            squares[block.runs] += torch.linalg.vector_norm(steps, dim=2).square()
            root_squares[block.runs] += goal.square().sum(dim=1)
        return inner, squares, root_squares

    def _moved(self, base: Tensor, updates: Tensor, scaled: Tensor) -> Tensor:
        """Return base + sum_i scaled_i g_i; with nothing to add, the base to the last bit."""
        models = torch.empty((self.runs, self.parameters), dtype=torch.float32, device=self.device)
        for block in blocks(self.runs, self.parameters, 8 * 6, self.device):
            start = base[block.runs, block.columns].to(torch.float64)
            total = torch.zeros_like(start)
            for client in range(self.clients):
                step = updates[block.runs, client, block.columns].to(torch.float64) - start
                total += scaled[block.runs, client, None] * step
            models[block.runs, block.columns] = (start + total).to(torch.float32)
        return models
