"""Means of the middle of each column: the median and the trimmed mean, with or without weights."""

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.columns import Workspace, workspace
from eitr.robust.detection import Order
from eitr.robust.lanes import LANES
from eitr.robust.threads import over_ranges
from eitr.robust.tiles import Updates, load_tile, sort_tile


def weighted_median(updates: Updates, order: Order, weights: NDArray[np.float64]) -> Updates:
    """Return the value at which half of the weight is reached; the mean of two where it is reached exactly between.

    With equal weights this is the ordinary median, of an even number the mean of the two middle values.
    """
    # Rounding must not decide whether half is reached exactly: with equal weights sums of 1.0 are exact.
    scaled = np.ones_like(weights) if (weights == weights[0]).all() else weights / weights[order].sum()
    return _by_columns(updates, order, scaled, -1)


def trimmed_mean(updates: Updates, order: Order, weights: NDArray[np.float64], drop: int) -> Updates:
    """Return the weighted mean of each column without its `drop` smallest and `drop` largest values."""
    return _by_columns(updates, order, weights / weights[order].sum(), drop)


def _by_columns(updates: Updates, order: Order, weights: NDArray[np.float64], drop: int) -> Updates:
    result = np.empty(updates.shape[1], dtype=updates.dtype)

    def work(first: int, last: int) -> None:
        _column_range(updates, order, weights[order], drop, first, last, workspace(len(order)), result)

    over_ranges(work, result.shape[0], step=LANES)
    return result


@compiled
def _column_range(
    updates: Updates,
    order: Order,
    weights: NDArray[np.float64],
    drop: int,
    first: int,
    last: int,
    work: Workspace,
    result: Updates,
) -> None:
    for start in range(first, last, LANES):
        load_tile(updates, order, start, work.values, work.clients)
        sort_tile(work.values, work.clients, work.sort_network)
        for lane in range(min(LANES, last - start)):
            if drop < 0:
                result[start + lane] = _median(work, lane, weights)
            else:
                result[start + lane] = _trimmed(work, lane, weights, drop)


@compiled
def _median(work: Workspace, lane: int, weights: NDArray[np.float64]) -> float:
    half = 0.5 * weights.sum()
    reached = 0.0
    rank = -1
    while reached < half:
        rank += 1
        reached += weights[int(work.clients[rank, lane])]
    upper = rank
    if reached == half:  # exactly between: the next one that has any weight
        upper += 1
        while weights[int(work.clients[upper, lane])] == 0.0:
            upper += 1
    return float(0.5 * (work.values[rank, lane] + work.values[upper, lane]))


@compiled
def _trimmed(work: Workspace, lane: int, weights: NDArray[np.float64], drop: int) -> float:
    size = work.values.shape[0]
    lowest, highest = work.values[drop, lane], work.values[size - 1 - drop, lane]
    weight, total = 0.0, 0.0
    for rank in range(drop, size - drop):
        mine = weights[int(work.clients[rank, lane])]
        weight += mine
        total += mine * (work.values[rank, lane] - lowest)
    return float(min(max(lowest + total / weight, lowest), highest))
