"""Pages like the front of a news site's section: two to six headlines of one section, joined."""

from collections.abc import Iterator
from pathlib import Path

from eitr.datasets.interface import Labelled, Source
from eitr.datasets.jsonl import labelled_rows
from eitr.datasets.location import found

NEEDS = (
    "the News Category Dataset, 2 to 6 rows of one section joined, as JSON lines of title, text, label and split"
    " as news_sections.jsonl.gz in the data folder"
)


def pages(folder: Path | None) -> Iterator[Labelled]:
    """Yield one page per section front."""
    yield from labelled_rows(found(folder, ("news_sections.jsonl.gz", "news_sections.jsonl"), NEEDS))


SOURCE = Source(
    name="news-sections",
    summary="news section fronts, six classes, half non-sensitive; pages share rows, never across the split",
    needs=NEEDS,
    licence="News Category Dataset (HuffPost 2012-2018); its cards say CC0 and CC BY 4.0",
    pages=pages,
)
