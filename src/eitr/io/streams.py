"""Big files, plain or gzip, read piece by piece: damage becomes an InputError, and no line fills the memory."""

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from eitr.errors import InputError
from eitr.io.file_kinds import is_utf16

_GZIP = b"\x1f\x8b"
_DAMAGE = (OSError, EOFError, zlib.error)


class Stream:
    """The bytes of a file, unpacked where it begins like gzip, whatever its name. `opened` makes one.

    A name that ends in .gz and content that is not gzip is an `InputError`: one of the two is wrong.
    """

    def __init__(self, path: Path, file: Any, most: int | None = None) -> None:
        self._path = path
        self._most = most
        self._read = 0
        try:
            # Only peeked at: what was read from a pipe would be gone.
            self.packed = file.peek(2)[:2] == _GZIP
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error
        if path.suffix == ".gz" and not self.packed:
            raise InputError(f"{path}: the name ends in .gz, but the file is not gzip: rename it")
        self._content: BinaryIO | gzip.GzipFile = gzip.GzipFile(fileobj=file) if self.packed else file

    def read(self, size: int) -> bytes:
        """Return at most so many further bytes; none at the end."""
        try:
            return self._content.read(size)
        except _DAMAGE as error:
            raise InputError(f"{self._path}: cannot be read: damaged or cut off") from error

    def lines(self, limit: int) -> Iterator[bytes]:
        """Yield the lines of a text in UTF-8, with their ends and without a byte order mark.

        A line of over `limit` bytes, over `most` bytes in all, and a text in UTF-16 are InputErrors.
        """
        number = 1
        while line := self._line(limit, number):
            if number == 1 and is_utf16(line):
                advice = "convert the file, for example with iconv -f utf-16 -t utf-8"
                raise InputError(f"{self._path}: is text in UTF-16, not in UTF-8: {advice}")
            yield line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            number += 1

    def _line(self, limit: int, number: int) -> bytes:
        try:
            line = self._content.readline(limit + 1)
        except _DAMAGE as error:
            raise InputError(f"{self._path}: cannot be read at line {number}: damaged or cut off") from error
        if len(line) > limit:
            raise InputError(f"{self._path}: line {number} is longer than {limit} bytes: shorten or remove it")
        self._read += len(line)
        if self._most is not None and self._read > self._most:
            raise InputError(
                f"{self._path}: holds more than {self._most} bytes unpacked: split the file, or take a part"
            )
        return line


@contextmanager
def opened(path: Path, most: int | None = None) -> Iterator[Stream]:
    """Open a file, once, and close it after the `with`; `-` is standard input.

    `most` limits how many bytes its lines may have together, unpacked.
    """
    if str(path) == "-":
        yield Stream(path, sys.stdin.buffer, most)
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    with file:
        yield Stream(path, file, most)
