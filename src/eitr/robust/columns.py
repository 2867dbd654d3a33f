"""What every kernel on tiles needs: scratch memory for one thread, and medians over the rows of a tile."""

from typing import NamedTuple

from eitr.compiled import compiled
from eitr.robust.lanes import absolute, add, aligned_rows, load, multiply, splat, store, subtract
from eitr.robust.networks import Comparators, exchange, middle, selection_network, sorting_network
from eitr.robust.repeated_median import Rows, SlopeWorkspace, slope_workspace


class Workspace(NamedTuple):
    """Scratch memory and networks for columns of one size; one per thread."""

    values: Rows
    """The tile, each lane sorted; later centred."""
    clients: Rows
    """The client of each sorted value, by its place in the order of clients."""
    residuals: Rows
    buffer: Rows
    median: Rows
    slope: Rows
    intercept: Rows
    scale: Rows
    slope_work: SlopeWorkspace
    sort_network: Comparators
    middle_network: Comparators


def workspace(size: int) -> Workspace:
    """Allocate the scratch memory for columns of `size` clients."""
    return Workspace(
        values=aligned_rows(size),
        clients=aligned_rows(size),
        residuals=aligned_rows(size),
        buffer=aligned_rows(size),
        median=aligned_rows(1),
        slope=aligned_rows(1),
        intercept=aligned_rows(1),
        scale=aligned_rows(1),
        slope_work=slope_workspace(max(size, 2)),
        sort_network=sorting_network(size),
        middle_network=selection_network(size, middle(size)),
    )


@compiled
def middle_of_sorted(rows: Rows, median: Rows) -> None:
    """Write the median of each lane's rows, which are in order at least in the middle."""
    size = rows.shape[0]
    total = add(load(rows, (size - 1) // 2), load(rows, size // 2))
    store(median, 0, multiply(total, splat(0.5)))


@compiled
def median_of_rows(rows: Rows, network: Comparators, median: Rows) -> None:
    """Write the median of each lane's rows; `network` brings the middle into place and destroys the order."""
    exchange(rows, network)
    middle_of_sorted(rows, median)


@compiled
def residuals_from_line(work: Workspace) -> None:
    """Write r_i = w_i - B x_i - A for the tile's values and its `slope` B and `intercept` A."""
    slope, intercept = load(work.slope, 0), load(work.intercept, 0)
    for rank in range(work.values.shape[0]):
        line = add(multiply(slope, splat(float(rank))), intercept)
        store(work.residuals, rank, subtract(load(work.values, rank), line))


@compiled
def absolute_rows(rows: Rows, shift: Rows, target: Rows) -> None:
    """Write |row + shift| for every row."""
    offset = load(shift, 0)
    for row in range(rows.shape[0]):
        store(target, row, absolute(add(load(rows, row), offset)))
