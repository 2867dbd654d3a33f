"""Rows that look like pages: few words of many, unit length."""

import numpy as np
from numpy.typing import NDArray

from eitr.pages.sparse import SparseRows


def page_like_rows(count: int, width: int, words: int, seed: int = 0) -> SparseRows:
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        columns = np.sort(generator.choice(width, generator.integers(1, words + 1), replace=False))
        values = generator.exponential(size=len(columns)) + 0.1
        rows.append((columns.astype(np.int32), (values / np.linalg.norm(values)).astype(np.float32)))
    return SparseRows.of(rows, width=width)


def learnable_labels(rows: SparseRows, classes: int) -> NDArray[np.int64]:
    """The class of a row is the sixth of the vocabulary that its heaviest word lies in."""
    return np.asarray(rows.dense().argmax(axis=1) * classes // rows.width, np.int64)
