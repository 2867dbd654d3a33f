"""The user's own data as examples: the format of a path, its pages, and a name that contains their digest."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.interface import Examples, Labelled
from eitr.datasets.own.html_folder import folder_pages
from eitr.datasets.own.options import FileOptions
from eitr.datasets.own.rows import row_pages
from eitr.datasets.vectors import examples_of
from eitr.errors import InputError
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

ENDINGS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
FORMATS: Final = (
    "a file .jsonl, .csv or .tsv (also .gz), a folder of HTML files with labels.csv, or a prepared .npz file"
)


def format_of(path: Path) -> str | None:
    """Return jsonl, csv, tsv or folder, or None for any other path.

    >>> format_of(Path("pages.CSV.gz")), format_of(Path("pages.npz"))
    ('csv', None)
    """
    if path.is_dir():
        return "folder"
    return ENDINGS.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def own_pages(path: Path, options: FileOptions) -> Iterator[Labelled]:
    """Yield the pages of a file of rows or a folder of HTML files."""
    if path.is_dir():
        return folder_pages(path, options)
    file_format = format_of(path)
    if file_format is None:
        raise InputError(f"{path}: the format of the data is not known; give {FORMATS}")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: not a regular file")
    return row_pages(path, file_format, options)


def own_examples(
    path: Path,
    options: FileOptions,
    *,
    words: int = 1000,
    seed: int = 0,
    size: int | None = None,
    vocabulary: Vocabulary | None = None,
) -> Examples:
    """Return the examples of a file or folder. Their name is its name, an @ and the digest of the examples.

    Thus results of two files never mix, even if the files have the same name. Pages without a split get one by seed.
    """
    handlers = iter([options.on_bad_line])

    def pages() -> Iterator[Labelled]:
        # Where the pages are read twice, bad lines are reported once.
        return own_pages(path, replace(options, on_bad_line=next(handlers, lambda error: None)))

    examples = examples_of(str(path), pages, words=words, seed=seed, size=size, classes=(), vocabulary=vocabulary)
    problems = class_problems(examples.labels, examples.test, options.classes)
    if problems:
        raise InputError(f"{path}: {problems[0]}")
    name = path.resolve().name
    base = name if path.is_dir() else re.sub(r"\.\w+(\.gz)?$", "", name, flags=re.IGNORECASE)
    return replace(examples, name=named(base, examples))


def named(base: str, examples: Examples) -> str:
    """Return a name that depends on what the examples hold: a plain form of `base`, an @ and their digest."""
    plain = re.sub(r"[^\w.-]+", "_", base).strip("_.")[:60]
    return f"{plain or 'data'}@{examples.digest()}"


def is_named_by_content(name: str) -> bool:
    """Return whether `named` made a name: that of the user's own data, or of a file prepared from them."""
    return "@" in name


def class_problems(labels: NDArray[np.int64], test: NDArray[np.bool_], classes: tuple[str, ...]) -> list[str]:
    """Return what is wrong with the number of pages of the classes, one sentence each."""
    numbers = {name: labels == NAMES.index(name) for name in classes}
    empty = [name for name in classes if not numbers[name].any()]
    problems = []
    if empty:
        there = [name for name in classes if name not in empty]
        advice = "add some, or map a label to it (--label-map)"
        if len(there) > 1:  # data of one class are of no use
            advice += f", or name the classes that the data have (--classes {','.join(there)})"
        problems.append(f"there is no page of the class {', '.join(empty)}: {advice}")
    for name in classes:
        tests, trains = int((numbers[name] & test).sum()), int((numbers[name] & ~test).sum())
        if name not in empty and not (tests and trains):
            problems.append(
                f"the class {name} has too few pages ({trains} to train on, {tests} to test on): "
                "it needs at least one of each"
            )
    return problems
