"""Sorting networks: the same comparisons whatever the data, so that all lanes sort in step.

Batcher's merge exchange (Knuth, The Art of Computer Programming 3, algorithm 5.2.2M) works for any number of
inputs. Where only the middle of the sorted order is wanted, comparators that cannot influence it are left out.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.lanes import load, maximum, minimum, store

Comparators = NDArray[np.int64]
"""Shape (comparators, 2): row indices (low, high); after it, row `low` holds the smaller value."""


@lru_cache(maxsize=64)
def sorting_network(size: int) -> Comparators:
    """Return the comparators that sort `size` values.

    >>> sorting_network(3).tolist()
    [[0, 2], [0, 1], [1, 2]]
    """
    pairs: list[tuple[int, int]] = []
    top = 1 << max(0, (size - 1).bit_length() - 1)
    p = top
    while p > 0:
        q, r, distance = top, 0, p
        while True:
            pairs.extend((low, low + distance) for low in range(size - distance) if low & p == r)
            if q == p:
                break
            distance, q, r = q - p, q // 2, p
        p //= 2
    return _frozen(pairs)


@lru_cache(maxsize=64)
def selection_network(size: int, wanted: tuple[int, ...]) -> Comparators:
    """Return the part of the sorting network that puts the right values in the `wanted` positions.

    >>> len(selection_network(9, (4,))) < len(sorting_network(9))
    True
    """
    needed = set(wanted)
    kept: list[tuple[int, int]] = []
    for low, high in reversed(sorting_network(size).tolist()):
        if low in needed or high in needed:
            kept.append((low, high))
            needed |= {low, high}
    return _frozen(kept[::-1])


def middle(size: int) -> tuple[int, int]:
    """Return the two positions whose mean is the median of `size` sorted values (equal for odd sizes)."""
    return (size - 1) // 2, size // 2


def _frozen(pairs: list[tuple[int, int]]) -> Comparators:
    network = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    network.flags.writeable = False
    return network


@compiled
def exchange(rows: NDArray[np.float64], network: Comparators) -> None:
    """Run a network over the rows, in place, in every lane."""
    for comparator in range(network.shape[0]):
        low = network[comparator, 0]
        high = network[comparator, 1]
        first = load(rows, low)
        second = load(rows, high)
        store(rows, low, minimum(first, second))
        store(rows, high, maximum(first, second))
