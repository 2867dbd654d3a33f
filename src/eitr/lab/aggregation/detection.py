"""Steps 1 to 7 of a round for many runs: which parameters of which client are accepted?

The torch form of `eitr.robust.detection`, in float64. Columns that the paper's rescaling moves are rare and kept apart,
as `Moved`: everything else can be computed from the updates themselves, and no second copy of them is needed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from eitr.lab.aggregation.blocks import blocks, budget
from eitr.lab.aggregation.confidence import confidence_bounds
from eitr.lab.aggregation.repeated_median import median, median_of_sorted, repeated_median_slope
from eitr.lab.aggregation.rescale import rescale_by_deviation
from eitr.robust.confidence import ABSOLUTE_SCALE, RELATIVE_SCALE, residual_factor

_COPIES = 12
"""Float64 copies of a block that exist at the same time, sorting included."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The detection's settings, each (runs,) float64."""

    varpi: Tensor
    delta: Tensor
    lambda_: Tensor
    paper: Tensor
    """(runs,) bool: rescale as the paper does."""
    any_paper: bool

    @property
    def reach(self) -> Tensor:
        """Values farther than this from the median are clipped."""
        return torch.where(self.paper, torch.inf, self.varpi / 2)

    def of(self, runs: slice | Tensor) -> "Settings":
        """Return the settings of some of the runs."""
        return Settings(self.varpi[runs], self.delta[runs], self.lambda_[runs], self.paper[runs], self.any_paper)


class Moved(NamedTuple):
    """Columns whose values the paper's rescaling changed."""

    run: Tensor
    column: Tensor
    values: Tensor
    """(count, clients) float32, as the CPU rule keeps them."""


class Detection(NamedTuple):
    """What was found; rows are the clients."""

    accepted: Tensor
    """(runs, clients, parameters) bool."""
    median: Tensor
    """(runs, parameters) float64, of the rescaled column."""
    moved: Moved | None
    negative: Tensor
    """(runs, clients) int64: rejected parameters."""


def detect(updates: Tensor, settings: Settings) -> Detection:
    """Judge every parameter of every client (runs, clients, parameters)."""
    runs, clients, parameters = updates.shape
    accepted = torch.empty(updates.shape, dtype=torch.bool, device=updates.device)
    middle = torch.empty((runs, parameters), dtype=torch.float64, device=updates.device)
    for block in blocks(runs, parameters, 8 * _COPIES * clients, updates.device):
        where = (block.runs, slice(None), block.columns)
        columns = updates[where].to(torch.float64)
        of_block = settings.of(block.runs)
        ordered, order = columns.sort(dim=1, stable=True)
        accepted[where], middle[block.runs, block.columns] = judge(ordered, order, of_block.reach, of_block)
    moved = rejudge_moved(updates, settings, accepted, middle)
    return Detection(accepted, middle, moved, parameters - accepted.sum(dim=2, dtype=torch.int64))


def judge(ordered: Tensor, order: Tensor, reach: Tensor, settings: Settings) -> tuple[Tensor, Tensor]:
    """Judge sorted columns (runs, clients, columns); return what is accepted, by client, and the medians."""
    clients = ordered.shape[1]
    centre = median_of_sorted(ordered)
    if clients <= 2:  # up to two clients lie on any line
        return torch.ones_like(order, dtype=torch.bool), centre
    limit = reach[:, None, None]
    offsets = torch.minimum(torch.maximum(ordered - centre[:, None], -limit), limit)
    slope = repeated_median_slope(offsets)
    ranks = torch.arange(clients, dtype=torch.float64, device=ordered.device)[:, None]
    tilted = offsets - slope[:, None] * ranks
    residual = (tilted - median(tilted)[:, None]).abs()
    tau = residual_factor(clients) * median(residual) + ABSOLUTE_SCALE
    tau += RELATIVE_SCALE * median((offsets + centre[:, None]).abs())
    bound = confidence_bounds(clients, settings.lambda_)[:, :, None]
    inside = settings.delta[:, None, None] * residual < bound * tau[:, None]
    return torch.zeros_like(inside).scatter_(1, order, inside), centre


def rejudge_moved(updates: Tensor, settings: Settings, accepted: Tensor, middle: Tensor) -> Moved | None:
    """Rescale as the paper does the columns that need it, judge them again and put the verdicts in place."""
    if not settings.any_paper:
        return None
    spread = torch.empty_like(middle)
    for index in range(updates.shape[0]):  # float32 extremes, subtracted in float64: no copy of the updates
        spread[index] = updates[index].amax(dim=0).to(torch.float64) - updates[index].amin(dim=0)
    run, column = torch.nonzero(settings.paper[:, None] & (spread > settings.varpi[:, None]), as_tuple=True)
    clients = updates.shape[1]
    values = torch.empty((len(run), clients), dtype=torch.float32, device=updates.device)
    step = max(1, budget(updates.device) // (8 * _COPIES * clients))
    for first in range(0, len(run), step):
        mine = slice(first, first + step)
        raw = updates[run[mine], :, column[mine]].to(torch.float64)
        rescaled = rescale_by_deviation(raw, settings.varpi[run[mine]])
        by_raw = raw.argsort(dim=1, stable=True)  # ties of rescaled values: by the value before, then by client
        ordered, place = rescaled.gather(1, by_raw).sort(dim=1, stable=True)
        of_columns = settings.of(run[mine])
        verdict, centre = judge(ordered[:, :, None], by_raw.gather(1, place)[:, :, None], of_columns.reach, of_columns)
        accepted[run[mine], :, column[mine]] = verdict[:, :, 0]
        middle[run[mine], column[mine]] = centre[:, 0]
        values[mine] = rescaled.to(torch.float32)
    return Moved(run, column, values)
