"""Step 11: weighted means over the clients, parameter by parameter.

Every mean is computed around one value m of its column and clamped to the smallest and the largest value that went in:
equal values give that value exactly, and no rounding leads outside the range that was sent. Sums run in float64 in the
order of the clients, so that it does not matter who came first.
"""

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.detection import Detection, Order
from eitr.robust.threads import over_ranges
from eitr.robust.tiles import Updates

_BLOCK = 512
"""Parameters summed at a time: their sums stay in the first-level cache."""


def combine(updates: Updates, detection: Detection, order: Order, weights: NDArray[np.float64]) -> Updates:
    """Return w_n = m + sum_i weight_i (W'_i - m) / sum_i weight_i.

    W' is the rectified value: the clipped one where it was accepted, the column's median m where it was not.
    """
    values = updates if detection.rescaled is None else detection.rescaled
    return _mean(values, order, weights, detection.median, detection.reach, detection.accepted)


def weighted_mean(values: Updates, order: Order, weights: NDArray[np.float64]) -> Updates:
    """Return sum_i weight_i w_i / sum_i weight_i.

    >>> updates = np.array([[1.0, 5.0], [3.0, 5.0]], dtype=np.float32)
    >>> weighted_mean(updates, np.arange(2), np.array([3.0, 1.0])).tolist()
    [1.5, 5.0]
    """
    everything = np.broadcast_to(np.True_, values.shape)  # takes no memory
    return _mean(values, order, weights, values[order[0]].astype(np.float64), np.inf, everything)


def _mean(
    values: Updates,
    order: Order,
    weights: NDArray[np.float64],
    origin: NDArray[np.float64],
    reach: float,
    accepted: NDArray[np.bool_],
) -> Updates:
    model = np.empty(values.shape[1], dtype=values.dtype)
    share = weights / weights[order].sum()

    def work(first: int, last: int) -> None:
        _mean_range(values, order, share, origin, reach, accepted, first, last, model)

    over_ranges(work, model.shape[0], step=_BLOCK)
    return model


@compiled
def _mean_range(
    values: Updates,
    order: Order,
    share: NDArray[np.float64],
    origin: NDArray[np.float64],
    reach: float,
    accepted: NDArray[np.bool_],
    first: int,
    last: int,
    model: Updates,
) -> None:
    total = np.empty(_BLOCK)
    lowest = np.empty(_BLOCK)
    highest = np.empty(_BLOCK)
    for start in range(first, last, _BLOCK):
        width = min(_BLOCK, last - start)
        middle = origin[start : start + width]
        total[:] = 0.0
        lowest[:] = np.inf
        highest[:] = -np.inf
        for place in range(order.shape[0]):
            row = order[place]
            weight = share[row]
            mine = values[row, start : start + width]
            kept = accepted[row, start : start + width]
            for n in range(width):
                value = min(max(np.float64(mine[n]), middle[n] - reach), middle[n] + reach) if kept[n] else middle[n]
                total[n] += weight * (value - middle[n])
                lowest[n] = min(lowest[n], value)
                highest[n] = max(highest[n], value)
        for n in range(width):
            model[start + n] = min(max(middle[n] + total[n], lowest[n]), highest[n])
