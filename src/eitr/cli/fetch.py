"""One page from a file, standard input or the web: its bytes and what is said of their type."""

import sys
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError

from eitr.errors import InputError
from eitr.pages.extract import MAX_BYTES

TIMEOUT = 20.0
"""Seconds without an answer after which a server is given up."""


class Document(NamedTuple):
    """Bytes as they came."""

    data: bytes
    content_type: str | None = None


def fetch(source: str) -> Document:
    """Read a document from `-` (standard input), an http(s) address, or a file. No more of it than is looked at."""
    if source == "-":
        return Document(sys.stdin.buffer.read(MAX_BYTES))
    if source.lower().startswith(("http://", "https://")):
        return _from_web(source)
    try:
        with Path(source).open("rb") as stream:
            return Document(stream.read(MAX_BYTES))
    except OSError as error:
        raise InputError(f"{source}: {error.strerror or error}") from error


def _from_web(address: str) -> Document:
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "eitr"})  # noqa: S310 (http and https only)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            return Document(answer.read(MAX_BYTES), answer.headers.get("Content-Type"))
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"{address}: cannot be fetched: {reason}") from error
