"""Pages of one headline and its summary: short, and therefore hard to classify."""

from collections.abc import Iterator
from pathlib import Path

from eitr.datasets.interface import Labelled, Source
from eitr.datasets.jsonl import labelled_rows
from eitr.datasets.location import found

NEEDS = (
    "the News Category Dataset as JSON lines of title, text, label and split as news_rows.jsonl.gz in the data folder"
)


def pages(folder: Path | None) -> Iterator[Labelled]:
    """Yield one page per headline."""
    yield from labelled_rows(found(folder, ("news_rows.jsonl.gz", "news_rows.jsonl"), NEEDS))


SOURCE = Source(
    name="news-rows",
    summary="news headlines with their summaries, six classes, half non-sensitive",
    needs=NEEDS,
    licence="News Category Dataset (HuffPost 2012-2018); its cards say CC0 and CC BY 4.0",
    pages=pages,
)
