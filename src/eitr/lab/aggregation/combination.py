"""Step 11 for many runs: weighted means over the clients, in float64, around one value of each column.

Clamped to the smallest and the largest value that went in, as in `eitr.robust.combination`: equal values give that
value exactly. Clients are added one after the other: memory is a few numbers a column.
"""

import torch
from torch import Tensor

from eitr.lab.aggregation.blocks import blocks
from eitr.lab.aggregation.detection import Detection, Moved


def weighted_mean(updates: Tensor, weights: Tensor, *, cuda: bool = False) -> Tensor:
    """Return sum_i weight_i w_i (runs, parameters) float32 for weights (runs, clients) that sum to 1."""
    unlimited = torch.full((updates.shape[0],), torch.inf, dtype=torch.float64, device=updates.device)
    return _mean(updates, weights, None, unlimited, None, cuda)


def combine(updates: Tensor, found: Detection, reach: Tensor, weights: Tensor, *, cuda: bool = False) -> Tensor:
    """Return w = m + sum_i weight_i (W'_i - m), W' the clipped value where it was accepted, else the median m."""
    models = _mean(updates, weights, found.median, reach, found.accepted, cuda)
    if found.moved is not None:
        _combine_moved(models, found.moved, found, weights)
    return models


def _mean(
    updates: Tensor, weights: Tensor, origin: Tensor | None, reach: Tensor, accepted: Tensor | None, cuda: bool
) -> Tensor:
    share = weights / weights.sum(dim=1, keepdim=True)
    if cuda:
        from eitr.lab.aggregation.cuda_columns import mean_of_columns

        return mean_of_columns(updates, share, origin, reach, accepted)
    runs, clients, parameters = updates.shape
    models = torch.empty((runs, parameters), dtype=torch.float32, device=updates.device)
    for block in blocks(runs, parameters, 8 * 10, updates.device):
        where = (block.runs, block.columns)
        middle = updates[block.runs, 0, block.columns].to(torch.float64) if origin is None else origin[where]
        limit = reach[block.runs, None]
        total = torch.zeros_like(middle)
        lowest = torch.full_like(middle, torch.inf)
        highest = torch.full_like(middle, -torch.inf)
        for client in range(clients):
            value = updates[block.runs, client, block.columns].to(torch.float64)
            value = torch.minimum(torch.maximum(value, middle - limit), middle + limit)
            if accepted is not None:
                value = torch.where(accepted[block.runs, client, block.columns], value, middle)
            total += share[block.runs, client, None] * (value - middle)
            torch.minimum(lowest, value, out=lowest)
            torch.maximum(highest, value, out=highest)
        models[where] = torch.minimum(torch.maximum(middle + total, lowest), highest).to(torch.float32)
    return models


def _combine_moved(models: Tensor, moved: Moved, found: Detection, weights: Tensor) -> None:
    """Write the models' parameters in columns that were rescaled as the paper does."""
    middle = found.median[moved.run, moved.column][:, None]
    kept = found.accepted[moved.run, :, moved.column]
    values = torch.where(kept, moved.values.to(torch.float64), middle)
    total = (weights[moved.run] * (values - middle)).sum(dim=1)
    mean = torch.minimum(torch.maximum(middle[:, 0] + total, values.amin(dim=1)), values.amax(dim=1))
    models[moved.run, moved.column] = mean.to(torch.float32)
