"""The paper's rescaling (Algorithm 1) of many columns at once, in float64: see `eitr.robust.rescale`."""

import torch
from torch import Tensor


def rescale_by_deviation(columns: Tensor, varpi: Tensor) -> Tensor:
    """Return columns (count, clients) moved, while max - min > varpi (count,), by sigma at both extremes.

    Clients in the order of their ids: among equal extremes the lowest one moves. sigma is computed anew in each step.
    """
    columns = columns.clone()
    clients = columns.shape[1]
    # Below this, steps are lost in rounding and the loop would never end.
    finest = 4.0 * clients * torch.finfo(torch.float64).eps * columns.abs().amax(dim=1)
    varpi = torch.maximum(varpi, finest)
    active = torch.nonzero(columns.amax(dim=1) - columns.amin(dim=1) > varpi)[:, 0]
    moving = columns[active]
    while len(active):
        sigma = moving.std(dim=1, correction=0)
        largest, smallest = _first_at(moving, moving.amax(dim=1)), _first_at(moving, moving.amin(dim=1))
        moving.scatter_add_(1, largest, -sigma[:, None])
        moving.scatter_add_(1, smallest, sigma[:, None])
        columns[active] = moving
        still = moving.amax(dim=1) - moving.amin(dim=1) > varpi[active]
        active, moving = active[still], moving[still]
    return columns


def _first_at(columns: Tensor, extreme: Tensor) -> Tensor:
    """Return the first place (count, 1) of each row's extreme."""
    return (columns == extreme[:, None]).to(torch.uint8).argmax(dim=1, keepdim=True)
