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
absolute = _lanes.absolute
add = _lanes.add
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
    raw = np.empty(rows * LANES + _CACHE_LINE // 8, dtype=np.float64)
    skip = (-raw.ctypes.data % _CACHE_LINE) // 8
    return raw[skip : skip + rows * LANES].reshape(rows, LANES)
