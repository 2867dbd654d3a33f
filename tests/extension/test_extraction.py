"""The words of real pages, as Python finds them and as the shipped content script does in a real Chromium.

Inline scripts of the pages run; what they ask other hosts for is not there. The worst, and why:

- wikia, yahoo-3: Python finds words of dialogues and of a player's menus that an embedded style sheet hides;
- youth, tmz-1, webmd-1: the browser shows markup that a script of the page writes ("&lt;script src=..."), because the
  copies of these pages have it escaped; and of youth and webmd-1, too, a style sheet hides words that Python finds.
"""

import json
import statistics
import tarfile
from pathlib import Path

import pytest

from eitr.pages import Page, tokens
from eitr.pages.encoding import decode
from eitr.pages.extract import extract

from .browser import Extension, until
from .site import Site


@pytest.fixture(scope="module")
def real_pages(shared_data: Path) -> dict[str, str]:
    with tarfile.open(shared_data / "html_pages.tar.gz") as archive:
        files = {member.name.split("/")[0]: archive.extractfile(member) for member in archive if member.isfile()}
        return {name: decode(file.read()) for name, file in files.items() if file is not None}


def reported(extension: Extension, site: Site, name: str, html: str) -> Page:
    host = f"{name.lower().replace('_', '-')}.test"
    tab = extension.context.new_page()
    try:
        tab.goto(site.put(host, "/", html), wait_until="commit")
        said = until(
            lambda: [one["page"] for one in extension.messages("page") if one["from"] == host],
            what=f"a report on {name}",
        )
    finally:
        tab.close()
        extension.record_messages()
    return Page(**said[0])


def overlap(one: set[str], other: set[str]) -> float:
    """Jaccard's: shared words of all words."""
    return len(one & other) / max(1, len(one | other))


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"])
def test_the_browser_leaves_out_the_same_menus_banners_and_footers(agreed, site, every):
    cases = json.loads((Path(__file__).parents[1] / "golden" / "structure.json").read_text("utf-8"))["cases"][::every]
    agreed.record_messages()
    found = {
        case["name"]: reported(agreed, site, f"case-{place}", f"<!doctype html><title>Case</title>{case['html']}").text
        for place, case in enumerate(cases)
    }
    lines = {name: [line.strip() for line in text.splitlines() if line.strip()] for name, text in found.items()}
    assert lines == {case["name"]: case["lines"] for case in cases}


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"])
def test_python_and_the_browser_find_the_same_words(real_pages, agreed, site, every):
    agreed.record_messages()
    ours = {
        name: (set(tokens(extract(html).content())), set(tokens(reported(agreed, site, name, html).content())))
        for name, html in list(real_pages.items())[::every]
    }
    rows = sorted((overlap(python, browser), name, python, browser) for name, (python, browser) in ours.items())
    shares = [row[0] for row in rows]
    print(f"\n{len(rows)} pages: median {statistics.median(shares):.3f}, mean {statistics.mean(shares):.3f}")
    for share, name, python, browser in rows[:5]:
        print(f"{share:.3f} {name}: only Python {len(python - browser)}, only the browser {len(browser - python)}")
    assert statistics.median(shares) >= 0.9
