"""Steps 1 to 7 of a round with many clients: what `detection.py` does in tiles, one column at a time.

The numbers are the same to the last bit: the same operations in the same order, only sorting, selecting and the search
for the slope take other ways, which grow little faster than the number of clients.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.column_slope import ColumnWorkspace, column_workspace, slope_of_column
from eitr.robust.confidence import ABSOLUTE_SCALE, RELATIVE_SCALE
from eitr.robust.lanes import LANES, aligned_rows
from eitr.robust.networks import middle
from eitr.robust.repeated_median import Rows, SlopeWorkspace, repeated_median_slope, slope_workspace
from eitr.robust.rescale import rescale_by_deviation
from eitr.robust.sorted_columns import Clients, Columns, sorted_columns
from eitr.robust.tiles import Updates

_VALUES = 1 << 16
"""Values in a block: half a megabyte, which stays in the cache."""

Floats = NDArray[np.float64]


class Block(NamedTuple):
    """Scratch memory for a block of columns of one size; one per thread."""

    values: Columns
    """Sorted; later centred."""
    clients: Clients
    """The client of each sorted value, by its place in the order of clients."""
    residuals: Columns
    buffer: Columns
    median: Floats
    slope: Floats
    accepted: NDArray[np.bool_]
    """(clients, parameters)."""
    column: ColumnWorkspace
    thinned: Rows
    """Some rows of `LANES` columns, evenly spaced: their slope is close to that of all rows."""
    thinned_slope: Rows
    thinned_work: SlopeWorkspace


def block_of(size: int) -> Block:
    """Allocate the scratch memory for columns of `size` clients."""
    width = max(LANES, _VALUES // size // LANES * LANES)
    thin = 2 * round(1.5 * size**0.5)
    return Block(
        values=np.empty((width, size)),
        clients=np.empty((width, size), dtype=np.int64),
        residuals=np.empty((width, size)),
        buffer=np.empty((width, size)),
        median=np.empty(width),
        slope=np.empty(width),
        accepted=np.empty((size, width), dtype=np.bool_),
        column=column_workspace(size),
        thinned=aligned_rows(thin),
        thinned_slope=aligned_rows(1),
        thinned_work=slope_workspace(thin),
    )


def judge_columns(
    updates: Updates,
    order: NDArray[np.int64],
    first: int,
    last: int,
    varpi: float,
    by_deviation: bool,
    bound: Floats,
    factor: float,
    delta: float,
    accepted: NDArray[np.bool_],
    median: Floats,
    rescaled: Updates,
) -> None:
    """Judge the parameters from `first` to `last`, as `detection.detect` says."""
    whole = block_of(len(order))
    reach = np.inf if by_deviation else varpi / 2
    for start in range(first, last, len(whole.median)):
        width = min(len(whole.median), last - start)
        block = _part(whole, width)
        sorted_columns(updates, order, start, block.values, block.clients)
        if by_deviation:
            _rescale(block, varpi)
            for values, clients, parameter in zip(block.values, block.clients, range(start, last), strict=False):
                rescaled[order[clients], parameter] = values
        low, high = middle(len(order))
        block.median[:] = 0.5 * (block.values[:, low] + block.values[:, high])
        median[start : start + width] = block.median
        _fit(block, reach)
        np.subtract(block.values, block.slope[:, None] * np.arange(len(order)), out=block.buffer)
        intercept = _medians(block.buffer)
        _residuals(block, intercept)
        np.abs(block.residuals, out=block.buffer)
        scale = _medians(block.buffer) * factor + ABSOLUTE_SCALE
        np.abs(np.add(block.values, block.median[:, None], out=block.buffer), out=block.buffer)
        scale += _medians(block.buffer) * RELATIVE_SCALE
        _judge(block, bound, scale, delta)
        accepted[order, start : start + width] = block.accepted


def _part(block: Block, width: int) -> Block:
    """Return a block of fewer columns in the same memory."""
    if width == len(block.median):
        return block
    return block._replace(
        values=block.values[:width],
        clients=block.clients[:width],
        residuals=block.residuals[:width],
        buffer=block.buffer[:width],
        median=block.median[:width],
        slope=block.slope[:width],
        accepted=np.empty((len(block.accepted), width), dtype=np.bool_),
    )


def _medians(columns: Columns) -> Floats:
    """Return the median of each column, whose order is destroyed."""
    low, high = middle(columns.shape[1])
    columns.partition((low, high), axis=1)
    return np.asarray(0.5 * (columns[:, low] + columns[:, high]))


@compiled
def _rescale(block: Block, varpi: float) -> None:
    """Apply the paper's rescaling to each column and sort it again, equal values by their value before."""
    size = block.values.shape[1]
    for column in range(block.values.shape[0]):
        values = block.values[column]
        if values[size - 1] - values[0] > varpi:
            clients = block.clients[column].copy()
            rescale_by_deviation(values, clients.astype(np.float64), varpi)
            places = np.argsort(values, kind="mergesort")
            block.values[column] = values[places]
            block.clients[column] = clients[places]


@compiled
def _fit(block: Block, reach: float) -> None:
    """Centre the columns on their medians, clip them to the reach, and find their slopes."""
    width, size = block.values.shape
    for column in range(width):
        for rank in range(size):
            block.values[column, rank] = min(max(block.values[column, rank] - block.median[column], -reach), reach)
    thin = block.thinned.shape[0]
    for start in range(0, width, LANES):
        for row in range(thin):
            rank = (2 * row + 1) * size // (2 * thin)
            for lane in range(LANES):
                block.thinned[row, lane] = block.values[min(start + lane, width - 1), rank]
        repeated_median_slope(block.thinned, block.thinned_work, block.thinned_slope)
        for column in range(start, min(start + LANES, width)):
            estimate = block.thinned_slope[0, column - start] * thin / size
            block.slope[column] = slope_of_column(block.values[column], estimate, block.column)


@compiled
def _residuals(block: Block, intercept: Floats) -> None:
    """Write r_i = w_i - B x_i - A."""
    for column in range(block.values.shape[0]):
        for rank in range(block.values.shape[1]):
            line = block.slope[column] * rank + intercept[column]
            block.residuals[column, rank] = block.values[column, rank] - line


@compiled
def _judge(block: Block, bound: Floats, scale: Floats, delta: float) -> None:
    for column in range(block.values.shape[0]):
        for rank in range(block.values.shape[1]):
            # s > delta, written without the division.
            inside = delta * abs(block.residuals[column, rank]) < bound[rank] * scale[column]
            block.accepted[block.clients[column, rank], column] = inside
