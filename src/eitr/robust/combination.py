"""Step 11: the weighted mean of the rectified values, never outside their range."""

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.detection import Detection, Order
from eitr.robust.threads import over_ranges
from eitr.robust.tiles import Updates

_BLOCK = 512
"""Parameters summed at a time: their sums stay in the first-level cache."""


def combine(detection: Detection, order: Order, weights: NDArray[np.float64]) -> Updates:
    """Return w_n = m + sum_i weight_i (W'_i - m) / sum_i weight_i, clamped to the smallest and the largest W'.

    W' is the rectified value: the clipped one where it was accepted, the column's median m where it was not.
    Written around m, equal values give that value exactly.
    """
    model = np.empty(detection.values.shape[1], dtype=detection.values.dtype)
    share = weights / weights.sum()

    def work(first: int, last: int) -> None:
        _combine_range(
            detection.values,
            order,
            detection.accepted,
            detection.median,
            detection.reach,
            share,
            first,
            last,
            model,
        )

    over_ranges(work, model.shape[0], step=_BLOCK)
    return model


@compiled
def _combine_range(
    values: Updates,
    order: Order,
    accepted: NDArray[np.bool_],
    median: NDArray[np.float64],
    reach: float,
    share: NDArray[np.float64],
    first: int,
    last: int,
    model: Updates,
) -> None:
    total = np.empty(_BLOCK)
    lowest = np.empty(_BLOCK)
    highest = np.empty(_BLOCK)
    for start in range(first, last, _BLOCK):
        width = min(_BLOCK, last - start)
        middle = median[start : start + width]
        total[:] = 0.0
        lowest[:] = np.inf
        highest[:] = -np.inf
        for place in range(order.shape[0]):
            row = order[place]
            weight = share[row]
            mine = values[row, start : start + width]
            kept = accepted[row, start : start + width]
            for n in range(width):
                offset = min(max(np.float64(mine[n]) - middle[n], -reach), reach) if kept[n] else 0.0
                total[n] += weight * offset
                lowest[n] = min(lowest[n], middle[n] + offset)
                highest[n] = max(highest[n], middle[n] + offset)
        for n in range(width):
            model[start + n] = min(max(middle[n] + total[n], lowest[n]), highest[n])
