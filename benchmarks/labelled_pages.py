"""Whole HTML pages with labels: the 65 saved pages, and the HTML of the sources that the model is trained on."""

import gzip
import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.extension_pages import real_pages
from eitr.initial.corpus import Labelled
from eitr.initial.sources import is_reserved
from eitr.pages.encoding import decode
from eitr.taxonomy import NAMES, NON_SENSITIVE

SAVED = "saved pages"
SENSITIVE_SAVED = {
    "folha": "politics",
    "guardian-1": "ethnicity",
    "herald-sun-1": "politics",
    "medicalnewstoday": "health",
    "nytimes-4": "politics",
    "schema-org-context-object": "politics",
    "telegraph": "politics",
    "wapo-1": "politics",
    "webmd-1": "health",
    "youth": "politics",
}
"""Labels of the saved pages, which come without; all others are not sensitive. Decided by title and beginning, and by
more of the text where these leave a doubt."""
DOUBTFUL_SAVED = frozenset({"aclu", "ebb-org", "folha", "guardian-1", "medicalnewstoday", "wapo-1"})
"""Saved pages that another reader might label differently."""
_REFRESH = re.compile(r"<meta\b[^>]*http-equiv=[\"']?refresh[^>]*>", re.IGNORECASE)
"""Would lead at once to another page, which is not in the data."""


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A page as it is served, and what it is about."""

    identifier: str
    source: str
    label: str
    trained_on: bool
    """Whether the text of this page is among those that the shipped model was trained on."""
    doubtful: bool
    html: str


def saved_pages(data: Path) -> Iterator[LabelledPage]:
    """Yield the pages of `html_pages.tar.gz`; no model is trained on them."""
    for name, html in real_pages(data).items():
        label = SENSITIVE_SAVED.get(name, NAMES[NON_SENSITIVE])
        yield LabelledPage(name, SAVED, label, trained_on=False, doubtful=name in DOUBTFUL_SAVED, html=html)


def source_pages(data: Path) -> Iterator[LabelledPage]:
    """Yield the pages of `pages_html.tar`, source by source."""
    with tarfile.open(data / "pages_html.tar") as archive:
        rows = sorted(line.split("\t") for line in _member(archive, "labels.tsv").decode().splitlines())
        sources = {file.partition("/")[0] for file, *_ in rows}
        trained = {source: _trained_on(data, source) for source in sources}
        for file, label, _, site in rows:
            source, _, name = file.removesuffix(".html.gz").partition("/")
            yield LabelledPage(
                name,
                source,
                label,
                trained_on=row_identifier(source, name, site) in trained[source],
                doubtful=False,
                html=_REFRESH.sub("", decode(gzip.decompress(_member(archive, file)))),
            )


def row_identifier(source: str, name: str, site: str) -> str:
    """Return the identifier that the row with a page's text has, given the page's file name and its site.

    >>> row_identifier("wcxb", "wcxb-1087", "example.org")
    'wcxb:1087'
    >>> row_identifier("recipe_sites_html", "recipe-example.org_cake_1.testhtml", "example.org")
    'recipe_sites_html:example.org/cake_1.testhtml'
    >>> row_identifier("ethnic_sites", "someone-docs_a.html-d0e1", "someone/site docs/a.html")
    'ethnic_sites:someone/docs/a.html'
    """
    repository, _, path = site.partition(" ")
    if path:
        return f"{source}:{repository.partition('/')[0]}/{path}"
    if name.startswith(f"recipe-{site}_"):
        return f"{source}:{site}/{name.removeprefix(f'recipe-{site}_')}"
    return f"{source}:{name.removeprefix('wcxb-')}"


def _trained_on(data: Path, source: str) -> set[str]:
    """Return the identifiers of a source's rows, without the reserved half."""
    with gzip.open(data / "pages" / f"{source}.jsonl.gz", "rt", encoding="utf-8") as lines:
        identifiers = [str(json.loads(line)["id"]) for line in lines]
    rows = [Labelled((), 0, "", "", source=source, identifier=identifier) for identifier in identifiers]
    return {row.identifier for row in rows if not is_reserved(row)}


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(f"html/{name}")
    assert file is not None
    return file.read()
