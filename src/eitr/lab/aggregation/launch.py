"""Launching the Triton kernels: what is run on which block, in which order, with which scratch memory.

    rank -> (more than SEARCH_FROM clients: start, trials, candidates) -> inner medians -> slope -> line -> verdicts

No step waits for the host: lists of columns that need more work are made and counted on the device.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from eitr.lab.aggregation import kernels
from eitr.lab.aggregation.blocks import blocks
from eitr.lab.aggregation.confidence import confidence_bounds
from eitr.lab.aggregation.detection import Detection, Settings, rejudge_moved
from eitr.robust.confidence import residual_factor

WIDTH = 128
"""Columns of a program: four for each thread of its one warp."""
ROWS = 8
"""Rows that a program holds in registers while the others pass by: 16 spill (compiled for sm_90)."""
VALUE_ROWS = 2
"""The same for the float64 verdicts by client."""
MEAN_WIDTH, MEAN_WARPS = 512, 4
SEARCH_FROM = 33
"""From this many clients the slope is searched; below, all inner medians are computed, in float64."""
FEW = 8
"""The search ends at this many undecided rows; half as many again for an odd number of clients, where trials that
fall between the two middle slopes of a row leave it undecided."""
TRIALS = 9
"""Columns that are not settled by then are computed in full."""
LISTED_FROM = 3
"""From this trial on only the columns that still need one are visited, from a list."""
PROGRAMS = 4224
"""Programs that share a list of columns: 32 for each of 132 multiprocessors."""
DECISION = 0.5e-5
"""What float32 may change a confidence by at delta: half of what the specification leaves open."""


def _few(clients: int) -> int:
    return FEW if clients % 2 == 0 else FEW + FEW // 2


def _tiles(columns: int) -> int:
    return -(-columns // WIDTH)


@dataclass(frozen=True, slots=True)
class Lines:
    """The fitted lines of a block, each (total,) float64, and the clients' ranks (clients, total)."""

    ranks: Tensor
    middle: Tensor
    slope: Tensor
    intercept: Tensor
    scale: Tensor


@dataclass(frozen=True, slots=True)
class _Columns:
    """Sorted columns of a block, and what all kernels on them are told."""

    ordered: Tensor
    """(clients, total)."""
    ranks: Tensor
    reach: Tensor
    """(runs,)."""
    columns: int

    @property
    def clients(self) -> int:
        return self.ordered.shape[0]

    @property
    def total(self) -> int:
        return self.ordered.shape[1]

    def vector(self, dtype: torch.dtype) -> Tensor:
        return torch.empty(self.total, dtype=dtype, device=self.ordered.device)

    def table(self, rows: int, dtype: torch.dtype) -> Tensor:
        return torch.empty((rows, self.total), dtype=dtype, device=self.ordered.device)


def bytes_a_column(clients: int) -> int:
    """Return the scratch memory of the detection, for one column."""
    searched = clients >= SEARCH_FROM
    trials = TRIALS * clients * _count_type(clients).itemsize + 16 * _few(clients) if searched else 0
    return clients * (4 + 2 + 8) + trials + 120


def _count_type(clients: int) -> torch.dtype:
    return torch.uint8 if clients < 256 else torch.int16


def _ranked(updates: Tensor, reach: Tensor) -> _Columns:
    """Sort the columns of a block of updates (runs, clients, columns), which may be a view."""
    runs, clients, columns = updates.shape
    ordered = torch.empty((clients, runs * columns), dtype=torch.float32, device=updates.device)
    ranks = torch.empty((clients, runs * columns), dtype=torch.int16, device=updates.device)
    kernels.rank_columns[(_tiles(columns), runs)](
        updates,
        ordered,
        ranks,
        updates.stride(0),
        updates.stride(1),
        columns,
        runs * columns,
        M=clients,
        ROWS=ROWS,
        WIDTH=WIDTH,
        num_warps=1,
    )
    return _Columns(ordered, ranks, reach.contiguous(), columns)


def _listed(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places where `chosen` (total,) is true, and how many they are, without asking the device."""
    place = torch.cumsum(chosen, 0, dtype=torch.int64)
    total = chosen.shape[0]
    listing = torch.empty(total + 1, dtype=torch.int32, device=chosen.device)
    target = torch.where(chosen, place - 1, total)  # what is not chosen is written past the end
    listing.scatter_(0, target, torch.arange(total, dtype=torch.int32, device=chosen.device))
    return listing, place[-1:].to(torch.int32)


def fit_columns(updates: Tensor, reach: Tensor, tolerance: Tensor, *, reweight: bool) -> Lines:
    """Fit the lines of a block of updates (runs, clients, columns).

    `tolerance` (runs,): what a residual may be off, relative to the scale tau, before float64 has to decide.
    """
    given = _ranked(updates, reach)
    lines = Lines(given.ranks, *(given.vector(torch.float64) for _ in range(4)))
    fit = (lines, tolerance.contiguous(), reweight)
    if given.clients < SEARCH_FROM:
        _slopes_of_all_rows(given, lines, None)
        _fit(given, *fit, None, given.vector(torch.float32), given.vector(torch.int8), precise=True)
        return lines
    doubt, flagged = _search(given, lines)
    _fit(given, *fit, None, doubt, flagged, precise=False)
    listing = _listed(flagged != 0)
    _slopes_of_all_rows(given, lines, listing)
    _fit(given, *fit, listing, doubt, flagged, precise=True)
    return lines


def _search(given: _Columns, lines: Lines) -> tuple[Tensor, Tensor]:
    """Find the slopes by trials and a selection among the rows left; return their doubt and the flagged columns."""
    size = {"M": given.clients, "WIDTH": WIDTH, "num_warps": 1}
    few = _few(given.clients)
    trial, lower, upper, split_low, split_high = (given.vector(torch.float32) for _ in range(5))
    below, beyond, slot_low, slot_high, left = (given.vector(torch.int32) for _ in range(5))
    bracket = (trial, lower, upper, split_low, split_high, below, beyond, slot_low, slot_high, left)
    tiles = _tiles(given.total)
    kernels.start_search[(tiles,)](given.ordered, given.reach, *bracket, given.columns, given.total, **size)
    kind = _count_type(given.clients)
    counts = torch.empty((TRIALS, given.clients, given.total), dtype=kind, device=trial.device)
    listing, amount = left, left  # not looked at in the first trials
    for attempt in range(TRIALS):
        listed = attempt >= LISTED_FROM
        if listed:
            listing, amount = _listed(left > few)
        kernels.try_slopes[(min(tiles, PROGRAMS) if listed else tiles,)](
            given.ordered,
            given.reach,
            *bracket,
            counts[attempt],
            listing,
            amount,
            given.columns,
            given.total,
            float(attempt),
            float(2 ** min(attempt * attempt, 60)),
            FEW=few,
            ROWS=ROWS,
            LISTED=listed,
            **size,
        )
    candidates = given.table(few, torch.int32)
    kernels.pick_candidates[(tiles,)](counts, slot_low, slot_high, left, candidates, given.total, FEW=few, **size)
    inner, error = given.table(few, torch.float64), given.table(few, torch.float32)
    once: dict[str, Any] = {"LISTED": False, "PRECISE": False, **size}
    kernels.inner_medians[(tiles, few)](
        given.ordered,
        given.reach,
        candidates,
        lower,
        upper,
        inner,
        error,
        left,
        left,
        given.columns,
        given.total,
        **once,
    )
    doubt, flagged = given.vector(torch.float32), given.vector(torch.int8)
    kernels.outer_medians[(tiles,)](
        given.ordered,
        given.reach,
        inner,
        error,
        lower,
        upper,
        below,
        slot_low,
        left,
        lines.slope,
        doubt,
        flagged,
        left,
        left,
        given.columns,
        given.total,
        SIZE=few,
        FEW=few,
        **once,
    )
    return doubt, flagged


def _slopes_of_all_rows(given: _Columns, lines: Lines, listed: tuple[Tensor, Tensor] | None) -> None:
    """Compute all inner medians in float64, of all columns or of those listed, and write the slopes."""
    inner = given.table(given.clients, torch.float64)
    unused = lines.slope
    listing, amount = (unused, unused) if listed is None else listed
    tiles = _tiles(given.total)
    grid = tiles if listed is None else min(tiles, PROGRAMS)
    options: dict[str, Any] = {
        "M": given.clients,
        "WIDTH": WIDTH,
        "LISTED": listed is not None,
        "PRECISE": True,
        "num_warps": 1,
    }
    rows = max(1, min(grid, PROGRAMS // given.clients)) if listed is not None else grid
    kernels.inner_medians[(rows, given.clients)](
        given.ordered,
        given.reach,
        unused,
        unused,
        unused,
        inner,
        unused,
        listing,
        amount,
        given.columns,
        given.total,
        **options,
    )
    kernels.outer_medians[(grid,)](
        given.ordered,
        given.reach,
        inner,
        *(unused,) * 6,
        lines.slope,
        unused,
        unused,
        listing,
        amount,
        given.columns,
        given.total,
        SIZE=given.clients,
        FEW=0,
        **options,
    )


def _fit(
    given: _Columns,
    lines: Lines,
    tolerance: Tensor,
    reweight: bool,
    listed: tuple[Tensor, Tensor] | None,
    doubt: Tensor,
    flagged: Tensor,
    *,
    precise: bool,
) -> None:
    tiles = _tiles(given.total)
    listing, amount = (flagged, flagged) if listed is None else listed
    kernels.fit_lines[(tiles if listed is None else min(tiles, PROGRAMS),)](
        given.ordered,
        given.reach,
        lines.slope,
        doubt,
        flagged,
        tolerance,
        lines.middle,
        lines.intercept,
        lines.scale,
        listing,
        amount,
        given.columns,
        given.total,
        residual_factor(given.clients),
        M=given.clients,
        WIDTH=WIDTH,
        REWEIGHT=reweight,
        LISTED=listed is not None,
        PRECISE=precise,
        num_warps=1,
    )


def detect_columns(updates: Tensor, settings: Settings) -> Detection:
    """Judge every parameter of every client of at least three: `detection.detect` on CUDA."""
    runs, clients, parameters = updates.shape
    accepted = torch.empty(updates.shape, dtype=torch.int8, device=updates.device)
    middle = torch.empty((runs, parameters), dtype=torch.float64, device=updates.device)
    bounds = confidence_bounds(clients, settings.lambda_)
    tolerance = DECISION / settings.delta * bounds.amin(dim=1) / settings.delta
    for block in blocks(runs, parameters, bytes_a_column(clients), updates.device):
        part = updates[block.runs, :, block.columns]
        reach = settings.reach[block.runs].contiguous()
        lines = fit_columns(part, reach, tolerance[block.runs], reweight=False)
        verdicts = accepted[block.runs, :, block.columns]
        kernels.accept_values[(_tiles(part.shape[2]), part.shape[0])](
            part,
            lines.ranks,
            reach,
            settings.delta[block.runs].contiguous(),
            bounds[block.runs].contiguous(),
            lines.middle,
            lines.slope,
            lines.intercept,
            lines.scale,
            verdicts,
            part.stride(0),
            part.stride(1),
            verdicts.stride(0),
            part.shape[2],
            part.shape[0] * part.shape[2],
            M=clients,
            ROWS=VALUE_ROWS,
            WIDTH=WIDTH,
            num_warps=1,
        )
        middle[block.runs, block.columns] = lines.middle.view(part.shape[0], part.shape[2])
    verdict = accepted.view(torch.bool)
    return Detection(verdict, middle, rejudge_moved(updates, settings, verdict, middle))


def reweight_columns(updates: Tensor, delta: Tensor, lambda_: Tensor) -> tuple[Tensor, Tensor]:
    """Score clients and restrict values of at least four clients: `residual.reweight` on CUDA."""
    runs, clients, parameters = updates.shape
    restricted = torch.empty_like(updates)
    scores = torch.zeros((runs, clients), dtype=torch.float64, device=updates.device)
    bounds = confidence_bounds(clients, lambda_)
    tolerance = DECISION / delta * bounds.amin(dim=1) / delta
    unlimited = torch.full_like(delta, torch.inf)
    for block in blocks(runs, parameters, bytes_a_column(clients), updates.device):
        part = updates[block.runs, :, block.columns]
        lines = fit_columns(part, unlimited[block.runs], tolerance[block.runs], reweight=True)
        target = restricted[block.runs, :, block.columns]
        tiles = _tiles(part.shape[2])
        parts = torch.empty((part.shape[0], tiles, clients), dtype=torch.float64, device=updates.device)
        kernels.reweight_values[(tiles, part.shape[0])](
            part,
            lines.ranks,
            delta[block.runs].contiguous(),
            bounds[block.runs].contiguous(),
            lines.middle,
            lines.slope,
            lines.intercept,
            lines.scale,
            target,
            parts,
            part.stride(0),
            part.stride(1),
            target.stride(0),
            part.shape[2],
            part.shape[0] * part.shape[2],
            M=clients,
            ROWS=VALUE_ROWS,
            WIDTH=WIDTH,
            num_warps=1,
        )
        scores[block.runs] += parts.sum(dim=1)
    return scores, restricted


def mean_of_columns(
    updates: Tensor, shares: Tensor, origin: Tensor | None, reach: Tensor, accepted: Tensor | None
) -> Tensor:
    """Return weighted means (runs, parameters): the sums of `combination` on CUDA."""
    runs, clients, parameters = updates.shape
    models = torch.empty((runs, parameters), dtype=torch.float32, device=updates.device)
    verdicts = updates if accepted is None else accepted.view(torch.int8)
    kernels.mean_values[(-(-parameters // MEAN_WIDTH), runs)](
        updates,
        shares.contiguous(),
        shares if origin is None else origin,
        reach.contiguous(),
        verdicts,
        models,
        updates.stride(0),
        updates.stride(1),
        verdicts.stride(0),
        verdicts.stride(1),
        parameters,
        M=clients,
        WIDTH=MEAN_WIDTH,
        RECTIFY=accepted is not None,
        num_warps=MEAN_WARPS,
    )
    return models


def middle_of_columns(updates: Tensor, drop: Tensor) -> Tensor:
    """Return the mean of each sorted column without its first and last `drop` (runs,) values."""
    runs, clients, parameters = updates.shape
    models = torch.empty((runs, parameters), dtype=torch.float32, device=updates.device)
    nowhere = torch.zeros(runs, dtype=torch.float64, device=updates.device)
    for block in blocks(runs, parameters, 6 * clients, updates.device):
        given = _ranked(updates[block.runs, :, block.columns], nowhere)
        target = models[block.runs, block.columns]
        kernels.middle_values[(_tiles(given.columns), target.shape[0])](
            given.ordered,
            drop[block.runs].contiguous(),
            target,
            target.stride(0),
            given.columns,
            given.total,
            M=clients,
            WIDTH=WIDTH,
            num_warps=1,
        )
    return models
