"""What a file of pages holds, and what is wrong with it: counts, duplicates, and the lines that cannot be read."""

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from eitr.datasets.interface import Examples, Labelled
from eitr.datasets.location import data_folder
from eitr.datasets.own.files import class_problems, format_of, own_pages
from eitr.datasets.own.options import FileOptions
from eitr.datasets.registry import SOURCES, check_options, load
from eitr.datasets.sampling import stratified_split
from eitr.datasets.vectors import NO_WORDS
from eitr.errors import InputError
from eitr.io.json_lines import fail
from eitr.pages.tokens import tokens
from eitr.taxonomy import NAMES

MOST_NAMED: Final = 20
"""So many bad lines are named one by one; of the others only the number is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found in a file, a folder or a data set."""

    path: str
    format: str
    """jsonl, csv, tsv, folder, npz, or data set."""
    pages: int
    classes: dict[str, dict[str, int]]
    """How many pages of each class are to train on and to test on."""
    split: str
    """Where the split comes from."""
    words: int
    """How many different words the pages have; of a prepared file, how many columns."""
    words_per_page: float
    """The mean; of a prepared file, only different words that have a column are counted."""
    empty_pages: int
    """Pages without a word."""
    duplicates: int
    """Pages whose words another page before has, too, in the same order."""
    test_pages_seen_in_training: int
    duplicates_of_other_class: int
    bad_lines: int
    left_out: bool
    """Whether bad lines are left out, as --skip-bad asks, and thus no problem."""
    named_bad_lines: list[str]
    problems: list[str]
    """What keeps the lab from using the data."""

    @property
    def usable(self) -> bool:
        """Whether the lab takes the data as they are."""
        return not self.problems and (self.left_out or not self.bad_lines)


class _Collected:
    """What is remembered of the pages: some bytes of each."""

    def __init__(self) -> None:
        self.labels, self.marks, self.sizes = array("b"), array("b"), array("q")
        self.contents = array("Q")
        """A hash of each page's words."""

    def add(self, label: int, test: bool | None, size: int, content: bytes) -> None:
        self.labels.append(label)
        self.marks.append(-1 if test is None else int(test))
        self.sizes.append(size)
        self.contents.append(int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little"))


class _BadLines:
    """Counts bad lines, and keeps the first."""

    def __init__(self) -> None:
        self.count = 0
        self.named: list[str] = []

    def __call__(self, error: InputError) -> None:
        self.count += 1
        if self.count <= MOST_NAMED:
            self.named.append(str(error))


def check(name_or_path: str, options: FileOptions, *, data_dir: Path | None = None) -> Findings:
    """Read all pages and say what was found. Errors in the user's own files are among the findings."""
    file_format = format_of(Path(name_or_path))
    if name_or_path in SOURCES or file_format is None:
        check_options(name_or_path, options)
    if name_or_path in SOURCES:
        source = SOURCES[name_or_path]
        folder = data_folder(data_dir, source.needs) if source.needs else None
        collected, words = _collect(source.checked_pages(folder))
        return _findings(name_or_path, "data set", collected, words, classes=source.classes)
    if file_format is None:
        examples = load(name_or_path)
        if examples.classes != NAMES:
            raise InputError(f"{name_or_path}: has the classes {', '.join(examples.classes)}, not {', '.join(NAMES)}")
        classes = tuple(NAMES[label] for label in np.unique(examples.labels))
        return _findings(name_or_path, "npz", _rows(examples), examples.rows.width, classes=classes)
    bad_lines, problems = _BadLines(), list[str]()
    pages = own_pages(Path(name_or_path), replace(options, on_bad_line=bad_lines))
    collected, words = _collect(_until_error(pages, problems))
    left_out = options.on_bad_line is not fail
    return _findings(
        name_or_path, file_format, collected, words, options.classes, problems, bad_lines, left_out=left_out
    )


def _until_error(pages: Iterable[Labelled], problems: list[str]) -> Iterator[Labelled]:
    """Yield pages until reading fails; note why."""
    try:
        yield from pages
    except InputError as error:
        problems.append(str(error))


def _collect(pages: Iterable[Labelled]) -> tuple[_Collected, int]:
    """Return what is remembered of the pages, and how many different words they have."""
    collected, known = _Collected(), set[str]()
    for page, label, test in pages:
        found = tokens(page.content())
        known.update(found)
        collected.add(label, test, len(found), " ".join(found).encode())
    return collected, len(known)


def _rows(examples: Examples) -> _Collected:
    collected, rows = _Collected(), examples.rows
    for place, (label, test) in enumerate(zip(examples.labels.tolist(), examples.test.tolist(), strict=True)):
        own = slice(rows.starts[place], rows.starts[place + 1])
        content = rows.columns[own].tobytes() + rows.values[own].tobytes()
        collected.add(label, test, own.stop - own.start, content)
    return collected


def _findings(
    path: str,
    file_format: str,
    collected: _Collected,
    words: int,
    classes: tuple[str, ...],
    problems: Sequence[str] = (),
    bad_lines: _BadLines | None = None,
    *,
    left_out: bool = False,
) -> Findings:
    labels, marks = np.asarray(collected.labels, np.int64), np.asarray(collected.marks, np.int64)
    test, unmarked = marks == 1, np.flatnonzero(marks == -1)
    test[unmarked] = stratified_split(labels[unmarked], 0)
    full = np.asarray(collected.sizes, np.int64) > 0
    _, first, content = np.unique(np.asarray(collected.contents)[full], return_index=True, return_inverse=True)
    in_training = np.zeros(len(first), np.bool_)
    in_training[content[~test[full]]] = True
    split = {0: "in the data", len(labels): "drawn with seed 0"}.get(len(unmarked), "partly in the data")
    found = [*problems]
    if not problems:
        found += [f"{path}: {problem}" for problem in class_problems(labels, test, classes)]
    if not found and not (full & ~test).any():
        found.append(f"{path}: {NO_WORDS}")
    return Findings(
        path=path,
        format=file_format,
        pages=len(labels),
        classes={
            name: {"train": int((~test & mine).sum()), "test": int((test & mine).sum())}
            for name, mine in ((name, labels == NAMES.index(name)) for name in NAMES)
        },
        split=split,
        words=words,
        words_per_page=round(sum(collected.sizes) / max(len(labels), 1), 2),
        empty_pages=int((~full).sum()),
        duplicates=len(content) - len(first),
        test_pages_seen_in_training=int(in_training[content[test[full]]].sum()),
        duplicates_of_other_class=int((labels[full] != labels[full][first][content]).sum()),
        bad_lines=bad_lines.count if bad_lines else 0,
        left_out=left_out,
        named_bad_lines=bad_lines.named if bad_lines else [],
        problems=found,
    )
