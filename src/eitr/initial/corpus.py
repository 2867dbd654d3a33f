"""The development data as lists of words with a label."""

import sys
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from eitr.errors import InputError
from eitr.io import json_lines as rows
from eitr.pages.page import Page
from eitr.pages.reading import read_page
from eitr.pages.vocabulary import VERSION
from eitr.taxonomy import NAMES, NON_SENSITIVE, index_of


@dataclass(frozen=True, slots=True)
class Labelled:
    """One page: its words, its class, and where in the data it stands."""

    words: tuple[str, ...]
    label: int
    section: str
    split: str
    source: str = ""
    """The file of the data folder that it comes from, without its ending."""
    language: str = "en"
    """As the data say: `lang` in the data folder, `language` in the pages of the package."""
    read_language: str = "unknown"
    """As it is told from the words, which decides what is shown."""
    identifier: str = ""


def read_rows(data_dir: Path, name: str) -> list[Labelled]:
    """Read `name.jsonl.gz` of the data folder; InputError says what is missing or wrong."""
    path = data_dir / f"{name}.jsonl.gz"
    if not path.is_file():
        raise InputError(
            f"{path} is missing: the initial model is trained on news_rows.jsonl.gz and news_sections.jsonl.gz"
        )
    return read_file(path)


def has_rows(data_dir: Path, name: str) -> bool:
    """Say whether the data folder holds a file that is only needed to judge the model."""
    return (data_dir / f"{name}.jsonl.gz").is_file()


def validation_pages(version: int = VERSION) -> list[Labelled]:
    """Return the pages written for validation, which ship with the package; none of them is trained on."""
    with as_file(files("eitr").joinpath("assets", "validation.jsonl")) as path:
        return read_file(path, version)


def read_unlabelled(path: Path, version: int = VERSION) -> list[Labelled]:
    """Read pages without labels; they get the class "not sensitive", which nobody has checked."""
    return [_labelled(row | {"label": NAMES[NON_SENSITIVE]}, path, version) for _, row in rows.read_rows(path)]


def read_file(path: Path, version: int = VERSION) -> list[Labelled]:
    """Read a file of labelled pages; InputError says what is wrong with it.

    `version` is that of the vocabulary for which the pages are read: as a whole, or without boilerplate.
    """
    pages = []
    for number, row in rows.read_rows(path):
        if row.get("label") not in NAMES:
            raise InputError(f"{path}: line {number}: a row needs a label, one of {', '.join(NAMES)}")
        pages.append(_labelled(row, path, version))
    return pages


def _labelled(row: dict[str, object], path: Path, version: int) -> Labelled:
    page = _page(row)
    language, words = read_page(page, version)
    return Labelled(
        # One string for each word, not one for each place where it stands: the pages would fill the memory.
        words=tuple(map(sys.intern, words)),
        label=index_of(str(row["label"])),
        section=str(row.get("section", "")),
        split=str(row.get("split", "")),
        source=path.name.split(".")[0],
        language=str(row.get("lang") or row.get("language") or "en"),
        read_language=language,
        identifier=str(row.get("id", "")),
    )


def _page(row: dict[str, object]) -> Page:
    """Return a row's page; in the news files the text begins with the title, which must not count twice in training."""
    page = Page.from_row(row)
    if row.get("split") == "train" and page.text.startswith(page.title):
        return Page(text=page.text)
    return page
