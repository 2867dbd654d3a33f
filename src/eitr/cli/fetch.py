"""Pages from files, folders, standard input or the web: their bytes and what is said of their type."""

import os
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError

from eitr.errors import InputError
from eitr.io.json_lines import fail
from eitr.io.streams import opened
from eitr.pages.extract import MAX_BYTES

TIMEOUT = 20.0
"""Seconds without an answer after which a server is given up."""

PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".txt")
"""The files of a folder that are read, also with .gz at the end."""


class Document(NamedTuple):
    """The bytes of a document, unpacked where a file is gzip, and the content type that is known of it."""

    data: bytes
    content_type: str | None = None


def named_pages(sources: Sequence[str], on_bad_source: Callable[[InputError], None] = fail) -> Iterator[str]:
    """Yield the sources, each once; instead of a folder the HTML and text files below it, in the order of their names.

    A file that has several names, such as `a.html` and `./a.html`, comes once, under the first. `on_bad_source` is told
    of each folder without such files and each name that cannot be looked up; if it returns, the others still come.
    """
    seen: set[str] = set()
    for source in sources:
        try:
            names = _below(source)
        except OSError as error:
            on_bad_source(InputError(f"{source}: {error.strerror or error}"))
            continue
        except InputError as error:
            on_bad_source(error)
            continue
        for name in names:
            # Not `Path.resolve`, which fails for links that lead in a circle.
            file = name if _is_address(name) or name == "-" else os.path.realpath(name)
            if file not in seen:
                seen.add(file)
                yield name


def fetch(source: str) -> Document:
    """Read a document from `-` (standard input), an http(s) address, or a file. No more of it than is looked at."""
    if _is_address(source):
        return _from_web(source)
    path = Path(source)
    with opened(path) as stream:
        return Document(stream.read(MAX_BYTES), "text/plain" if _without_gz(path).suffix.lower() == ".txt" else None)


def _below(source: str) -> Sequence[str]:
    """Return the pages below a folder; anything else stands for itself."""
    if _is_address(source) or not Path(source).is_dir():
        return [source]
    files = [str(path) for path in sorted(Path(source).rglob("*")) if _is_page(path)]
    if not files:
        raise InputError(f"{source}: the folder has no file that ends in {', '.join(PAGE_SUFFIXES)} or these and .gz")
    return files


def _is_address(source: str) -> bool:
    return source.lower().startswith(("http://", "https://"))


def _is_page(path: Path) -> bool:
    return _without_gz(path).suffix.lower() in PAGE_SUFFIXES and path.is_file()


def _without_gz(path: Path) -> Path:
    return path.with_suffix("") if path.suffix == ".gz" else path


def _from_web(address: str) -> Document:
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "eitr"})  # noqa: S310 (http and https only)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            return Document(answer.read(MAX_BYTES), answer.headers.get("Content-Type"))
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"{address}: cannot be fetched: {reason}") from error
