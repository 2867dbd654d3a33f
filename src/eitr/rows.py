"""Rows of JSON lines, plain or gzip: many pages in one file, read one after the other."""

import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from eitr.errors import InputError

LINE_LIMIT = 64 << 20
"""A line longer than this is refused: it is no row, and must not fill the memory."""

_GZIP = b"\x1f\x8b"


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line and its JSON object; blank lines are passed over. `-` is standard input."""
    with _opened(path) as stream:
        number = 0
        while line := _line(stream, path, number + 1):
            number += 1
            if line.isspace():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(f"{path}: line {number} is not JSON") from None
            if not isinstance(row, dict):
                raise InputError(f"{path}: line {number} is not a JSON object")
            yield number, row


def _line(stream: BinaryIO, path: Path, number: int) -> bytes:
    try:
        line = stream.readline(LINE_LIMIT + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read at line {number}: damaged or cut off") from error
    if len(line) > LINE_LIMIT:
        raise InputError(f"{path}: line {number} is longer than {LINE_LIMIT} bytes")
    return line


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, unpacking gzip by what the file begins with, not by its name."""
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == _GZIP
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    with gzip.open(path, "rb") if packed else path.open("rb") as stream:
        yield stream  # type: ignore[misc]
