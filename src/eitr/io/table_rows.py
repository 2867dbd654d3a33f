"""Rows of CSV and TSV files, plain or gzip, read one after the other."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from eitr.errors import InputError
from eitr.io.json_lines import NOT_UTF8, fail
from eitr.io.streams import opened

if TYPE_CHECKING:
    from _csv import Reader

FIELD_LIMIT = 16 << 20
"""In characters; a quote that is never closed must not swallow the rest of the file."""

NEVER_CLOSED = "unexpected end of data"
"""What the csv module says at the end of a file that ends within quotes."""


def read_table(
    path: Path, delimiter: str, on_bad_line: Callable[[InputError], None] = fail, most: int | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line on which each row begins, and its fields by the names that the first line gives the columns.

    Fields are quoted as spreadsheets do; a quoted field may hold line ends. `on_bad_line` is told of each row that
    cannot be read; if it returns, reading goes on with the next row. `most` limits the bytes of the whole file,
    unpacked.
    """
    with opened(path, most) as stream:
        # Bytes that are not UTF-8 become lone surrogates, so that one bad row does not end the reading.
        lines = (line.decode("utf-8", "surrogateescape") for line in stream.lines(FIELD_LIMIT))
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        columns = _columns(rows, path)
        while True:
            line = rows.line_num + 1
            try:
                row = _next(rows, path, line)
                if row is None:
                    return
                fields = _fields(row, columns)
            except _BadRowError as error:
                on_bad_line(InputError(f"{path}: line {line} {error}"))
                continue
            if fields is not None:
                yield line, fields


class _BadRowError(Exception):
    """A row that cannot be read; the next one can."""


def _columns(rows: "Reader", path: Path) -> list[str]:
    """Return the names of the columns, which the first line holds."""
    try:
        columns = [name.strip() for name in _next(rows, path, 1) or []]
        _fields(columns, columns)
    except _BadRowError as error:
        raise InputError(f"{path}: line 1 {error}") from None
    if not any(columns):
        raise InputError(f"{path}: the first line must name the columns")
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise InputError(f"{path}: the first line names the column {twice[0]!r} twice: rename one")
    return columns


def _next(rows: "Reader", path: Path, line: int) -> list[str] | None:
    """Return the next row, None at the end."""
    # The limit is one for all readers of the process, so it is set only while this one reads.
    before = csv.field_size_limit(FIELD_LIMIT)
    try:
        return next(rows, None)
    except csv.Error as error:
        if NEVER_CLOSED in str(error) or "field limit" in str(error):
            # What follows has been swallowed: there is no next row to go on with.
            raise InputError(
                f"{path}: line {line}: a quote is opened here and never closed: close or remove it"
            ) from error
        raise _BadRowError(f"cannot be read: {error}; double the quotes within a quoted field") from error
    finally:
        csv.field_size_limit(before)


def _fields(row: list[str], columns: list[str]) -> dict[str, str] | None:
    """Return the fields of a row by column, None for a blank line."""
    if not row:
        return None
    try:
        "".join(row).encode()
    except UnicodeEncodeError:
        raise _BadRowError(NOT_UTF8) from None
    if len(row) != len(columns):
        hint = "quote fields that hold the delimiter"
        raise _BadRowError(f"has {len(row)} fields instead of {len(columns)}: {hint}")
    return dict(zip(columns, row, strict=True))
