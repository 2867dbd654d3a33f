"""Residual-based re-weighting for many runs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from eitr.aggregation.interface import Rule
from eitr.lab.aggregation.blocks import blocks, run_groups
from eitr.lab.aggregation.combination import weighted_mean
from eitr.lab.aggregation.confidence import confidence_bounds
from eitr.lab.aggregation.interface import BatchedRule, Outcome, normalised
from eitr.lab.aggregation.repeated_median import median, median_of_sorted, repeated_median_slope
from eitr.robust.confidence import ABSOLUTE_SCALE, RELATIVE_SCALE, residual_factor

_COPIES = 14
"""Float64 copies of a block that exist at the same time."""


class Reweighting(NamedTuple):
    """Scores (runs, clients) float64, and the updates with values of low confidence replaced by the line."""

    scores: Tensor
    restricted: Tensor


class BatchedResidual(BatchedRule):
    """`eitr.aggregation.residual.Residual`: weights from the residuals of repeated-median lines."""

    def __init__(self, rules: Sequence[Rule], *arguments: Any, **options: Any) -> None:
        super().__init__(rules, *arguments, **options)
        self.delta, self.lambda_ = self.settings("delta"), self.settings("lambda_")

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        if self.clients < 4:
            return Outcome(weighted_mean(updates, self.uniform(), cuda=self.cuda), self.uniform())
        models = torch.empty((self.runs, self.parameters), dtype=torch.float32, device=self.device)
        weights = torch.empty((self.runs, self.clients), dtype=torch.float64, device=self.device)
        for group in run_groups(self.runs, 4 * self.clients * self.parameters, self.device):
            found = reweight_on(updates[group], self.delta[group], self.lambda_[group], cuda=self.cuda)
            largest = found.scores.amax(dim=1, keepdim=True)
            shares = (found.scores / torch.where(largest > 0, largest, 1.0)).square()
            weights[group] = normalised(torch.where(largest > 0, shares, 1.0))
            mean = weighted_mean(found.restricted, weights[group], cuda=self.cuda)
            # Where the values level off, the line runs on beyond all of them; the model must not.
            models[group] = mean.clamp(updates[group].amin(dim=1), updates[group].amax(dim=1))
        return Outcome(models, weights)


def reweight_on(updates: Tensor, delta: Tensor, lambda_: Tensor, *, cuda: bool) -> Reweighting:
    """Judge the updates of at least four clients, with our CUDA kernels or with torch."""
    if cuda:
        from eitr.lab.aggregation.cuda_columns import reweight_columns

        return Reweighting(*reweight_columns(updates, delta, lambda_))
    return reweight(updates, delta, lambda_)


def reweight(updates: Tensor, delta: Tensor, lambda_: Tensor) -> Reweighting:
    """Judge the updates (runs, clients, parameters) of at least four clients, in float64."""
    runs, clients, parameters = updates.shape
    scores = torch.zeros((runs, clients), dtype=torch.float64, device=updates.device)
    restricted = torch.empty_like(updates)
    bounds = confidence_bounds(clients, lambda_)
    for block in blocks(runs, parameters, 8 * _COPIES * clients, updates.device):
        where = (block.runs, slice(None), block.columns)
        columns = updates[where].to(torch.float64)
        ordered, order = columns.sort(dim=1, stable=True)
        sure, line = _confidences(ordered, bounds[block.runs])
        by_client = torch.empty_like(sure).scatter_(1, order, sure)
        scores[block.runs] += (by_client * sure.std(dim=1, correction=0, keepdim=True)).sum(dim=2)
        line = torch.empty_like(line).scatter_(1, order, line)
        low = by_client < delta[block.runs, None, None]
        restricted[where] = torch.where(low, line, columns).to(torch.float32)
    return Reweighting(scores, restricted)


def _confidences(ordered: Tensor, bounds: Tensor) -> tuple[Tensor, Tensor]:
    """Return the confidence of each sorted value and the line at its rank."""
    clients = ordered.shape[1]
    centre = median_of_sorted(ordered)[:, None]
    offsets = ordered - centre
    slope = repeated_median_slope(offsets)[:, None]
    ranks = torch.arange(clients, dtype=torch.float64, device=ordered.device)[:, None]
    line = slope * ranks + slope * (-0.5 * (clients - 1))
    residual = (offsets - line).abs()
    without_smallest = residual.sort(dim=1).values[:, 1:]
    tau = residual_factor(clients) * median_of_sorted(without_smallest) + ABSOLUTE_SCALE
    tau += RELATIVE_SCALE * median(ordered.abs())
    limit = bounds[:, :, None] * tau[:, None]
    sure = torch.where(residual > limit, limit / torch.where(residual > 0, residual, 1.0), 1.0)
    return sure, line + centre
