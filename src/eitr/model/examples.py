"""What a network accepts as examples: checked once, before any kernel indexes memory with them."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.errors import InputError
from eitr.model.network import Network

if TYPE_CHECKING:
    from eitr.pages.sparse import SparseRows


def check_rows(network: Network, rows: "SparseRows") -> None:
    """Refuse rows of another width, with entries outside it, or with a value that is not a finite number."""
    if rows.width != network.inputs:
        raise InputError(f"the network takes {network.inputs} numbers a row, the rows have {rows.width}")
    if len(rows.columns) != len(rows.values) or not _cover(rows.starts, len(rows.columns)):
        raise InputError("the sparse rows are inconsistent: their starts do not fit their entries")
    if len(rows.columns) and not 0 <= rows.columns.min() <= rows.columns.max() < rows.width:
        raise InputError(f"a sparse row has a column outside 0..{rows.width - 1}")
    if not np.isfinite(rows.values).all():
        raise InputError("the rows hold a NaN or an infinity")


def _cover(starts: NDArray[np.int64], entries: int) -> bool:
    """Say whether the starts divide all the entries, in order."""
    return len(starts) > 0 and starts[0] == 0 and starts[-1] == entries and bool((np.diff(starts) >= 0).all())


def checked_labels(network: Network, rows: "SparseRows", labels: ArrayLike) -> NDArray[np.int64]:
    """Return the labels as integers; refuse a wrong number of them and any that is not a class."""
    given = np.asarray(labels)
    if given.shape != (len(rows),):
        raise InputError(f"{len(rows)} rows need as many labels, got {given.size}")
    if len(rows) == 0:
        raise InputError("there are no rows to learn from or to judge by")
    if not np.issubdtype(given.dtype, np.integer):
        raise InputError(f"labels must be whole numbers, not {given.dtype}")
    if not 0 <= given.min() <= given.max() < network.outputs:
        raise InputError(f"labels must be between 0 and {network.outputs - 1}")
    return given.astype(np.int64)
