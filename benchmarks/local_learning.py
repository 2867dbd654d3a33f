"""What six corrections change in the browser that they were made in, on similar pages and on all others.

    python -m benchmarks.local_learning [--data-dir DATA] [--seeds N] [--to FILE]

Takes pages that the published model gets wrong, of one source and section, with one label and one wrong answer. Six of
them, drawn at random, are corrections; the rest are pages of the same kind. The extension's own code trains the local
copy, in Node.js. Writes docs/classifier/local-learning.md, no text of pages.
"""

import argparse
import base64
import gzip
import json
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.extension_pages import DATA
from benchmarks.labelled_pages import saved_pages, source_pages
from benchmarks.markdown import table
from eitr.model.classifier import Classifier
from eitr.pages import Page
from eitr.pages.extract import extract
from eitr.taxonomy import NAMES

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "docs" / "classifier" / "local-learning.md"
CORRECTIONS = 6
FEWEST_OF_A_KIND = 9
LEAST_KNOWN_WORDS = 5
MIXED = (1, 6, 20, 50, 100)
"""So many corrections of pages of all kinds, for the second table."""

INTRODUCTION = """# What corrections change in one browser

Written by `python -m benchmarks.local_learning --data-dir DATA`. The published model is the shipped one. Pages that it
gets wrong are grouped by source and section, label and wrong answer. Six of a group are corrected, and the local copy
is trained as the extension does it, by its own code. An answer is what the popup would say: a class, or "cannot tell".

- **Corrected pages right**: the copy itself says what the person said. (The person sees their own word in any case.)
- **Pages of the same kind right**: the others of the group, all of which were wrong before.
- **Other saved pages changed**: of the {saved} whole HTML pages, those of other sources that got another answer.
- **All other pages changed**: of all {total:,} pages, those of other sections. Some of them are mistakes of the same
  sort, so not every change is for the worse.
"""


@dataclass(frozen=True)
class Row:
    """A page as the model reads it."""

    group: str
    label: int | None
    saved: bool
    """Whether it is a whole HTML page."""
    language: str
    columns: list[int]
    values: list[float]


@dataclass(frozen=True)
class Kind:
    """Pages of one group that the published model gets wrong in the same way."""

    group: str
    label: int
    answer: int | None
    places: list[int]

    def __str__(self) -> str:
        return f"{self.group}: {called(self.label)}, was {called(self.answer)}"


@dataclass(frozen=True)
class Measured:
    """Shares of one set of corrections."""

    corrected: float
    similar: float
    others_saved: float
    others: float


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=DATA, help="the folder of the development data")
    parser.add_argument("--seeds", type=int, default=3, help="how often six pages are drawn of each kind")
    parser.add_argument(
        "--to", type=Path, default=ROOT / "docs" / "classifier" / "local-learning.md", help="the report"
    )
    given = parser.parse_args()
    rows = list(read_rows(given.data_dir))
    published = trained(rows, [])["published"]
    kinds = kinds_of(rows, published)
    random = np.random.default_rng(0)
    drawn = [(kind, [int(n) for n in random.permutation(kind.places)]) for kind in kinds for _ in range(given.seeds)]
    wrong = [place for place, row in enumerate(rows) if is_wrong(row, published[place])]
    mixed = [(n, [int(p) for p in random.choice(wrong, n, replace=False)]) for n in MIXED for _ in range(given.seeds)]
    sets = [*(places[:CORRECTIONS] for _, places in drawn), *(places for _, places in mixed)]
    results = trained(rows, sets)["results"]
    measured = defaultdict(list)
    for (kind, places), result in zip(drawn, results, strict=False):
        measured[str(kind)].append(measure(rows, published, changes(result), kind, places))
    saved = sum(row.saved for row in rows)
    parts = [
        INTRODUCTION.format(saved=saved, total=len(rows)),
        f"Means of {given.seeds} draws of {CORRECTIONS}, in %.\n",
        by_kind(measured),
        "\nCorrections of all kinds at once, drawn from all pages that the model gets wrong:\n",
        by_number(rows, published, mixed, results[len(drawn) :]),
        timing(results),
    ]
    given.to.write_text("\n".join(parts), "utf-8")
    print("\n".join(parts))


def read_rows(data: Path) -> Iterator[Row]:
    """Yield all pages: whole HTML, news sections, newsgroups, COVID-19, and home pages without labels."""
    vocabulary = Classifier.shipped().vocabulary

    def row(group: str, label: str | None, page: Page, *, saved: bool = False) -> Row:
        language, words = vocabulary.read(page)
        columns, values = vocabulary.vector(words)
        number = None if label is None else NAMES.index(label)
        return Row(group, number, saved, language, columns.tolist(), values.tolist())

    for one in [*saved_pages(data), *source_pages(data)]:
        yield row(one.source, one.label, extract(one.html), saved=True)
    for name in ("news_sections", "newsgroups", "covid_pages", "web_unlabelled"):
        for place, entry in enumerate(lines_of(data / f"{name}.jsonl.gz")):
            # Of news, pages that the model was not trained on; of posts, every third; of home pages, the English ones.
            if entry.get("split") == "train" or (name == "newsgroups" and place % 3):
                continue
            if name == "web_unlabelled" and entry["lang"] != "en":
                continue
            parts = {key: entry.get(key) or "" for key in ("title", "description", "keywords", "text")}
            yield row(f"{name} {entry.get('section', '')}".strip(), entry.get("label"), Page(**parts))


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def trained(rows: Sequence[Row], sets: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return what the published model says of each page, and what each set of corrections changes."""
    model = Classifier.shipped().model
    question = {
        "weights": base64.b64encode(np.asarray(model.vector, "<f4").tobytes()).decode(),
        "layers": list(model.network.layers),
        "pool": base64.b64encode(files("eitr").joinpath("assets", "pool.bin").read_bytes()).decode(),
        "rows": [
            {"columns": row.columns, "values": row.values, "language": row.language, "label": row.label} for row in rows
        ],
        "sets": sets,
    }
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder, "question.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(question))
        subprocess.run(["node", ROOT / "benchmarks" / "local_learning.mjs", asked, told], cwd=ROOT, check=True)
        found: dict[str, Any] = json.loads(told.read_text())
    return found


def is_wrong(row: Row, answer: int | None) -> bool:
    """Say whether a person could correct the answer, and the page has enough words to be learned from."""
    return row.label is not None and answer != row.label and len(row.columns) >= LEAST_KNOWN_WORDS


def kinds_of(rows: Sequence[Row], published: Sequence[int | None]) -> list[Kind]:
    """Return the kinds of mistakes that are frequent enough, the most frequent first."""
    places = defaultdict(list)
    for place, row in enumerate(rows):
        if is_wrong(row, published[place]):
            places[row.group, row.label, published[place]].append(place)
    kinds = [Kind(*key, found) for key, found in places.items() if len(found) >= FEWEST_OF_A_KIND]
    return sorted(kinds, key=lambda kind: -len(kind.places))


def changes(result: dict[str, Any]) -> dict[int, int | None]:
    """Return the new answers of the pages that got one."""
    return {int(place): answer for place, answer in result["changed"].items()}


def measure(
    rows: Sequence[Row],
    published: Sequence[int | None],
    changed: dict[int, int | None],
    kind: Kind,
    places: Sequence[int],
) -> Measured:
    """Return the shares for one draw of a kind."""
    answers = [changed.get(place, answer) for place, answer in enumerate(published)]
    right = [answers[place] == kind.label for place in places]
    others = [place for place, row in enumerate(rows) if row.group != kind.group]
    return Measured(
        corrected=share(right[:CORRECTIONS]),
        similar=share(right[CORRECTIONS:]),
        others_saved=share([place in changed for place in others if rows[place].saved]),
        others=share([place in changed for place in others]),
    )


def by_kind(measured: dict[str, list[Measured]]) -> str:
    """Return the table of the kinds, with a line for all of them."""
    every = [one for found in measured.values() for one in found]
    rows = [[name, *means(found)] for name, found in measured.items()]
    head = [
        "kind of mistake",
        "corrected pages right",
        "pages of the same kind right",
        "other saved pages changed",
        "all other pages changed",
    ]
    most = [f"{100 * max(numbers):.1f}" for numbers in columns(every)[2:]]
    total = [["**all kinds, mean**", *means(every)], ["**all draws, most**", "", "", *most]]
    return table(head, [*rows, *total])


def by_number(
    rows: Sequence[Row],
    published: Sequence[int | None],
    mixed: Sequence[tuple[int, list[int]]],
    results: Sequence[dict[str, Any]],
) -> str:
    """Return the table of corrections of all kinds."""
    found = defaultdict(list)
    for (count, places), result in zip(mixed, results, strict=True):
        changed = {place: answer for place, answer in changes(result).items() if place not in places}
        labelled = [(place, answer) for place, answer in changed.items() if rows[place].label is not None]
        found[count].append(
            (
                sum(rows[place].saved for place in changed) / sum(row.saved for row in rows),
                len(changed) / len(rows),
                share([answer == rows[place].label for place, answer in labelled]),
                share([published[place] == rows[place].label for place, _ in labelled]),
            )
        )
    head = ["corrections", "saved pages changed", "all pages changed", "of these right", "of these right before"]
    lines = [
        [str(count), *(f"{100 * statistics.fmean(column):.1f}" for column in zip(*several, strict=True))]
        for count, several in found.items()
    ]
    return table(head, lines)


def timing(results: Sequence[dict[str, Any]]) -> str:
    """Return the sentence about how long training takes."""
    total = statistics.median(result["total"] for result in results)
    longest = max(result["longest"] for result in results)
    most = max(result["total"] for result in results)
    return (
        f"\nTraining took {total:.0f} ms of processor time at the median and {most:.0f} ms at most, in pieces of"
        f"\nat most {longest:.0f} ms, between which the worker does other work. (Node.js.)\n"
    )


def columns(found: Sequence[Measured]) -> list[list[float]]:
    """Return the numbers of each column."""
    numbers = [(one.corrected, one.similar, one.others_saved, one.others) for one in found]
    return [list(column) for column in zip(*numbers, strict=True)]


def means(found: Sequence[Measured]) -> list[str]:
    """Return the mean of each column, in %."""
    return [f"{100 * statistics.fmean(column):.1f}" for column in columns(found)]


def share(facts: Sequence[bool]) -> float:
    """Return how many are true; 0 if there are none.

    >>> share([True, False])
    0.5
    """
    return sum(facts) / len(facts) if facts else 0.0


def called(answer: int | None) -> str:
    """Return what an answer is called in the tables."""
    return "cannot tell" if answer is None else NAMES[answer]


if __name__ == "__main__":
    main()
