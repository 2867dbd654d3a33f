"""Many sparse vectors in one block: compressed sparse rows, without a dependency on scipy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Row = tuple[NDArray[np.int32], NDArray[np.float32]]
"""One sparse vector: its columns, ascending, and the values there."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Row `i` has `values[starts[i]:starts[i+1]]` at `columns[starts[i]:starts[i+1]]` and zero elsewhere.

    >>> rows = SparseRows.of([(np.array([0, 2], np.int32), np.array([0.6, 0.8], np.float32))], width=4)
    >>> rows.dense().tolist() == [[np.float32(0.6), 0.0, np.float32(0.8), 0.0]]
    True
    """

    starts: NDArray[np.int64]
    """Shape (rows + 1,); begins with 0 and never falls."""
    columns: NDArray[np.int32]
    """Shape (stored,); ascending within a row, each below `width`."""
    values: NDArray[np.float32]
    """Shape (stored,)."""
    width: int
    """The number of columns of the dense form."""

    @classmethod
    def of(cls, rows: Iterable[Row], *, width: int) -> Self:
        """Join single sparse vectors into one block, in their order."""
        pairs: Sequence[Row] = list(rows)
        starts = np.zeros(len(pairs) + 1, np.int64)
        np.cumsum([len(columns) for columns, _ in pairs], out=starts[1:])
        return cls(
            starts,
            np.concatenate([columns for columns, _ in pairs] or [np.empty(0, np.int32)], dtype=np.int32),
            np.concatenate([values for _, values in pairs] or [np.empty(0, np.float32)], dtype=np.float32),
            width,
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def dense(self) -> NDArray[np.float32]:
        """Return the same rows as one array of shape (rows, width)."""
        result = np.zeros((len(self), self.width), np.float32)
        result[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.columns] = self.values
        return result

    def take(self, rows: ArrayLike) -> Self:
        """Return the named rows, in the order named; a row may be named more than once.

        `rows` holds row numbers, not a mask; a negative number counts from the end.
        """
        chosen = np.arange(len(self))[np.asarray(rows, np.int64)]
        lengths = np.diff(self.starts)[chosen]
        starts = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        # Entry j of the result lies as far behind its row's start there as it does here.
        source = np.arange(starts[-1]) + np.repeat(self.starts[:-1][chosen] - starts[:-1], lengths)
        return type(self)(starts, self.columns[source], self.values[source], self.width)


def joined(blocks: list[SparseRows]) -> SparseRows:
    """Return blocks of rows as one."""
    if len(blocks) == 1:
        return blocks[0]
    ends = np.cumsum([0, *(len(block.columns) for block in blocks)])
    starts: list[NDArray[np.int64]] = [blocks[0].starts[:1]]
    starts += [block.starts[1:] + end for block, end in zip(blocks, ends, strict=False)]
    return SparseRows(
        np.concatenate(starts),
        np.concatenate([block.columns for block in blocks]),
        np.concatenate([block.values for block in blocks]),
        blocks[0].width,
    )
