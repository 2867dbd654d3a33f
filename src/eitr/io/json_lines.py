"""Rows of JSON lines, plain or gzip: many pages in one file, read one after the other."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eitr.errors import InputError
from eitr.io.file_kinds import kind_of
from eitr.io.streams import opened

LINE_LIMIT = 64 << 20
"""A line longer than this is refused: it is no row, and must not fill the memory."""

NOT_UTF8 = "is not text in UTF-8: convert the file, for example with iconv -f latin1 -t utf-8"


def fail(error: InputError) -> None:
    """Stop at a bad line."""
    raise error


def read_rows(
    path: Path, on_bad_line: Callable[[InputError], None] = fail, most: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line and its JSON object; blank lines are passed over. `-` is standard input.

    `on_bad_line` is told of each line that is not a JSON object; if it returns, reading goes on with the next line.
    `most` limits the bytes of the whole file, unpacked.
    """
    with opened(path, most) as stream:
        for number, line in enumerate(stream.lines(LINE_LIMIT), start=1):
            if number == 1:
                _refuse_other_kinds(path, line)
            if line.isspace():
                continue
            try:
                row = json.loads(line, parse_constant=_refuse, parse_float=_finite)
            except (ValueError, RecursionError):
                on_bad_line(InputError(f"{path}: line {number} {_why_not_json(line)}"))
                continue
            except OverflowError:
                on_bad_line(InputError(f"{path}: line {number} has a number that is too large"))
                continue
            if isinstance(row, dict):
                yield number, row
            else:
                on_bad_line(InputError(f"{path}: line {number} is not a JSON object"))


def _refuse_other_kinds(path: Path, beginning: bytes) -> None:
    """Raise an `InputError` if the file as a whole is something else: thousands of bad lines would not say so."""
    if kind := kind_of(beginning):
        raise InputError(f"{path}: this is {kind}, not JSON lines")


def _why_not_json(line: bytes) -> str:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return NOT_UTF8
    return "is not JSON"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    """Return a number; one that is too large would be infinity, which cannot be written to JSON again."""
    if math.isinf(number := float(digits)):
        raise OverflowError
    return number
