"""SURL, the data set of the paper's authors: a tab-separated file of categories and contents, for those who have it."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eitr.datasets.interface import Labelled, Source
from eitr.datasets.location import found
from eitr.errors import InputError
from eitr.io.streams import opened
from eitr.pages.page import Page
from eitr.taxonomy import index_of

if TYPE_CHECKING:
    from _csv import Reader

NEEDS: Final = (
    "the authors' SURL file, tab-separated with the columns category and content,"
    " as surl.tsv or surl.tsv.gz in the data folder"
)
FIELD_LIMIT: Final = 16 << 20
"""In characters; a quote that is never closed must not swallow the rest of the file."""

_CLASSES: Final = {
    "health": index_of("health"),
    "politics": index_of("politics"),
    "religion": index_of("religion"),
    "sexual": index_of("sexual-orientation"),
    "ethnicity": index_of("ethnicity"),
    "clear": index_of("non-sensitive"),
}


def pages(folder: Path | None) -> Iterator[Labelled]:
    """Yield one page per line; the file has no split of its own, so we make one."""
    path = found(folder, ("surl.tsv", "surl.tsv.gz"), NEEDS)
    with opened(path) as stream:
        lines = (line.decode("utf-8", "replace") for line in stream.lines(FIELD_LIMIT))
        rows = csv.reader(lines, delimiter="\t")
        header = [name.strip().lstrip("\ufeff").casefold() for name in _next(rows, path) or []]
        if "category" not in header or "content" not in header:
            raise InputError(f"{path}: the first line must name the columns category and content")
        category, content = header.index("category"), header.index("content")
        while (row := _next(rows, path)) is not None:
            if not row:
                continue
            if len(row) <= max(category, content):
                raise InputError(f"{path}: line {rows.line_num} lacks a category or a content")
            label = _CLASSES.get(row[category].strip().casefold())
            if label is None:
                raise InputError(f"{path}: line {rows.line_num}: the category must be one of {', '.join(_CLASSES)}")
            yield Labelled(Page(text=row[content]), label, None)


def _next(rows: "Reader", path: Path) -> list[str] | None:
    """Return the next row, None at the end. The bound is the module's for all readers: it is ours only meanwhile."""
    before = csv.field_size_limit(FIELD_LIMIT)
    try:
        return next(rows, None)
    except csv.Error as error:
        raise InputError(f"{path}: line {rows.line_num} cannot be read: {error}") from error
    finally:
        csv.field_size_limit(before)


SOURCE = Source(
    name="surl",
    summary="the paper's own data: web pages of six classes, half non-sensitive",
    needs=NEEDS,
    licence="of its authors, who give it on request; not for us to pass on",
    pages=pages,
)
