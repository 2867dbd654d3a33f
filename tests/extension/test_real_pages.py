"""Real pages in a real Chromium: the badge says what Python says of them, and trackers are those in the page."""

import gzip
import html
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from eitr.model.classifier import Classifier
from eitr.pages import Page
from eitr.taxonomy import NAMES, TOPICS

from .browser import Extension
from .test_extraction import real_pages  # noqa: F401 (a fixture)

SOME = pytest.mark.parametrize("share", [1, pytest.param(3, marks=pytest.mark.long)], ids=["some", "more"])
WHOLE = 4


@pytest.fixture
def reader(module_extension: Extension) -> Extension:
    return module_extension


def letter(page: Page) -> str:
    """What the badge must say, but for trackers."""
    shown = Classifier.shipped().classify([page])[0].shown
    return TOPICS[NAMES.index(shown)].letter if shown else ""


def sections(data: Path, each: int) -> Iterator[tuple[Page, str]]:
    """A few test pages of every class."""
    with gzip.open(data / "news_sections.jsonl.gz", "rt") as lines:
        rows = [row for row in map(json.loads, lines) if row["split"] == "test"]
    for name in NAMES:
        for row in itertools.islice((row for row in rows if row["label"] == name), each):
            yield Page(title=row["title"], text=row["text"]), name


@SOME
def test_pages_of_a_news_site_get_the_letter_that_python_gives_them(reader, site, shared_data, share):
    right = 0
    for place, (page, name) in enumerate(sections(shared_data, share)):
        tab = reader.context.new_page()
        shown = "".join(f"<p>{html.escape(line)}</p>" for line in page.text.splitlines())
        tab.goto(site.put(f"news{place}.test", "/", f"<!doctype html><title>{html.escape(page.title)}</title>{shown}"))
        reader.wait_until_read(tab)
        reader.wait_for_badge(tab, letter(page))
        right += reader.badge(tab) == TOPICS[NAMES.index(name)].letter
        tab.close()
    print(f"{right} of {share * len(NAMES)} letters are those of the page's section")
    assert right > share * len(NAMES) / 2


@SOME
def test_trackers_of_whole_real_pages_are_counted_on_the_first_load(reader, site, real_pages, share):  # noqa: F811
    watched = 0
    for name, source in itertools.islice(real_pages.items(), share * WHOLE):
        tab = reader.context.new_page()
        tab.goto(site.put(f"{name.lower().replace('_', '-')}.test", "/", source), wait_until="commit")
        reader.wait_until_read(tab)
        hosts = [host for party in reader.view(tab)["trackers"] for host in party["hosts"]]
        watched += bool(hosts)
        assert all(".".join(host.split(".")[-2:]) in source for host in hosts), (name, hosts)
        tab.close()
    print(f"{watched} of {share * WHOLE} pages let known trackers look on")
    assert watched > 0
