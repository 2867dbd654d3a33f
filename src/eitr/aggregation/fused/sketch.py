"""A client's step in few numbers: a seeded random projection that keeps inner products.

Every parameter gets a random sign, and parameters `DIMENSIONS` apart are added up: a linear map whose inner products
are right on average, whatever the vectors, and err by about 1/64 of the lengths. Before that, a step's numbers are
bounded by three times their usual size, so that the few large ones of the last layers do not drown the many of the
first.
"""

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from eitr.model.random import LARGEST, key_of, words

Floats = NDArray[np.float64]

DIMENSIONS = 4096
"""16 kB per client as float32: what is kept of a client's past is this long, however large the model."""
BOUND = 3.0
"""The largest number of a step, in root mean squares of a step of usual length."""
_STREAM = 41


def noise_of(parameters: int) -> float:
    """Return by how much the cosine of two projected steps errs."""
    return float(1.0 / np.sqrt(max(1, min(parameters, DIMENSIONS))))


SEED_BYTES = 32
"""Bytes of the longest seed."""


@lru_cache(maxsize=4)
def signs(seed: int, parameters: int, start: int = 0) -> NDArray[np.float32]:
    """Return the random sign of each parameter; 0 for those before `start`, which are not projected.

    A seed of 32 bits, as the lab uses them, could be found by trying all. A longer one is a secret: its signs come from
    a cryptographic hash, and nobody without it can compute them.
    """
    if seed <= LARGEST:
        positive = words(key_of(seed, _STREAM), parameters) & 1 == 1
    else:
        drawn = hashlib.shake_256(seed.to_bytes(SEED_BYTES)).digest(-(-parameters // 8))
        positive = np.unpackbits(np.frombuffer(drawn, np.uint8), count=parameters) == 1
    found = np.where(positive, np.float32(1), np.float32(-1))
    found[:start] = 0
    return found


def limit_of(usual: float, parameters: int) -> float:
    """Return the bound of a step's numbers in a round whose steps have this length as a rule."""
    return float(BOUND * usual / np.sqrt(max(1, parameters)))


def towards_median(rows: Floats) -> Floats:
    """Return the cosine of each row with the coordinate median of all rows, each taken with length 1."""
    lengths = np.linalg.norm(rows, axis=1)
    scaled = rows / np.where(lengths > 0, lengths, 1.0)[:, None]
    centre = np.median(scaled, axis=0)
    length = np.linalg.norm(centre)
    return np.asarray(scaled @ centre / length) if length > 0 else np.zeros(len(rows))
