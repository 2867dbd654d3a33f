"""What the extension shows on whole real pages with labels, in Chromium, and where Python answers differently.

    python -m benchmarks.extension_verdicts [--data-dir DATA] [--every N] [--tabs N] [--to FILE]

Writes docs/classifier/browser.md and bench-out/extension_verdicts.json: identifiers, labels and answers, no text.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright

from benchmarks.extension_pages import DATA
from benchmarks.labelled_pages import LabelledPage, saved_pages, source_pages
from benchmarks.verdict_report import Answer, Result, counts, report
from eitr.model.classifier import Classifier
from eitr.pages import Page
from eitr.pages.extract import extract
from eitr.taxonomy import NAMES, NON_SENSITIVE, TOPICS
from tests.extension.browser import Extension, chromium_with_extension, until
from tests.extension.site import Site, served

ROOT = Path(__file__).resolve().parents[1]
TABS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=DATA, help="the folder of the development data")
    parser.add_argument("--every", type=int, default=1, help="take only every Nth page")
    parser.add_argument("--tabs", type=int, default=TABS, help="how many pages are open at a time")
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "classifier" / "browser.md", help="the report")
    given = parser.parse_args()
    pages = [*saved_pages(given.data_dir), *source_pages(given.data_dir)][:: given.every]
    began = time.monotonic()
    with sync_playwright() as playwright, served() as site, chromium_with_extension(playwright) as extension:
        extension.consent()
        version = extension.context.browser.version if extension.context.browser else ""
        results = list(verdicts(extension, site, pages, given.tabs))
    seconds = time.monotonic() - began
    print(f"{len(pages)} pages in {seconds:.0f} s; {dict(zip(('pages', 'right'), counts(results), strict=False))}")
    (ROOT / "bench-out").mkdir(exist_ok=True)
    (ROOT / "bench-out" / "extension_verdicts.json").write_text(
        json.dumps([{**asdict(result), "outcome": result.outcome} for result in results], indent=1), "utf-8"
    )
    setting = f"Chromium {version}; {len(pages)} pages, {given.tabs} at a time, in {seconds:.0f} s."
    given.to.write_text(report(results, setting), "utf-8")


def verdicts(extension: Extension, site: Site, pages: Sequence[LabelledPage], tabs: int) -> Iterator[Result]:
    """Show all pages, a few at a time, and yield what was said about each."""
    classifier = Classifier.shipped()
    numbered = list(enumerate(pages))
    for first in range(0, len(pages), tabs):
        extension.record_messages()
        batch = numbered[first : first + tabs]
        opened = [(place, page, opened_tab(extension, site, place, page)) for place, page in batch]
        for place, page, tab in opened:
            answer = shown_answer(extension, tab)
            python = answer_of(classifier, extract(page.html))
            yield Result(
                page.identifier,
                page.source,
                page.label,
                page.trained_on,
                page.doubtful,
                answer,
                python,
                "" if answer.agrees(python) else difference(classifier, extension, tab, place, page, answer),
            )
            tab.close()
            print(f"{place + 1} of {len(pages)}: {page.source}, {page.identifier}", file=sys.stderr)


def host_of(place: int) -> str:
    """Return a page's host: each has its own, or the warning would stand before some of them."""
    return f"page-{place}.test"


def opened_tab(extension: Extension, site: Site, place: int, page: LabelledPage) -> Tab:
    """Start to show a page in a new tab."""
    tab = extension.context.new_page()
    tab.goto(site.put(host_of(place), "/", page.html), wait_until="commit")
    return tab


def shown_answer(extension: Extension, tab: Tab) -> Answer:
    """Wait for the verdict on a page, and return what the popup is told, after a check that the badge says the same."""
    extension.wait_until_read(tab)
    view = extension.view(tab)
    verdict, shown = view["verdict"], view["shown"]
    letter = "" if shown is None else TOPICS[shown].letter
    until(lambda: extension.badge(tab).removesuffix("!") == letter, what=f"the badge {letter!r} on {tab.url}")
    return Answer(
        None if shown is None else NAMES[shown],
        view["cannotTell"],
        verdict["probabilities"][verdict["topic"]],
        verdict["language"],
        verdict["knownWords"],
    )


def answer_of(classifier: Classifier, page: Page) -> Answer:
    """Return what Python says of a page."""
    found = classifier.classify([page])[0]
    shown = None if found.cannot_tell else found.shown or NAMES[NON_SENSITIVE]
    return Answer(shown, found.cannot_tell, found.probabilities[found.label], found.language, found.known_words)


def difference(
    classifier: Classifier, extension: Extension, tab: Tab, place: int, page: LabelledPage, answer: Answer
) -> str:
    """Return why Python answers differently: it judges what the browser read, and what scripts made of the page."""
    read: list[dict[str, Any]] = [one["page"] for one in extension.messages("page") if one["from"] == host_of(place)]
    if not any(answer_of(classifier, Page(**one)).agrees(answer) for one in read):
        return "the same text is judged differently"
    if answer_of(classifier, extract(tab.content())).agrees(answer):
        return "scripts change the page" if "<script" in page.html.lower() else "broken markup is parsed differently"
    return "the browser reads other lines of the page"


if __name__ == "__main__":
    main()
