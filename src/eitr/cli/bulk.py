"""Many pages from files of rows: their verdicts, and the vocabularies they give."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eitr.errors import InputError
from eitr.io.json_lines import read_rows
from eitr.model.classifier import Classifier
from eitr.pages import Page, Vocabulary, tokens
from eitr.pages.federated_vocabulary import agree, report
from eitr.pages.page import FIELDS
from eitr.pages.ranking import document_frequencies, most_weighty

Row = tuple[Page, dict[str, Any]]
"""A page and the row it came from."""

OURS = ("label", "probabilities")
"""Fields that verdicts add; a row's own of that name is passed through as `given_...`."""

BATCH = 512
"""Pages judged at a time: enough to be fast, few enough that the first verdicts come at once."""


def classified(classifier: Classifier, path: Path) -> Iterator[dict[str, Any]]:
    """Yield, for each row of a file, its other fields, the label and the probabilities."""
    for rows in _batches(_pages(path)):
        verdicts = classifier.classify([page for page, _ in rows])
        for (_, row), verdict in zip(rows, verdicts, strict=True):
            passed = {(f"given_{name}" if name in OURS else name): row[name] for name in row if name not in FIELDS}
            yield {**passed, "label": verdict.label, "probabilities": verdict.probabilities}


def central_vocabulary(paths: Sequence[Path], *, size: int) -> Vocabulary:
    """Return the words of the largest mean TF-IDF weight over the pages of all files."""
    documents = [document for path in paths for document in _documents(path)]
    return Vocabulary.of(most_weighty(documents, size), document_frequencies(documents), len(documents))


def federated_vocabulary(paths: Sequence[Path], *, size: int, min_clients: int) -> Vocabulary:
    """Return the words that a federation agrees on, where each file holds the pages of one client."""
    if len(paths) < min_clients:
        raise InputError(f"{len(paths)} clients cannot agree on terms that at least {min_clients} must report")
    return agree([report(_documents(path)) for path in paths], size=size, min_clients=min_clients)


def _batches(pages: Iterator[Row]) -> Iterator[list[Row]]:
    """Gather pages; when one is bad, those before it still come out first."""
    batch: list[Row] = []
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


def _pages(path: Path) -> Iterator[Row]:
    for number, row in read_rows(path):
        try:
            yield Page.from_row(row), row
        except InputError as error:
            raise InputError(f"{path}: line {number}: {error}") from error


def _documents(path: Path) -> list[list[str]]:
    documents = [tokens(page.content()) for page, _ in _pages(path)]
    if not any(documents):
        raise InputError(f"{path}: there is no page with words in it")
    return documents
