"""Small matrix products inside compiled code.

numba has matrix products only where scipy is installed, and leaves plain loops to LLVM, which spends more time on
proving that the rows do not overlap than on multiplying rows of 32. So the inner loop is written in vectors of 16
numbers, four rows at a time: sums stay in registers. With the JIT off it is NumPy's own product.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import JIT, compiled

Floats = NDArray[np.float32]

LANES = 16


def _plain_multiply_add(left: Floats, rows: Floats, total: Floats) -> None:
    """Add `left @ rows` to `total`, in place."""
    total += left @ rows


if JIT:
    from eitr.model import _vectors

    fused: Any = _vectors.fused
    load: Any = _vectors.load
    splat: Any = _vectors.splat
    store: Any = _vectors.store

    @compiled
    def _vector_multiply_add(left: Any, rows: Any, total: Any) -> None:
        """Add `left @ rows` to `total`, in place: blocks of four rows by sixteen columns, then what is left over."""
        height, depth = left.shape
        width = rows.shape[1]
        whole = width - width % LANES
        row = 0
        while row + 4 <= height:
            for column in range(0, whole, LANES):
                a, b = load(total, row, column), load(total, row + 1, column)
                c, d = load(total, row + 2, column), load(total, row + 3, column)
                for place in range(depth):
                    here = load(rows, place, column)
                    a = fused(splat(left[row, place]), here, a)
                    b = fused(splat(left[row + 1, place]), here, b)
                    c = fused(splat(left[row + 2, place]), here, c)
                    d = fused(splat(left[row + 3, place]), here, d)
                store(total, row, column, a)
                store(total, row + 1, column, b)
                store(total, row + 2, column, c)
                store(total, row + 3, column, d)
            row += 4
        while row < height:
            for column in range(0, whole, LANES):
                a = load(total, row, column)
                for place in range(depth):
                    a = fused(splat(left[row, place]), load(rows, place, column), a)
                store(total, row, column, a)
            row += 1
        for row in range(height):
            for column in range(whole, width):
                number = total[row, column]
                for place in range(depth):
                    number += left[row, place] * rows[place, column]
                total[row, column] = number


multiply_add = _vector_multiply_add if JIT else _plain_multiply_add
