"""The pool: public pages as vectors, of which browsers draw cover pages to train on beside their own.

Only vectors are stored, of pages that no model was trained on. `docs/page-to-prediction.md`, section 10, specifies
the file; `extension/src/core/pool.ts` reads it, too.
"""

import hashlib
import secrets
import struct
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.errors import InputError
from eitr.pages.sparse import SparseRows
from eitr.taxonomy import NAMES

MAGIC = b"EPL1"
HEAD = struct.Struct("<4sII32s")
"""The magic number, the number of pages and of entries, and the SHA-256 of the vocabulary file."""
LARGEST = 255
"""The weight of a page's weightiest word; the others are multiples of its 255th part."""
MOST_PAGES = 100_000
MOST_ENTRIES = 10_000_000
"""Bounds far above any pool of use, so that a hostile file cannot claim to be gigabytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Vectors of length 1 and their classes."""

    rows: SparseRows
    labels: NDArray[np.int64]
    vocabulary: bytes
    """The SHA-256 of the vocabulary file by which the vectors were made."""

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, rows: SparseRows, labels: ArrayLike, vocabulary: bytes) -> Self:
        """Make a pool of vectors as the file will hold them: each weight rounded to a multiple of the largest / 255.

        Pages without any known word are left out.
        """
        kept = np.flatnonzero(np.diff(rows.starts))
        rows, classes = rows.take(kept), np.asarray(labels, np.int64)[kept]
        largest = np.maximum.reduceat(rows.values, rows.starts[:-1])
        steps = np.maximum(1, np.rint(rows.values / np.repeat(largest, np.diff(rows.starts)) * LARGEST))
        return cls.from_bytes(_file(rows, steps.astype(np.uint8), classes, vocabulary), width=rows.width)

    @staticmethod
    def vocabulary_of(data: bytes) -> bytes:
        """Return the SHA-256 of the vocabulary that a pool file belongs to, without reading the pages."""
        if len(data) < HEAD.size or data[:4] != MAGIC:
            raise InputError("this is no file of cover pages: it does not begin with EPL1")
        vocabulary: bytes = HEAD.unpack_from(data)[3]
        return vocabulary

    @classmethod
    def from_bytes(cls, data: bytes, *, width: int) -> Self:
        """Read a pool file for vectors of a width; InputError says what is wrong with it."""
        vocabulary = cls.vocabulary_of(data)
        _, pages, entries, _ = HEAD.unpack_from(data)
        if not (1 <= pages <= MOST_PAGES and pages <= entries <= MOST_ENTRIES):
            raise InputError(f"a pool of {pages} pages with {entries} words in all is not possible")
        if len(data) != HEAD.size + 3 * pages + 3 * entries:
            raise InputError("the file of cover pages is shorter or longer than it says")
        at = HEAD.size
        labels = np.frombuffer(data, np.uint8, pages, at)
        lengths = np.frombuffer(data, "<u2", pages, at + pages)
        columns = np.frombuffer(data, "<u2", entries, at + 3 * pages)
        steps = np.frombuffer(data, np.uint8, entries, at + 3 * pages + 2 * entries)
        starts = np.zeros(pages + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        if starts[-1] != entries or not lengths.all() or not steps.all():
            raise InputError("the file of cover pages is inconsistent: a page or a word counts nothing")
        if (np.maximum.reduceat(steps, starts[:-1]) != LARGEST).any():
            raise InputError(f"the largest weight of every cover page must be {LARGEST}")
        if labels.max() >= len(NAMES):
            raise InputError("a cover page has an unknown class")
        if columns.max() >= width or (np.diff(columns.astype(np.int64))[_within(starts)] <= 0).any():
            raise InputError(f"the words of a cover page must be below {width} and in ascending order")
        squares = np.add.reduceat(steps.astype(np.float64) ** 2, starts[:-1])
        values = (steps / np.repeat(np.sqrt(squares), lengths)).astype(np.float32)
        rows = SparseRows(starts, columns.astype(np.int32), values, width)
        return cls(rows, labels.astype(np.int64), vocabulary)

    def to_bytes(self) -> bytes:
        """Return the file; reading it gives the same pool."""
        largest = np.maximum.reduceat(self.rows.values, self.rows.starts[:-1])
        steps = np.rint(self.rows.values / np.repeat(largest, np.diff(self.rows.starts)) * LARGEST)
        return _file(self.rows, steps.astype(np.uint8), self.labels, self.vocabulary)

    def drawn(self, count: int) -> tuple[SparseRows, NDArray[np.int64]]:
        """Return so many different pages, drawn by the operating system's random generator, and their labels."""
        if count > len(self):
            raise InputError(f"the pool has {len(self)} pages; {count} cannot be drawn")
        chosen = sorted(secrets.SystemRandom().sample(range(len(self)), count))
        return self.rows.take(chosen), self.labels[chosen]


def vocabulary_digest(file: bytes) -> bytes:
    """Return what a pool names its vocabulary by."""
    return hashlib.sha256(file).digest()


def _within(starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for each pair of neighbouring entries whether both belong to the same page."""
    inside = np.ones(int(starts[-1]) - 1, np.bool_)
    inside[starts[1:-1] - 1] = False
    return inside


def _file(rows: SparseRows, steps: NDArray[np.uint8], labels: NDArray[np.int64], vocabulary: bytes) -> bytes:
    return b"".join(
        (
            HEAD.pack(MAGIC, len(labels), len(steps), vocabulary),
            labels.astype(np.uint8).tobytes(),
            np.diff(rows.starts).astype("<u2").tobytes(),
            rows.columns.astype("<u2").tobytes(),
            steps.tobytes(),
        )
    )
