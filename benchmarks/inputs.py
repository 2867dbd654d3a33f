"""Updates to measure on: every client's parameters are those of the base model plus its own small step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BASE_SPREAD = 0.1
STEP_SPREAD = 0.05
TIES = (0.3, 0.49)
"""Shares of tied values to try: many words are never seen by a client. Just under half is the hardest found."""


class Input(NamedTuple):
    """One round."""

    base: NDArray[np.float32]
    """(parameters,)."""
    updates: NDArray[np.float32]
    """(clients, parameters)."""
    ids: list[str]


def make_input(clients: int, parameters: int, *, ties: float = 0.0, seed: int = 0) -> Input:
    """Return base + 0.05 * normal noise; a share `ties` of the values is left at the base, as by unused weights.

    Filled row by row, so that no temporary is larger than a row: the peak of memory is measured on it.
    """
    rng = np.random.default_rng(seed)
    base = rng.standard_normal(parameters, dtype=np.float32)
    base *= BASE_SPREAD
    updates = np.empty((clients, parameters), dtype=np.float32)
    for row in updates:
        rng.standard_normal(out=row, dtype=np.float32)
        row *= STEP_SPREAD
        if ties:
            row[rng.random(parameters, dtype=np.float32) < ties] = 0.0
        row += base
    return Input(base, updates, [f"client{number:04}" for number in range(clients)])
