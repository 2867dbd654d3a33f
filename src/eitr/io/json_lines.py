"""Rows of JSON lines, plain or gzip: many pages in one file, read one after the other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eitr.errors import InputError
from eitr.io.streams import opened

LINE_LIMIT = 64 << 20
"""A line longer than this is refused: it is no row, and must not fill the memory."""


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line and its JSON object; blank lines are passed over. `-` is standard input."""
    with opened(path) as stream:
        for number, line in enumerate(stream.lines(LINE_LIMIT), start=1):
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
