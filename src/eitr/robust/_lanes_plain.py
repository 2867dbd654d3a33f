"""Lanes as NumPy rows: the meaning of `_lanes_simd.py`, used where the JIT is switched off (coverage, debugging)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LANES = 16
LINE = 32

Floats = NDArray[np.float64]


def load(array: Floats, row: int) -> Floats:
    """Read one row of a (rows, LANES) array."""
    return np.array(array[row])


def store(array: Floats, row: int, value: Floats) -> None:
    """Write one row of a (rows, LANES) array."""
    array[row] = value


def add_line(target: NDArray[np.int32], row: int, source: NDArray[np.int32], other: int) -> None:
    """Add one row of a (rows, LINE) array to a row of another one."""
    target[row] += source[other]


def splat(number: float) -> Floats:
    """The same number in every lane."""
    return np.full(LANES, number)


def divide(a: Any, b: Any) -> Any:
    """Divide as a processor does: x/0 is an infinity, not a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(a, b)


add = np.add
subtract = np.subtract
multiply = np.multiply
minimum = np.minimum
maximum = np.maximum
absolute = np.abs
less = np.less
less_equal = np.less_equal
equal = np.equal
both = np.logical_and
either = np.logical_or
where = np.where
