"""Blocks of parameters of many clients, each parameter's values as one sorted column.

Sorting networks (`networks.py`) take M log^2 M steps and suit few clients. For many, NumPy's sort is faster: value and
client are packed into one whole number, which sorts by value and, among equal values, by client.
"""

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.tiles import Updates

Columns = NDArray[np.float64]
"""(parameters, clients), C-contiguous."""
Clients = NDArray[np.int64]

_ROWS = 8
"""Clients copied at a time: their values of one parameter fill a cache line."""
_LOWEST = -(2**31)
_LOW_BITS = 2**32 - 1


def sorted_columns(updates: Updates, order: NDArray[np.int64], first: int, values: Columns, clients: Clients) -> None:
    """Fill columns with the parameters from `first` on, sorted; clients are numbered by their place in the order."""
    if updates.dtype == np.float32:
        _pack(updates.view(np.int32), order, first, clients)
        clients.sort(axis=1)
        sorted_values = np.empty(values.shape, np.float32)
        _unpack(clients, sorted_values.view(np.int32))
        values[:] = sorted_values
    else:
        values[:] = updates[order, first : first + len(values)].T
        clients[:] = np.argsort(values, axis=1, kind="stable")
        values[:] = np.take_along_axis(values, clients, axis=1)


@compiled
def _pack(bits: NDArray[np.int32], order: NDArray[np.int64], first: int, packed: NDArray[np.int64]) -> None:
    """Write, for each value, a whole number that sorts as the value does, and the client in its lower half."""
    width, size = packed.shape
    for begin in range(0, size, _ROWS):
        for column in range(width):
            for place in range(begin, min(begin + _ROWS, size)):
                word = bits[order[place], first + column]
                # Floats are sign and magnitude; -0.0 equals 0.0.
                key = word if word >= 0 else (_LOWEST - word if word > _LOWEST else 0)
                packed[column, place] = (np.int64(key) << 32) | place


@compiled
def _unpack(packed: NDArray[np.int64], words: NDArray[np.int32]) -> None:
    """Write the bits of the values, and leave the clients alone in place of the packed numbers."""
    for column in range(packed.shape[0]):
        for rank in range(packed.shape[1]):
            key = packed[column, rank] >> 32
            words[column, rank] = key if key >= 0 else _LOWEST - key
            packed[column, rank] &= _LOW_BITS
