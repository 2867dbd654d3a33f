"""A client's step in few numbers: a seeded random projection that keeps inner products.

Every parameter gets a random sign, and parameters `DIMENSIONS` apart are added up: a linear map whose inner products
are right on average, whatever the vectors, and err by about 1/64 of the lengths. Before that, a step's numbers are
bounded by three times their usual size, so that the few large ones of the last layers do not drown the many of the
first.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from eitr.model.random import key_of, words

Floats = NDArray[np.float64]

DIMENSIONS = 4096
"""16 kB per client as float32: what is kept of a client's past is this long, however large the model."""
BOUND = 3.0
"""The largest number of a step, in root mean squares of a step of usual length."""
_STREAM = 41


def noise_of(parameters: int) -> float:
    """Return by how much the cosine of two projected steps errs."""
    return float(1.0 / np.sqrt(min(parameters, DIMENSIONS)))


@lru_cache(maxsize=4)
def signs(seed: int, parameters: int) -> NDArray[np.float32]:
    """Return the random sign of each parameter."""
    drawn = words(key_of(seed, _STREAM), parameters)
    return np.where(drawn & 1 == 1, np.float32(1), np.float32(-1))


def limit_of(usual: float, parameters: int) -> float:
    """Return the bound of a step's numbers in a round whose steps have this length as a rule."""
    return float(BOUND * usual / np.sqrt(parameters))


def towards_median(rows: Floats) -> Floats:
    """Return the cosine of each row with the coordinate median of all rows, each taken with length 1."""
    lengths = np.linalg.norm(rows, axis=1)
    scaled = rows / np.where(lengths > 0, lengths, 1.0)[:, None]
    centre = np.median(scaled, axis=0)
    length = np.linalg.norm(centre)
    return np.asarray(scaled @ centre / length) if length > 0 else np.zeros(len(rows))
