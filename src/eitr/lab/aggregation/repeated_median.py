"""Siegel's repeated-median slope of many sorted columns, in torch: plain, exact, one row of slopes at a time.

    B = median_i  median_{j != i}  (w_j - w_i) / (x_j - x_i)

All inner medians are computed; memory is M values a column, never M x M. `columns.cu` has the fast form for CUDA.
"""

import torch
from torch import Tensor


def median_of_sorted(ordered: Tensor) -> Tensor:
    """Return the median along dimension 1 of values in ascending order; the mean of the two middle ones if even."""
    size = ordered.shape[1]
    return 0.5 * (ordered[:, (size - 1) // 2] + ordered[:, size // 2])


def median(values: Tensor) -> Tensor:
    """Return the median along dimension 1."""
    return median_of_sorted(values.sort(dim=1).values)


def repeated_median_slope(ordered: Tensor) -> Tensor:
    """Return B (batch, columns) of sorted columns (batch, size, columns) in float64, at least two rows.

    >>> repeated_median_slope(torch.tensor([[[0.0], [1.0], [2.0], [9.0]]], dtype=torch.float64)).tolist()
    [[1.0]]
    """
    size = ordered.shape[1]
    ranks = torch.arange(size, dtype=ordered.dtype, device=ordered.device)
    inner = torch.empty_like(ordered)
    for row in range(size):
        others = torch.cat((ordered[:, :row], ordered[:, row + 1 :]), dim=1)
        runs = torch.cat((ranks[:row], ranks[row + 1 :])) - row
        inner[:, row] = median((others - ordered[:, row : row + 1]) / runs[:, None])
    return median(inner)
