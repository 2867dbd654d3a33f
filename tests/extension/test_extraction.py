"""The words of real pages, as Python finds them and as the shipped content script does in a real Chromium.

Inline scripts of the pages run; what they ask other hosts for is not there. The worst, and why:

- wikia, yahoo-3: Python finds words of dialogues and of a player's menus that an embedded style sheet hides;
- youth, tmz-1, webmd-1: the browser shows markup that a script of the page writes ("&lt;script src=..."), because the
  copies of these pages have it escaped; and of youth and webmd-1, too, a style sheet hides words that Python finds.
"""

import statistics
import tarfile
from pathlib import Path
from typing import Any

import pytest

from eitr.pages import Page, tokens
from eitr.pages.encoding import decode
from eitr.pages.extract import extract

from .browser import until
from .running import running_extension
from .site import Site, served

LISTEN = """() => {
  globalThis.reports = new Map();
  chrome.runtime.onMessage.addListener((message, sender) => {
    if (message?.kind === "page") globalThis.reports.set(new URL(sender.url).hostname, message.page);
  });
}"""
"""What content scripts say reaches every page of the extension: this one writes it down."""


@pytest.fixture(scope="module")
def real_pages(shared_data: Path) -> dict[str, str]:
    with tarfile.open(shared_data / "html_pages.tar.gz") as archive:
        files = {member.name.split("/")[0]: archive.extractfile(member) for member in archive if member.isfile()}
        return {name: decode(file.read()) for name, file in files.items() if file is not None}


@pytest.fixture(scope="module")
def found(real_pages: dict[str, str]) -> dict[str, Page]:
    """Every page as the content script reported it first."""
    with served() as site, running_extension() as extension:
        extension.desk.evaluate(LISTEN)
        return {name: reported(extension, site, name, html) for name, html in real_pages.items()}


def reported(extension: Any, site: Site, name: str, html: str) -> Page:
    host = f"{name.lower().replace('_', '-')}.test"
    tab = extension.context.new_page()
    try:
        tab.goto(site.put(host, "/", html), wait_until="commit")
        said = until(
            lambda: extension.desk.evaluate("(host) => globalThis.reports.get(host)", host),
            seconds=60,
            what=f"a report on {name}",
        )
    finally:
        tab.close()
    return Page(**said)


def overlap(one: set[str], other: set[str]) -> float:
    """Jaccard's: shared words of all words."""
    return len(one & other) / max(1, len(one | other))


def test_python_and_the_browser_find_the_same_words(real_pages, found):
    ours = {
        name: (set(tokens(extract(html).content())), set(tokens(found[name].content())))
        for name, html in real_pages.items()
    }
    rows = sorted((overlap(python, browser), name, python, browser) for name, (python, browser) in ours.items())
    shares = [row[0] for row in rows]
    print(f"\n{len(rows)} pages: median {statistics.median(shares):.3f}, mean {statistics.mean(shares):.3f}")
    for share, name, python, browser in rows[:5]:
        print(f"{share:.3f} {name}: only Python {len(python - browser)}, only the browser {len(browser - python)}")
    assert statistics.median(shares) >= 0.9
