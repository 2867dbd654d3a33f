"""What clients add to the global model: lengths, moments, projections and sums of steps, without a copy of all of them.

A step is an update minus the base. Everything is summed in float64 in one order, so that neither threads nor the order
in which updates came change a bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.detection import Order
from eitr.robust.threads import over_ranges
from eitr.robust.tiles import Updates

Floats = NDArray[np.float64]

_BLOCK = 4096


def lengths_of_steps(updates: Updates, base: NDArray[Any], order: Order, start: int = 0) -> Floats:
    """Return the length of each step, in the given order; of its parameters from `start` on.

    >>> lengths_of_steps(np.array([[4.0, 5.0], [1.0, 1.0]]), np.ones(2), np.array([1, 0])).tolist()
    [0.0, 5.0]
    >>> lengths_of_steps(np.array([[4.0, 5.0]]), np.ones(2), np.array([0]), start=1).tolist()
    [4.0]
    """
    return moments_of_steps(updates, base, order, start)[0]


def moments_of_steps(updates: Updates, base: NDArray[Any], order: Order, start: int = 0) -> tuple[Floats, Floats]:
    """Return the length of each step, and the sum of the fourth powers of its numbers, in one pass.

    >>> lengths, fourth = moments_of_steps(np.array([[4.0, 5.0]]), np.ones(2), np.array([0]))
    >>> lengths.tolist(), fourth.tolist()
    ([5.0], [337.0])
    """
    squares, fourth = np.empty(len(order)), np.empty(len(order))
    over_ranges(
        lambda first, last: _moments(updates, base, order, first, last, start, squares, fourth), len(order), step=1
    )
    return np.sqrt(squares), fourth


def usual_sizes(updates: Updates, base: NDArray[Any], order: Order, lengths: Floats) -> Floats:
    """Return how far the steps move each parameter, (parameters,): the sum of their absolute values at length 1.

    >>> usual_sizes(np.array([[3.0, -4.0], [0.0, 2.0]]), np.zeros(2), np.array([0, 1]), np.array([4.0, 2.0])).tolist()
    [0.75, 2.0]
    """
    scales = np.where(lengths > 0, 1.0 / np.where(lengths > 0, lengths, 1.0), 0.0)
    sizes = np.empty(updates.shape[1])
    over_ranges(lambda first, last: _sizes(updates, base, order, scales, first, last, sizes), len(sizes), step=_BLOCK)
    return sizes


def folded_steps(
    updates: Updates, base: NDArray[Any], order: Order, *, limit: float, signs: NDArray[np.float32], dimensions: int
) -> Floats:
    """Return, for each step in the given order, sum_k sign_n clip(step_n, -limit, limit) over n = i + k dimensions.

    >>> updates, signs = np.array([[1.0, 2.0, 9.0]]), np.array([1, 1, -1], np.float32)
    >>> folded_steps(updates, np.zeros(3), np.array([0]), limit=4, signs=signs, dimensions=2).tolist()
    [[-3.0, 2.0]]
    """
    folded = np.zeros((len(order), dimensions))
    over_ranges(lambda first, last: _fold(updates, base, order, first, last, limit, signs, folded), len(order), step=1)
    return folded


def base_and_steps(updates: Updates, base: NDArray[Any], order: Order, coefficients: Floats) -> Updates:
    """Return base + sum_i c_i step_i, in the type of the updates; coefficients are in the given order.

    >>> base_and_steps(np.array([[3.0], [5.0]]), np.ones(1), np.array([0, 1]), np.array([0.5, 0.25])).tolist()
    [3.0]
    """
    model = np.empty(updates.shape[1], dtype=updates.dtype)
    over_ranges(
        lambda first, last: _add(base, updates, order, coefficients, first, last, model), len(model), step=_BLOCK
    )
    return model


@compiled
def _moments(
    updates: Updates,
    base: NDArray[Any],
    order: Order,
    first: int,
    last: int,
    begin: int,
    squares: Floats,
    fourth: Floats,
) -> None:
    for place in range(first, last):
        row = updates[order[place]]
        total, fourth_total = 0.0, 0.0
        for start in range(begin, row.shape[0], _BLOCK):
            part, fourth_part = 0.0, 0.0
            for n in range(start, min(start + _BLOCK, row.shape[0])):
                step = np.float64(row[n]) - np.float64(base[n])
                square = step * step
                part += square
                fourth_part += square * square
            total += part
            fourth_total += fourth_part
        squares[place] = total
        fourth[place] = fourth_total


@compiled
def _sizes(
    updates: Updates, base: NDArray[Any], order: Order, scales: Floats, first: int, last: int, sizes: Floats
) -> None:
    for start in range(first, last, _BLOCK):
        end = min(start + _BLOCK, last)
        for n in range(start, end):
            sizes[n] = 0.0
        for place in range(order.shape[0]):
            row, scale = updates[order[place]], scales[place]
            for n in range(start, end):
                sizes[n] += scale * abs(np.float64(row[n]) - np.float64(base[n]))


@compiled
def _fold(
    updates: Updates,
    base: NDArray[Any],
    order: Order,
    first: int,
    last: int,
    limit: float,
    signs: NDArray[np.float32],
    folded: Floats,
) -> None:
    dimensions = folded.shape[1]
    for place in range(first, last):
        row = updates[order[place]]
        for start in range(0, row.shape[0], dimensions):
            for n in range(start, min(start + dimensions, row.shape[0])):
                step = np.float64(row[n]) - np.float64(base[n])
                folded[place, n - start] += np.float64(signs[n]) * min(max(step, -limit), limit)


@compiled
def _add(
    base: NDArray[Any],
    updates: Updates,
    order: Order,
    coefficients: Floats,
    first: int,
    last: int,
    model: Updates,
) -> None:
    total = np.empty(_BLOCK)
    for start in range(first, last, _BLOCK):
        width = min(_BLOCK, last - start)
        for n in range(width):
            total[n] = base[start + n]
        for place in range(order.shape[0]):
            share = coefficients[place]
            if share != 0.0:
                row = updates[order[place]]
                for n in range(width):
                    total[n] += share * (np.float64(row[start + n]) - np.float64(base[start + n]))
        for n in range(width):
            model[start + n] = total[n]
