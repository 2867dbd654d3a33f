"""The table of a round's updates, one row each: in memory, or in a file if it would take too much of that.

Ten thousand updates of the whole model are 10.6 GB. The file has no name, so that nobody else opens it and it is gone
with the process, however that ends. The system keeps the part of it in memory that fits and is in use.
"""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MOST_IN_MEMORY = 1 << 29
"""Bytes of a table that is in memory."""


def new_table(rows: int, columns: int, folder: Path | None) -> NDArray[np.float32]:
    """Return a table of float32, in a nameless file of `folder` if it is large."""
    size = rows * columns * np.dtype(np.float32).itemsize
    if folder is None or size <= MOST_IN_MEMORY:
        return np.empty((rows, columns), np.float32)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(size)
        return np.memmap(file, np.float32, "r+", shape=(rows, columns))
