"""Big files, plain or gzip, read piece by piece: damage becomes an InputError, and no line fills the memory."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from eitr.errors import InputError

_GZIP = b"\x1f\x8b"


class Stream:
    """The bytes of a file, unpacked where it begins like gzip, whatever its name; use it in a `with`."""

    def __init__(self, path: Path) -> None:
        """Open the file."""
        self._path = path
        try:
            self._file = path.open("rb")
            packed = self._file.peek(2)[:2] == _GZIP
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error
        self._content: BinaryIO | gzip.GzipFile = gzip.GzipFile(fileobj=self._file) if packed else self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return at most so many further bytes; none at the end."""
        try:
            return self._content.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self._path}: cannot be read: damaged or cut off") from error

    def lines(self, limit: int) -> Iterator[str]:
        """Yield the lines with their ends; broken characters are replaced, a line of over `limit` bytes is refused."""
        while True:
            try:
                line = self._content.readline(limit + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise InputError(f"{self._path}: cannot be read: damaged or cut off") from error
            if not line:
                return
            if len(line) > limit:
                raise InputError(f"{self._path}: a line is longer than {limit} bytes")
            yield line.decode("utf-8", "replace")
