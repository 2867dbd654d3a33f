"""The real pages of the federation trials: those that participants have, and those that models are judged by.

Neither the gate nor the rule of a server has seen any of them. Two groups were not trained on by the shipped models
either: the test pages of news-sections and 20 Newsgroups. The third, a sample of the sources in `pages/`, was, by the
models after version 0.1: it shows what a federation forgets. Sources with pages in the pool of cover pages are left
out. No text is written anywhere.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.pages import Page
from eitr.taxonomy import NAMES

NON_SENSITIVE = len(NAMES) - 1
NEWS, NEWSGROUPS, SOURCES = "news-sections", "newsgroups", "other sources"
IN_THE_POOL = frozenset({"usagov_html", "medquad", "wcxb", "tech_docs", "bible_6lang"})
"""Half of their pages are cover pages."""
POSTS, OTHERS = 6000, 1500
"""Posts of the newsgroups that people have, and pages of all other sources together."""


@dataclass(frozen=True, eq=False)
class Table:
    """Pages, their classes and where they come from."""

    pages: list[Page]
    labels: NDArray[np.int64]
    groups: NDArray[np.str_]
    held_out: NDArray[np.bool_]
    """Models are judged by these; participants and attackers have the others."""

    def __len__(self) -> int:
        return len(self.pages)


def read_table(data: Path, seed: int) -> Table:
    """Read the pages: half of the news pages are held out, the test posts of the newsgroups, and all other pages."""
    rng = np.random.default_rng(seed)
    found: list[tuple[dict[str, Any], str, bool]] = []
    news = [row for row in _rows(data / "news_sections.jsonl.gz") if row["split"] == "test"]
    halves = rng.permutation(len(news)) % 2 == 0
    found += [(row, NEWS, bool(half)) for row, half in zip(news, halves, strict=True)]
    posts = list(_rows(data / "newsgroups.jsonl.gz"))
    found += [(row, NEWSGROUPS, True) for row in posts if row["split"] == "test"]
    theirs = [row for row in posts if row["split"] != "test"]
    found += [(theirs[place], NEWSGROUPS, False) for place in rng.permutation(len(theirs))[:POSTS]]
    paths = [path for path in sorted((data / "pages").glob("*.jsonl.gz")) if _source(path) not in IN_THE_POOL]
    others = [row for path in paths for row in _rows(path)]
    found += [(others[place], SOURCES, True) for place in rng.permutation(len(others))[:OTHERS]]
    return Table(
        [Page.from_row(row) for row, _, _ in found],
        np.array([NAMES.index(row["label"]) for row, _, _ in found], np.int64),
        np.array([group for _, group, _ in found]),
        np.array([held_out for _, _, held_out in found]),
    )


def shipped_validation() -> tuple[list[Page], NDArray[np.int64]]:
    """Return the validation pages of the package, which attackers know, and their classes."""
    text = files("eitr").joinpath("assets", "validation.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return [Page.from_row(row) for row in rows], np.array([NAMES.index(row["label"]) for row in rows], np.int64)


def streams(places: NDArray[np.int64], people: int, length: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return the pages of each person in the order in which they come; nobody has a page twice, two may have the same.

    >>> [len(set(one)) for one in streams(np.arange(10), 2, 6, np.random.default_rng(0))]
    [6, 6]
    """
    if len(places) < length:
        raise InputError(f"{len(places)} pages are of this kind, and a person needs {length}: ask for fewer rounds")
    return [rng.permutation(places)[:length] for _ in range(people)]


def mixed(labels: NDArray[np.int64], places: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return some of the pages of which 80 % are not sensitive, the share that people see, as many as possible."""
    ordinary = rng.permutation(places[labels[places] == NON_SENSITIVE])
    sensitive = rng.permutation(places[labels[places] != NON_SENSITIVE])
    count = min(len(ordinary) // 4, len(sensitive))
    return np.sort(np.concatenate([ordinary[: 4 * count], sensitive[:count]]))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise InputError(f"{path} is missing: name the folder of the development data by --data-dir")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _source(path: Path) -> str:
    return path.name.removesuffix(".jsonl.gz")
