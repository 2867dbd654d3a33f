"""Which clients are compared with each other: all, or in a large round each with a random group.

Comparing all pairs takes time and memory that grow with the square of the number of clients. In groups of a bounded
size both grow with the number itself. Groups are drawn anew in each round from the seed of the rule, so that nobody
who does not know a server's secret seed can choose whom to be compared with.
"""

import numpy as np
from numpy.typing import NDArray

COMPARED = 1000
"""Up to so many clients are compared with each other."""


def groups_of_clients(clients: int, seed: int, index: int) -> list[NDArray[np.int64]]:
    """Return the places of the clients in each group, ascending: as few groups as possible, equally large but for one.

    >>> [group.tolist() for group in groups_of_clients(3, seed=0, index=7)]
    [[0, 1, 2]]
    >>> [len(group) for group in groups_of_clients(2500, seed=0, index=7)]
    [834, 833, 833]
    """
    number = -(-clients // COMPARED)
    drawn = np.arange(clients) if number == 1 else np.random.default_rng([seed, index]).permutation(clients)
    return [np.sort(group) for group in np.array_split(drawn, number)]
