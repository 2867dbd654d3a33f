"""Tiles: `LANES` neighbouring parameters of all clients, loaded and sorted for the kernels."""

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.lanes import LANES, both, either, equal, less, load, store, where
from eitr.robust.networks import Comparators
from eitr.robust.repeated_median import Rows

Updates = NDArray[np.float32] | NDArray[np.float64]
"""(clients, parameters), C-contiguous."""


@compiled
def load_tile(updates: Updates, order: NDArray[np.int64], first: int, values: Rows, clients: Rows) -> None:
    """Fill a tile with the parameters from `first` on, clients in the given order, numbered by their place in it.

    Lanes beyond the last parameter repeat it, so that they hold ordinary numbers; nobody reads their results.
    """
    last = updates.shape[1] - 1
    for place in range(order.shape[0]):
        row = order[place]
        for lane in range(LANES):
            values[place, lane] = updates[row, min(first + lane, last)]
            clients[place, lane] = place


@compiled
def sort_tile(values: Rows, clients: Rows, network: Comparators) -> None:
    """Sort each lane by value, equal values by client, carrying the client along."""
    for comparator in range(network.shape[0]):
        low, high = network[comparator, 0], network[comparator, 1]
        first, second = load(values, low), load(values, high)
        first_client, second_client = load(clients, low), load(clients, high)
        in_order = either(less(first, second), both(equal(first, second), less(first_client, second_client)))
        store(values, low, where(in_order, first, second))
        store(values, high, where(in_order, second, first))
        store(clients, low, where(in_order, first_client, second_client))
        store(clients, high, where(in_order, second_client, first_client))
