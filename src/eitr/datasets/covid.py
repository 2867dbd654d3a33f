"""Pages about COVID-19, as in the paper's user study; the pages of known truth are those to test on."""

from collections.abc import Iterator
from pathlib import Path

from eitr.datasets.interface import Labelled, Source
from eitr.datasets.jsonl import labelled_rows
from eitr.datasets.location import found

NEEDS = (
    "CoAID pages and news pages as JSON lines of title, description, keywords, text, label and split (study, truth)"
    " as covid_pages.jsonl.gz in the data folder"
)


def pages(folder: Path | None) -> Iterator[Labelled]:
    """Yield one page per web page."""
    yield from labelled_rows(
        found(folder, ("covid_pages.jsonl.gz", "covid_pages.jsonl"), NEEDS), {"study": False, "truth": True}
    )


SOURCE = Source(
    name="covid",
    summary="400 COVID-19 pages, health or non-sensitive: 300 to study on, 100 of known truth",
    needs=NEEDS,
    licence="CoAID and News Category Dataset: to evaluate on only",
    pages=pages,
    classes=("health", "non-sensitive"),
)
