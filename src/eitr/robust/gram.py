"""Inner products of the clients' steps: all that a rule needs to know of them to decide whom to believe.

Lengths, distances, angles and principal directions follow from the M x M matrix of inner products, whatever the number
of parameters. It is summed in float64; two numbers computed from it that differ by a hair are taken for equal, so that
rounding, which differs from machine to machine, never decides between two clients: their ids do.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.robust.detection import Order
from eitr.robust.tiles import Updates

Floats = NDArray[np.float64]

HAIR = 1e-12
"""Relative to the largest number that went in: differences below are rounding."""
_NUMBERS = 1 << 19
"""How many numbers are multiplied at a time: four megabytes, which stay in the cache."""


def gram_of_steps(updates: Updates, base: NDArray[Any], order: Order) -> Floats:
    """Return <g_i, g_j> (clients, clients) of the steps g = update - base, clients in the given order.

    >>> updates = np.array([[4.0, 5.0], [1.0, 3.0]], dtype=np.float32)
    >>> gram_of_steps(updates, np.ones(2, dtype=np.float32), np.array([1, 0])).tolist()
    [[4.0, 8.0], [8.0, 25.0]]
    """

    def steps(part: slice) -> Floats:
        return np.asarray(np.subtract(updates[order, part], base[part], dtype=np.float64))

    return gram_by_blocks(steps, len(order), updates.shape[1])


def gram_by_blocks(rows: Callable[[slice], Floats], size: int, parameters: int) -> Floats:
    """Return the inner products (size, size) of rows that are made a block of parameters at a time."""
    gram = np.zeros((size, size))
    width = max(256, _NUMBERS // size)
    for start in range(0, parameters, width):
        block = rows(slice(start, min(start + width, parameters)))
        gram += block @ block.T
    return gram


def squared_distances(gram: Floats) -> Floats:
    """Return |g_i - g_j|^2 (clients, clients); 0 where only rounding tells two clients apart.

    >>> squared_distances(np.array([[4.0, 8.0], [8.0, 25.0]])).tolist()
    [[0.0, 13.0], [13.0, 0.0]]
    """
    squares = np.diag(gram)
    sums = squares[:, None] + squares[None, :]
    distances = sums - 2 * gram
    return np.where(distances > HAIR * sums, distances, 0.0)


def ranked(values: Floats, hair: float) -> NDArray[np.int64]:
    """Return the places of the values along the last axis in ascending order, those within a hair in that of clients.

    >>> ranked(np.array([3.0, 1.0 + 1e-15, 2.0, 1.0]), 1e-12).tolist()
    [1, 3, 2, 0]
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ascending = np.take_along_axis(values, order, axis=-1)
    level = np.zeros(values.shape, dtype=np.int64)
    risen = np.zeros_like(level)
    risen[..., 1:] = np.cumsum(ascending[..., 1:] - ascending[..., :-1] > hair, axis=-1)
    np.put_along_axis(level, order, risen, axis=-1)
    return np.argsort(level, axis=-1, kind="stable")
