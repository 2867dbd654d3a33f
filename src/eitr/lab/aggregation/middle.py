"""Means of the middle of each sorted column: of the updates, or of values that a rule made of them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from eitr.lab.aggregation.cuda_columns import available, middle_of_columns


def middle_of(values: Tensor, drop: Sequence[int], *, cuda: bool) -> Tensor:
    """Return the mean (runs, columns) of each column of `values` (runs, size, columns) without its extremes.

    `drop`: how many values are left out on each side, run by run. `values` is contiguous.

    >>> middle_of(torch.tensor([[[1.0], [2.0], [4.0], [90.0]]]), [1], cuda=False).tolist()
    [[3.0]]
    """
    if cuda and available(values.device, values.shape[1]):
        return middle_of_columns(values, torch.tensor(drop, dtype=torch.int32, device=values.device))
    ordered = values.sort(dim=1).values
    return torch.stack([_mean(run[out : len(run) - out]) for run, out in zip(ordered, drop, strict=True)])


def _mean(ordered: Tensor) -> Tensor:
    """Return the mean of sorted rows, around the smallest and not beyond the largest."""
    lowest, highest = ordered[0].to(torch.float64), ordered[-1].to(torch.float64)
    mean = lowest + (ordered.to(torch.float64) - lowest).mean(dim=0)
    return torch.minimum(torch.maximum(mean, lowest), highest).to(torch.float32)
