"""`LANES` parameters side by side: the values that kernels compute with.

A kernel is written once, in terms of these functions on rows of (rows, LANES) arrays. Compiled, a row is a few
SIMD registers; with the JIT off (`NUMBA_DISABLE_JIT=1`) it is a NumPy array and the kernel an ordinary function.
"""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import JIT

_lanes: Any = import_module("eitr.robust._lanes_simd" if JIT else "eitr.robust._lanes_plain")

LANES: int = _lanes.LANES
LINE: int = _lanes.LINE
"""Counts that `add_line` adds at once."""
absolute = _lanes.absolute
add = _lanes.add
add_line = _lanes.add_line
both = _lanes.both
divide = _lanes.divide
either = _lanes.either
equal = _lanes.equal
less = _lanes.less
less_equal = _lanes.less_equal
load = _lanes.load
maximum = _lanes.maximum
minimum = _lanes.minimum
multiply = _lanes.multiply
splat = _lanes.splat
store = _lanes.store
subtract = _lanes.subtract
where = _lanes.where

_CACHE_LINE = 64


def aligned_rows(rows: int) -> NDArray[np.float64]:
    """Return an uninitialised (rows, LANES) scratch array whose rows start on a cache line.

    A row that straddles two lines costs twice the time: NumPy aligns to 16 bytes only.
    """
    return _aligned(rows, LANES, np.float64)


def aligned_lines(rows: int) -> NDArray[np.int32]:
    """Return an uninitialised (rows, LINE) scratch array of counts whose rows start on a cache line."""
    return _aligned(rows, LINE, np.int32)


def _aligned(rows: int, width: int, kind: Any) -> NDArray[Any]:
    size = rows * width * np.dtype(kind).itemsize
    raw = np.empty(size + _CACHE_LINE, dtype=np.uint8)
    skip = -raw.ctypes.data % _CACHE_LINE
    return np.asarray(raw[skip : skip + size].view(kind).reshape(rows, width))
