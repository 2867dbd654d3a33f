"""Pages of a file of rows: JSON lines, CSV or TSV, plain or gzip."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from eitr.datasets.interface import Labelled
from eitr.datasets.own.labels import LabelReader
from eitr.datasets.own.options import FileOptions
from eitr.errors import InputError
from eitr.io.json_lines import read_rows
from eitr.io.table_rows import read_table
from eitr.pages.page import FIELDS, Page

MAX_BYTES: Final = 4 << 30
"""How large a file can be, unpacked."""
MAX_PAGES: Final = 10_000_000

DELIMITERS: Final = {"csv": ",", "tsv": "\t"}


def row_pages(path: Path, file_format: str, options: FileOptions) -> Iterator[Labelled]:
    """Yield the pages of a file; `file_format` is jsonl, csv or tsv. Only one row is held in memory at a time."""
    labels = LabelReader(path, options)
    columns = {field: options.columns.get(field, field) for field in FIELDS}
    unseen = dict(options.columns)
    pages = 0
    for number, (line, row) in enumerate(_rows(path, file_format, options)):
        if number == 0:
            check_columns(path, row, {"label": options.columns.get("label", "label")}, tuple(columns.values()))
            if file_format in DELIMITERS:
                check_columns(path, row, options.columns)
        if unseen:
            unseen = {what: column for what, column in unseen.items() if column not in row}
        try:
            found = labels.read(line, row)
            page = Page.from_row({field: row[column] for field, column in columns.items() if column in row})
        except InputError as error:
            options.on_bad_line(InputError(f"{path}: line {line}: {error}"))
            continue
        if found is None:
            if labels.hopeless:
                break
            continue
        pages += 1
        if pages > MAX_PAGES:
            raise InputError(f"{path}: holds more than {MAX_PAGES} pages: split the file, or take a part")
        yield Labelled(page, *found)
    labels.finish()
    for what, column in unseen.items():
        raise InputError(f"{path}: no line has the column {column!r}: name another one with --{what}-column")


def check_columns(path: Path, row: Mapping[str, Any], needed: Mapping[str, str], one_of: tuple[str, ...] = ()) -> None:
    """Refuse a file whose first row lacks a column; the message names those that it has.

    `needed` are columns by what they hold. Of `one_of` one column is enough.
    """
    missing = next((what for what, column in needed.items() if column not in row), None)
    if missing is None and (not one_of or any(name in row for name in one_of)):
        return
    lacks = f"the column {needed[missing]!r}" if missing else f"all of the columns {', '.join(one_of)}"
    there = [str(name)[:40] for name in list(row)[:20]]
    advice = f"name the right one with --{missing or 'text'}-column"
    if len(there) == 1 and any(mark in there[0] for mark in ";,\t|"):
        advice = "separate the columns by commas in .csv files and by tabs in .tsv files"
    elif missing == "file":
        advice = "give it one with the names of the HTML files"
    raise InputError(f"{path}: lacks {lacks}; it has {', '.join(there) or 'none'}: {advice}")


def _rows(path: Path, file_format: str, options: FileOptions) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if file_format == "jsonl":
        return read_rows(path, options.on_bad_line, MAX_BYTES)
    return read_table(path, DELIMITERS[file_format], options.on_bad_line, MAX_BYTES)
