"""`LANES` parameters side by side: the values that kernels compute with.

A kernel is written once, in terms of these functions on rows of (rows, LANES) arrays. Compiled, a row is a few
SIMD registers; with the JIT off (`NUMBA_DISABLE_JIT=1`) it is a NumPy array and the kernel an ordinary function.
"""

import numpy as np
from numba import config
from numpy.typing import NDArray

if config.DISABLE_JIT:
    from eitr.robust._lanes_plain import (
        LANES,
        absolute,
        add,
        both,
        divide,
        either,
        equal,
        less,
        less_equal,
        load,
        maximum,
        minimum,
        multiply,
        splat,
        store,
        subtract,
        where,
    )
else:
    from eitr.robust._lanes_simd import (
        LANES,
        absolute,
        add,
        both,
        divide,
        either,
        equal,
        less,
        less_equal,
        load,
        maximum,
        minimum,
        multiply,
        splat,
        store,
        subtract,
        where,
    )

__all__ = [
    "LANES",
    "absolute",
    "add",
    "aligned_rows",
    "both",
    "divide",
    "either",
    "equal",
    "less",
    "less_equal",
    "load",
    "maximum",
    "minimum",
    "multiply",
    "splat",
    "store",
    "subtract",
    "where",
]

_CACHE_LINE = 64


def aligned_rows(rows: int) -> NDArray[np.float64]:
    """Return an uninitialised (rows, LANES) scratch array whose rows start on a cache line.

    A row that straddles two lines costs twice the time: NumPy aligns to 16 bytes only.
    """
    raw = np.empty(rows * LANES + _CACHE_LINE // 8, dtype=np.float64)
    skip = (-raw.ctypes.data % _CACHE_LINE) // 8
    return raw[skip : skip + rows * LANES].reshape(rows, LANES)
