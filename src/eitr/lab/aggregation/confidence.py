"""Bounds of the confidence by rank, as tensors: the numbers of `eitr.robust.confidence`, one row per run."""

import torch
from torch import Tensor

from eitr.robust.confidence import confidence_bound


def confidence_bounds(clients: int, lambda_: Tensor) -> Tensor:
    """Return lambda sqrt(2/M) sqrt(1 - h_i) (runs, clients), by rank."""
    unit = torch.from_numpy(confidence_bound(clients, 1.0)).to(lambda_.device)
    return lambda_[:, None] * unit
