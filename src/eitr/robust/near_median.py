"""Means of the values nearest to the median of each column: the last step of Bulyan."""

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.columns import Workspace, workspace
from eitr.robust.detection import Order
from eitr.robust.lanes import LANES
from eitr.robust.threads import over_ranges
from eitr.robust.tiles import Updates, load_tile, sort_tile


def mean_near_median(updates: Updates, order: Order, weights: NDArray[np.float64], count: int) -> Updates:
    """Return the weighted mean of the `count` values of each column that are nearest to its median.

    `order` says which rows take part. Of two equally near, the smaller is taken.

    >>> updates = np.array([[1.0], [2.0], [4.0], [9.0]])
    >>> mean_near_median(updates, np.arange(4), np.ones(4), 2).tolist()
    [3.0]
    """
    result = np.empty(updates.shape[1], dtype=updates.dtype)
    mine = weights[order]

    def work(first: int, last: int) -> None:
        _column_range(updates, order, mine, count, first, last, workspace(len(order)), result)

    over_ranges(work, result.shape[0], step=LANES)
    return result


@compiled
def _column_range(
    updates: Updates,
    order: Order,
    weights: NDArray[np.float64],
    count: int,
    first: int,
    last: int,
    work: Workspace,
    result: Updates,
) -> None:
    for start in range(first, last, LANES):
        load_tile(updates, order, start, work.values, work.clients)
        sort_tile(work.values, work.clients, work.sort_network)
        for lane in range(min(LANES, last - start)):
            result[start + lane] = _near(work, lane, weights, count)


@compiled
def _near(work: Workspace, lane: int, weights: NDArray[np.float64], count: int) -> float:
    # In a sorted column the nearest values stand side by side: of all stretches, the one that reaches least far.
    size = work.values.shape[0]
    median = 0.5 * (work.values[(size - 1) // 2, lane] + work.values[size // 2, lane])
    least, begin = np.inf, 0
    for rank in range(size - count + 1):
        reach = max(median - work.values[rank, lane], work.values[rank + count - 1, lane] - median)
        if reach < least:
            least, begin = reach, rank
    lowest, highest = work.values[begin, lane], work.values[begin + count - 1, lane]
    weight, total = 0.0, 0.0
    for rank in range(begin, begin + count):
        mine = weights[int(work.clients[rank, lane])]
        weight += mine
        total += mine * (work.values[rank, lane] - lowest)
    return float(min(max(lowest + total / weight, lowest), highest))
