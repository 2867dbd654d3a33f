"""Step 1, rescale: bound the range of one parameter over the clients before anything is fitted to it.

Two ways. `median` clips to the column's median plus and minus varpi/2: honest values never move towards an outlier.
`paper` is Algorithm 1 of the paper: it takes from the largest and gives to the smallest, one standard deviation at a
time, and so also moves honest extremes; a client that writes its own update can hide behind that
(`benchmarks/rescaling_hole.py`). It stays for the reproduction of the paper.
"""

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled

Column = NDArray[np.float64]


@compiled
def rescale_by_deviation(column: Column, clients: Column, varpi: float) -> None:
    """Run the paper's Algorithm 1 on one column, in place: while max - min > varpi, move both by sigma.

    `column` holds the values in ascending order and `clients` the matching client numbers; the order of the
    column's elements stays that of the values before rescaling. Among equal extremes the lowest client moves.
    """
    size = column.shape[0]
    # Below this, steps are lost in rounding and the loop would never end.
    finest = 4.0 * size * np.finfo(np.float64).eps * max(abs(column[0]), abs(column[size - 1]))
    varpi = max(varpi, finest)
    order = np.arange(size)  # positions of `column`, kept in ascending order of their current values
    squares = _squared_deviations(column)
    exact = squares  # as last computed in full
    while column[order[size - 1]] - column[order[0]] > varpi:
        sigma = np.sqrt(max(squares, 0.0) / size)
        spread = column[order[size - 1]] - column[order[0]]
        _move_extreme(column, clients, order, size - 1, -1, -sigma)
        _move_extreme(column, clients, order, 0, 1, sigma)
        squares -= 2.0 * sigma * (spread - sigma)
        if squares < 0.5 * exact:  # bounds what cancellation can add up to: values may start at 1e6
            squares = exact = _squared_deviations(column)


@compiled
def _squared_deviations(column: Column) -> float:
    """Return M times the population variance."""
    centred = column - column.mean()
    return float((centred * centred).sum())


@compiled
def _move_extreme(
    column: Column, clients: Column, order: NDArray[np.int64], end: int, inward: int, change: float
) -> None:
    """Change the extreme value at one end of the order and put it back in its place.

    `inward` is the step from that end towards the other one.
    """
    size = order.shape[0]
    chosen = end
    place = end + inward
    while 0 <= place < size and column[order[place]] == column[order[end]]:
        if clients[order[place]] < clients[order[chosen]]:
            chosen = place
        place += inward
    moving = order[chosen]
    value = column[moving] + change
    place = chosen
    while 0 <= place + inward < size and (column[order[place + inward]] - value) * inward < 0.0:
        order[place] = order[place + inward]
        place += inward
    order[place] = moving
    column[moving] = value
