"""Many pages from files of rows: their labels, and the vocabularies they give."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from eitr.errors import InputError
from eitr.io.json_lines import fail, read_rows
from eitr.model import Classifier
from eitr.model.classifier import Prediction
from eitr.pages import Page, Vocabulary
from eitr.pages.federated_vocabulary import agree, report
from eitr.pages.page import FIELDS
from eitr.pages.ranking import document_frequencies, most_weighty
from eitr.pages.reading import read_body

PREDICTED = tuple(field.name for field in fields(Prediction))
ADDED = ("line", *PREDICTED)
"""Fields that are added to a row; a row's own of that name is passed through as `given_...`."""

BATCH = 512
"""Pages classified at a time: enough to be fast, few enough that the first results come at once."""


class PageRow(NamedTuple):
    """A page and the row it came from."""

    line: int
    page: Page
    row: dict[str, Any]


def classified(
    classifier: Classifier, path: Path, on_bad_line: Callable[[InputError], None] = fail
) -> Iterator[dict[str, Any]]:
    """Yield, for each row of a file, its other fields, the number of its line and the prediction (`ADDED`).

    `on_bad_line` is told of each line that is no page; if it returns, the next lines are classified all the same.
    """
    for rows in _batches(_pages(path, on_bad_line)):
        predictions = classifier.classify([page for _, page, _ in rows])
        for (line, _, row), found in zip(rows, predictions, strict=True):
            passed = {(f"given_{name}" if name in ADDED else name): row[name] for name in row if name not in FIELDS}
            yield {**passed, "line": line, **as_fields(found)}


def as_fields(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as it is written to JSON; `dataclasses.asdict` copies the probabilities and is slow here."""
    return {name: getattr(prediction, name) for name in PREDICTED}


def central_vocabulary(paths: Sequence[Path], *, size: int) -> Vocabulary:
    """Return the words of the largest mean TF-IDF weight over the pages of all files."""
    documents = [document for path in paths for document in _documents(path)]
    return Vocabulary.of(most_weighty(documents, size), document_frequencies(documents), len(documents))


def federated_vocabulary(paths: Sequence[Path], *, size: int, min_clients: int) -> Vocabulary:
    """Return the words that a federation agrees on, where each file holds the pages of one client."""
    if len(paths) < min_clients:
        raise InputError(f"{len(paths)} clients cannot agree on terms that at least {min_clients} must report")
    return agree([report(_documents(path)) for path in paths], size=size, min_clients=min_clients)


def _batches(pages: Iterator[PageRow]) -> Iterator[list[PageRow]]:
    """Gather pages; when reading fails, those read before still come out first."""
    batch: list[PageRow] = []
    try:
        for page in pages:
            batch.append(page)
            if len(batch) == BATCH:
                yield batch
                batch = []
    except InputError:
        yield batch
        raise
    yield batch


def _pages(path: Path, on_bad_line: Callable[[InputError], None] = fail) -> Iterator[PageRow]:
    for number, row in read_rows(path, on_bad_line):
        try:
            page = Page.from_row(row)
        except InputError as error:
            on_bad_line(InputError(f"{path}: line {number}: {error}"))
        else:
            yield PageRow(number, page, row)


def _documents(path: Path) -> list[list[str]]:
    documents = [read_body(found.page).tokens for found in _pages(path)]
    if not any(documents):
        raise InputError(f"{path}: there is no page with words in it")
    return documents
