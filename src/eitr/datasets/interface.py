"""What a data set is: labelled pages that stream from a source, and the vectors that are made of them."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr import plugins
from eitr.errors import InputError
from eitr.io.npz import read_npz, write_npz
from eitr.pages.page import Page
from eitr.pages.sparse import SparseRows
from eitr.taxonomy import NAMES

MAX_WIDTH: Final = 100_000
"""As many words as a vocabulary can have."""


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Pages as TF-IDF rows, those to train on and those to test on together.

    Made only of what fits together: anything else is an InputError.
    """

    name: str
    rows: SparseRows
    labels: NDArray[np.int64]
    """Shape (rows,); places in `classes`."""
    test: NDArray[np.bool_]
    """Shape (rows,); true for the rows that nobody trains on."""
    words: tuple[str, ...]
    """The word of each column."""
    classes: tuple[str, ...] = NAMES

    def __post_init__(self) -> None:
        _check_rows(self.rows)
        _check_strings("word", self.words)
        _check_strings("class", self.classes)
        n = len(self.rows)
        if len(self.words) != self.rows.width:
            raise InputError(f"{self.rows.width} columns need as many words, not {len(self.words)}")
        if self.labels.dtype != np.int64 or self.labels.shape != (n,):
            raise InputError(f"{n} rows need as many labels of type int64")
        if self.test.dtype != np.bool_ or self.test.shape != (n,):
            raise InputError(f"{n} rows need as many test marks of type bool")
        if n and not 0 <= self.labels.min() <= self.labels.max() < len(self.classes):
            raise InputError(f"every label must be from 0 to {len(self.classes) - 1}")
        if not (~self.test).any():
            raise InputError("there is no row to train on")

    def __len__(self) -> int:
        return len(self.rows)

    def digest(self) -> str:
        """Return 12 hexadecimal digits that depend on everything but the name."""
        found = hashlib.sha256(json.dumps([self.words, self.classes]).encode())
        rows = self.rows
        for part in (self.labels, self.test, rows.starts, rows.columns, rows.values):
            found.update(np.ascontiguousarray(part, part.dtype.newbyteorder("<")).view(np.uint8).data)
        return found.hexdigest()[:12]

    def take(self, rows: ArrayLike) -> Self:
        """Return the examples of these row numbers, in the order named."""
        chosen = np.asarray(rows, np.int64)
        return type(self)(
            self.name, self.rows.take(chosen), self.labels[chosen], self.test[chosen], self.words, self.classes
        )


class Labelled(NamedTuple):
    """One page of a source."""

    page: Page
    label: int
    """Its place in `eitr.taxonomy.NAMES`."""
    test: bool | None
    """Whether it is a page to test on; None where the data do not say, and we split them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where pages come from."""

    plugin_group: ClassVar[str] = plugins.DATA_SETS
    name: str
    summary: str
    """What the pages are, in one line."""
    needs: str
    """What to get and where to put it, in one line; empty where nothing is needed."""
    licence: str
    """Under which terms the data are to be had, in one line."""
    pages: Callable[[Path | None], Iterator[Labelled]]
    """Yields the pages of a data folder, one after the other, each time from the beginning."""
    classes: tuple[str, ...] = NAMES
    """The classes that occur; data in which one of them is missing are not what they should be."""

    def checked_pages(self, folder: Path | None) -> Iterator[Labelled]:
        """Yield the pages; anything else, which a source of a plugin may yield, is an InputError."""
        found: Any = self.pages(folder)
        if not isinstance(found, Iterable):
            raise InputError(f"the data set {self.name!r} gives a {type(found).__name__}: `pages` must be a generator")
        labels, tests = range(len(NAMES)), (True, False, None)
        for number, one in enumerate(found, start=1):
            match one:
                case (Page(), (int() | Integral()) as label, test) if label in labels and test in tests:
                    yield one
                case _:
                    raise InputError(
                        f"the data set {self.name!r}: page {number} must be Labelled(page, label, test) with a Page, "
                        f"a label from 0 to {len(NAMES) - 1}, and True, False or None; see eitr.datasets.interface"
                    )


_PARTS: Final = ("name", "classes", "words", "labels", "test", "starts", "columns", "values")


def save_examples(examples: Examples, path: Path) -> None:
    """Write examples to an .npz file; the same examples always give the same bytes."""
    rows = examples.rows
    write_npz(
        path,
        {
            "name": np.array([examples.name]),
            "classes": np.array(examples.classes),
            "words": np.array(examples.words, dtype=np.str_),
            "labels": examples.labels,
            "test": examples.test,
            "starts": rows.starts,
            "columns": rows.columns,
            "values": rows.values,
        },
    )


def read_examples(path: Path) -> Examples:
    """Read what `save_examples` wrote; anything else is an InputError that names the file."""
    parts = read_npz(path, _PARTS)
    try:
        names = _strings(parts, "name")
        if len(names) != 1:
            raise InputError("it must have one name")
        rows = SparseRows(parts["starts"], parts["columns"], parts["values"], len(parts["words"]))
        words, classes = _strings(parts, "words"), _strings(parts, "classes")
        return Examples(names[0], rows, parts["labels"], parts["test"], words, classes)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _strings(parts: dict[str, NDArray[Any]], name: str) -> tuple[str, ...]:
    array = parts[name]
    if array.dtype.kind != "U" or array.ndim != 1 or not array.nbytes:
        raise InputError(f"{name} must be a list of strings")
    codes = array.view(np.uint32)
    # numpy makes strings of code points that do not exist, on which Python fails later.
    if ((codes > sys.maxunicode) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any():
        raise InputError(f"{name} holds what is no character")
    return tuple(array.tolist())


def _check_rows(rows: SparseRows) -> None:
    starts, columns, values = rows.starts, rows.columns, rows.values
    if starts.dtype != np.int64 or columns.dtype != np.int32 or values.dtype != np.float32:
        raise InputError("rows need starts of type int64, columns of type int32 and values of type float32")
    if starts.ndim != 1 or columns.ndim != 1 or columns.shape != values.shape or len(starts) < 2:
        raise InputError("there are no rows, or their parts are not of the same length")
    if starts[0] != 0 or starts[-1] != len(columns) or (starts[1:] < starts[:-1]).any():
        raise InputError("the starts of the rows must rise from 0 to the number of values")
    if not 1 <= rows.width <= MAX_WIDTH:
        raise InputError(f"there must be 1 to {MAX_WIDTH} columns, not {rows.width}")
    if len(columns) and not 0 <= columns.min() <= columns.max() < rows.width:
        raise InputError(f"every column must be from 0 to {rows.width - 1}")
    rising = columns[1:] > columns[:-1]
    inner = starts[(starts > 0) & (starts < len(columns))]
    rising[inner - 1] = True  # from one row to the next a column may fall
    if not rising.all():
        raise InputError("the columns of a row must rise")
    if not np.isfinite(values).all():
        raise InputError("every value must be finite")


def _check_strings(what: str, strings: tuple[str, ...]) -> None:
    if not strings or not all(strings) or len(set(strings)) != len(strings):
        raise InputError(f"every {what} must have a name of its own")
