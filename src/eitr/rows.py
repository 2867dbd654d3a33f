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
                row = json.loads(line, parse_constant=_refuse)
            except (ValueError, RecursionError):
                raise InputError(f"{path}: line {number} is not JSON") from None
            if not isinstance(row, dict):
                raise InputError(f"{path}: line {number} is not a JSON object")
            yield number, row


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


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
    """Open a file for reading bytes, unpacking gzip by what it begins with, not by its name.

    It is opened once and only peeked at: what was read from a pipe would be gone.
    """
    if str(path) == "-":
        yield _unpacked(sys.stdin.buffer, path)
        return
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    with stream:
        yield _unpacked(stream, path)


def _unpacked(stream: Any, path: Path) -> BinaryIO:
    """Return the stream, or what it unpacks to."""
    try:
        packed = stream.peek(2)[:2] == _GZIP
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    unpacked: Any = gzip.GzipFile(fileobj=stream) if packed else stream
    return unpacked  # type: ignore[no-any-return]
