"""Servers with one queue: who comes first is served first, by whoever of the servers is free.

A request that would wait longer than its sender's patience leaves the queue, as a browser does that ends a request
after 30 seconds. Times are exact: nothing here depends on the step of the simulation.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled

GAVE_UP = -1.0
"""The waiting time of a request that was never served."""


@dataclass(frozen=True, slots=True)
class Served:
    """What became of requests, in their order."""

    waits: NDArray[np.float64]
    """Seconds until each was served; GAVE_UP where the sender's patience ended before."""

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which requests were served."""
        return self.waits >= 0


class Station:
    """So many equal servers behind one queue."""

    def __init__(self, servers: int, patience: float = math.inf) -> None:
        self.servers, self.patience = servers, patience
        self.busy = 0.0
        """Seconds of service so far, of all servers together."""
        self._free = np.zeros(servers)
        """A heap of the moments at which the servers become free."""

    def serve(self, arrivals: NDArray[np.float64], services: NDArray[np.float64]) -> Served:
        """Let requests arrive at moments that do not decrease, each with its seconds of service."""
        waits = np.empty(len(arrivals))
        self.busy += float(_serve(arrivals, services, self._free, self.patience, waits))
        return Served(waits)

    def backlog(self, moment: float) -> float:
        """Return the seconds of work that wait at a moment, per server."""
        return float(np.maximum(self._free - moment, 0).mean())


@compiled
def _serve(
    arrivals: NDArray[np.float64],
    services: NDArray[np.float64],
    free: NDArray[np.float64],
    patience: float,
    waits: NDArray[np.float64],
) -> float:
    """Fill in `waits`, move the heap `free` on, and return the seconds of service."""
    busy = 0.0
    for number in range(len(arrivals)):
        start = max(arrivals[number], free[0])
        wait = start - arrivals[number]
        if wait > patience:
            waits[number] = -1.0
            continue
        waits[number] = wait
        busy += services[number]
        end = start + services[number]
        # The server that was free first is free last perhaps: let it sink to its place in the heap.
        place = 0
        while True:
            child = 2 * place + 1
            if child >= len(free):
                break
            if child + 1 < len(free) and free[child + 1] < free[child]:
                child += 1
            if free[child] >= end:
                break
            free[place] = free[child]
            place = child
        free[place] = end
    return busy


def erlang_wait(arrival_rate: float, service: float, servers: int) -> float:
    """Return the mean wait of M/M/c: random arrivals, exponential service (Erlang's formula C).

    >>> round(erlang_wait(0.5, 1.0, 1), 6)
    1.0
    """
    offered = arrival_rate * service
    blocked = 1.0
    for count in range(1, servers + 1):  # Erlang's formula B, by its recursion
        blocked = offered * blocked / (count + offered * blocked)
    waiting = blocked / (1 - offered / servers * (1 - blocked))
    return waiting * service / (servers - offered)


def pollaczek_wait(arrival_rate: float, service: float) -> float:
    """Return the mean wait of M/D/1: random arrivals, equal services, one server (Pollaczek and Khinchine).

    >>> pollaczek_wait(0.5, 1.0)
    0.5
    """
    load = arrival_rate * service
    return load * service / (2 * (1 - load))
