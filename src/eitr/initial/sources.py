"""The sources of real pages: which belong together, what kind of text they are, and what no model may see.

A model is judged by pages of sources that it was not trained on, never by a random part of the same source: pages of
one site are so alike that a random split flatters.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from eitr.errors import InputError
from eitr.initial.corpus import Labelled, read_file, read_unlabelled, validation_pages
from eitr.pages.vocabulary import VERSION

UNLABELLED = "web_unlabelled"
"""Random home pages without labels: about 3 % are sensitive."""
NEWS = "news_rows"
"""The headlines of which training pages are composed; `news_sections` is composed of the same."""


class Kind(StrEnum):
    """What pages of a source that are not sensitive are like."""

    ORDINARY = "ordinary web pages"
    """Home pages, shops, forums, articles, documentation, recipes, terms of use."""
    DIFFICULT = "difficult text"
    """News of other years, posts and offices next to a topic, pages that only mention the pandemic, essays, reviews."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source of pages."""

    kind: Kind
    group: str | None
    """Sources of one group are left out together; those without a group are never trained on."""


SOURCES: dict[str, Source] = {
    # One newspaper, and another one's headlines.
    "news_rows": Source(Kind.DIFFICULT, "news"),
    "news_sections": Source(Kind.DIFFICULT, "news"),
    "agnews_test": Source(Kind.DIFFICULT, "news"),
    # Home pages; two of the three are samples of the same list of sites.
    "alexa_homepages_a": Source(Kind.ORDINARY, "home pages"),
    "website_homepages_kaggle": Source(Kind.ORDINARY, "home pages"),
    UNLABELLED: Source(Kind.ORDINARY, "home pages"),
    # Posts and essays.
    "natcat_reddit_titles": Source(Kind.DIFFICULT, "posts"),
    "reddit_depression_anxiety": Source(Kind.DIFFICULT, "posts"),
    "gender_dysphoria_bible": Source(Kind.DIFFICULT, "posts"),
    "tedium_blog": Source(Kind.DIFFICULT, "posts"),
    "terms_privacy": Source(Kind.ORDINARY, "posts"),
    # Saved articles, some of the same sites, and the pages of parties.
    "newspaper_goose": Source(Kind.ORDINARY, "articles"),
    "postlight_fixtures": Source(Kind.ORDINARY, "articles"),
    "wcxb": Source(Kind.ORDINARY, "articles"),
    "access_to_insight_html": Source(Kind.ORDINARY, "articles"),
    "immigration_news_en_de": Source(Kind.DIFFICULT, "articles"),
    "party_sites_html": Source(Kind.ORDINARY, "articles"),
    "pt_manifestos": Source(Kind.DIFFICULT, "articles"),
    "wahlprogramme_2013_de": Source(Kind.DIFFICULT, "articles"),
    "lgbt_center_reading_html": Source(Kind.ORDINARY, "articles"),
    # Public offices, reference works, research corpora.
    "usagov_html": Source(Kind.DIFFICULT, "reference"),
    "medquad": Source(Kind.ORDINARY, "reference"),
    "bible_6lang": Source(Kind.DIFFICULT, "reference"),
    "bbc_2005": Source(Kind.DIFFICULT, "reference"),
    "nltk_misc": Source(Kind.DIFFICULT, "reference"),
    "civilservice_lgbt": Source(Kind.ORDINARY, "reference"),
    "ethnic_sites": Source(Kind.ORDINARY, "reference"),
    "tech_docs": Source(Kind.ORDINARY, "reference"),
    "recipe_sites_html": Source(Kind.ORDINARY, "reference"),
    # Lent for evaluation only.
    "newsgroups": Source(Kind.DIFFICULT, None),
    "covid_pages": Source(Kind.DIFFICULT, None),
    "validation": Source(Kind.ORDINARY, None),
}

LAST = ("covid_pages", "validation")
"""Looked at when all choices are made, and only when asked for."""

RESERVED = frozenset({"usagov_html", "medquad", "wcxb", "tech_docs", "bible_6lang"})
"""Half of each is neither trained on nor used for a choice: cover pages must be pages that no model has seen."""

Pages = dict[str, list[Labelled]]
"""Name of a source -> its pages."""


def is_reserved(page: Labelled) -> bool:
    """Say whether a page belongs to the half that no model may see; its identifier alone decides.

    >>> page = Labelled((), 0, "", "", source="medquad", identifier="medquad:1_CancerGov_QA/0000001_1.xml")
    >>> is_reserved(page)
    False
    """
    return page.source in RESERVED and hashlib.sha256(page.identifier.encode()).digest()[0] % 2 == 1


def read_sources(data_dir: Path, *, version: int = VERSION, last: bool = False) -> Pages:
    """Read all sources of the data folder, without the reserved half, for a vocabulary of some version.

    `last`: also those that are looked at last.
    """
    paths = [*sorted(data_dir.glob("*.jsonl.gz")), *sorted((data_dir / "pages").glob("*.jsonl.gz"))]
    pages: Pages = {}
    for path in paths:
        name = path.name.removesuffix(".jsonl.gz")
        if name not in SOURCES:
            raise InputError(f"{path}: unknown source; add {name!r} to SOURCES in {Path(__file__).name}")
        if name in LAST and not last:
            continue
        read = read_unlabelled(path, version) if name == UNLABELLED else read_file(path, version)
        pages[name] = [page for page in read if not is_reserved(page)]
    if not pages:
        raise InputError(f"{data_dir}: no file ends in .jsonl.gz; name the folder that holds the development data")
    if last:
        pages["validation"] = validation_pages(version)
    return pages


def for_training(pages: Pages, *, without: str | None = None) -> Pages:
    """Return what may be trained on, without the sources of one group.

    Of the news, the training split; sections are left out, because they are composed of the same headlines.
    """
    return {
        name: [page for page in of_source if page.split in ("", "train")]
        for name, of_source in pages.items()
        if SOURCES[name].group not in (None, without) and name != "news_sections"
    }


def for_judging(pages: Pages, group: str | None) -> list[Labelled]:
    """Return the pages of one group, or of those never trained on; of the news, the test split."""
    return [
        page
        for name, of_source in pages.items()
        if SOURCES[name].group == group
        for page in of_source
        if SOURCES[name].group != "news" or page.split in ("", "test")
    ]


def groups(pages: Pages) -> Sequence[str]:
    """Return the groups that have pages, in the order of the table."""
    found = dict.fromkeys(source.group for name, source in SOURCES.items() if name in pages)
    return [group for group in found if group is not None]
