"""From a folder of results to a report."""

from collections.abc import Iterator
from pathlib import Path

from eitr.errors import InputError
from eitr.io.atomic import write_together
from eitr.lab.report.content import Section, make_section
from eitr.lab.report.documents import json_document, markdown_verdicts
from eitr.lab.report.page import page
from eitr.lab.results.long_table import write_long_table
from eitr.lab.results.metadata import read_metadata, read_timings
from eitr.lab.results.store import Result, Store


def make_report(folder: Path) -> Path:
    """Write the report of a lab run into its folder; return the page.

    Beside `report.html` there are `report.json`, `verdicts.md`, `figures/ID.svg` and `rounds.parquet`. An experiment
    whose runs are not finished is listed with the command that continues it. The same results and times give the
    same bytes.
    """
    lab, times = read_metadata(folder), read_timings(folder)
    store = Store(folder)
    sections = [make_section(id, lab, store, times) for id in lab.experiments]
    try:
        (folder / "figures").mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {folder / 'figures'}: {error.strerror or error}") from error
    figures = {folder / "figures" / f"{part.experiment.id}.svg": part.svg for part in sections if part.svg is not None}
    documents = {
        **figures,
        folder / "report.json": json_document(lab, times, sections),
        folder / "verdicts.md": markdown_verdicts(lab, sections),
        folder / "report.html": page(lab, times, sections),
    }
    write_long_table(folder / "rounds.parquet", _finished(sections, store))
    write_together({path: text.encode() for path, text in documents.items()})
    return folder / "report.html"


def _finished(sections: list[Section], store: Store) -> Iterator[Result]:
    """Yield every finished result once, read when it is needed."""
    for run in dict.fromkeys(run for section in sections for run in section.runs):
        if store.has(run):
            yield store.load(run)
