"""Labelled pages of JSON lines: the form in which our development data lie."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from eitr.datasets.interface import Labelled
from eitr.errors import InputError
from eitr.io.json_lines import read_rows
from eitr.pages.page import Page
from eitr.taxonomy import NAMES

SPLIT: Final[Mapping[object, bool]] = {"train": False, "test": True}


def labelled_rows(path: Path, splits: Mapping[object, bool] = SPLIT) -> Iterator[Labelled]:
    """Yield the pages of a file; `splits` says which values of `split` are to test on. No split at all is None."""
    for number, row in read_rows(path):
        label, split = row.get("label"), row.get("split")
        if label not in NAMES:
            raise InputError(f"{path}: line {number}: a row needs a label, one of {', '.join(NAMES)}")
        if split is not None and (not isinstance(split, str) or split not in splits):
            raise InputError(f"{path}: line {number}: split must be one of {', '.join(map(str, splits))}, or absent")
        try:
            page = Page.from_row(row)
        except InputError as error:
            raise InputError(f"{path}: line {number}: {error}") from error
        yield Labelled(page, NAMES.index(label), None if split is None else splits[split])
