"""Every page of the extension in each of its states, for tests of what people see and for pictures."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from .browser import Extension, unpacked, until
from .federation import Federation, Study
from .pages import FOOTBALL
from .site import Site

SAMPLE = Path(__file__).resolve().parents[2] / "src" / "eitr" / "assets" / "sample.html"
TRACKERS = ("www.google-analytics.com", "connect.facebook.net", "static.criteo.net", "cdn.jsdelivr.net")
LONG_TITLE = "How people understand sensitive pages: a study with web pages about the COVID-19 pandemic"
CANNOT_TELL = (
    "<!doctype html><title>Notes</title><p>The church of the hospital was painted before the election of the team.</p>"
)


@contextmanager
def in_language(language: str) -> Iterator[Path]:
    """The extension as people see it whose browser speaks a language.

    Chromium only speaks those it has files of, often English alone: the sentences are put in the place of the English.
    """
    with tempfile.TemporaryDirectory() as here:
        folder = Path(here) / "extension"
        shutil.copytree(unpacked(), folder)
        spoken = (folder / "_locales" / language / "messages.json").read_bytes()
        (folder / "_locales" / "en" / "messages.json").write_bytes(spoken)
        yield folder


def states(extension: Extension, site: Site, server: Federation) -> Iterator[tuple[str, Page]]:
    """Go through all states, in the order in which a person would; the browser is one in which nobody agreed yet."""
    yield from _before_consent(extension, site)
    extension.consent(server=server.address)
    yield from _popups(extension, site)
    yield from _learning(extension, server)
    yield from _studies(extension, site, server)
    yield from _warnings(extension, site)


@contextmanager
def _shown(extension: Extension, address: str) -> Iterator[Page]:
    page = extension.context.new_page()
    page.goto(address)
    try:
        yield page
    finally:
        page.close()


@contextmanager
def _open(extension: Extension, name: str, query: str = "") -> Iterator[Page]:
    page = extension.open(name, query)
    try:
        yield page
    finally:
        page.close()


def _before_consent(extension: Extension, site: Site) -> Iterator[tuple[str, Page]]:
    with _open(extension, "welcome") as page:
        yield "welcome", page
        page.check("#contributing")
        yield "welcome-contributing", page
        page.click("#save")
        until(lambda: page.text_content("#status"), what="a complaint")
        yield "welcome-problem", page
        page.fill("#link", "https://eitr.example.org/join#invitation=c0de&study=covid")
        page.press("#link", "Tab")
        until(lambda: page.input_value("#invitation"), what="the code")
        yield "welcome-link", page
    with _open(extension, "popup", "?tab=-1") as page:
        yield "popup-no-consent", page
    with _open(extension, "options") as page:
        yield "options-new", page
    with _open(extension, "sent") as page:
        yield "sent-empty", page


def _popups(extension: Extension, site: Site) -> Iterator[tuple[str, Page]]:
    with _open(extension, "popup", "?tab=-1") as popup:
        yield "popup-not-a-page", popup
    pictures = "".join(f'<img src="{site.address(host, "/dot.gif")}" alt="">' for host in TRACKERS)
    health = SAMPLE.read_text("utf-8").replace("</body>", f"{pictures}</body>")
    with _shown(extension, site.put("clinic.test", "/", health)) as page:
        extension.wait_for_badge(page, "H!")
        yield from _popup(extension, page, "popup-sensitive-trackers")
        with _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
            popup.select_option("#topic", "2")
            popup.click("#correct")
            popup.wait_for_selector("#take-back")
            yield "popup-corrected", popup
    with _shown(extension, site.put("match.test", "/", FOOTBALL)) as page:
        extension.wait_until_read(page)
        yield from _popup(extension, page, "popup-not-sensitive")
        with _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
            popup.uncheck("#site-on")
            popup.wait_for_selector("#opinion", state="hidden")
            yield "popup-off", popup
    with _shown(extension, site.put("notes.test", "/", CANNOT_TELL)) as page:
        extension.wait_until_read(page)
        yield from _popup(extension, page, "popup-cannot-tell")
    extension.desk.evaluate("chrome.scripting.unregisterContentScripts()")
    with _shown(extension, site.put("slow.test", "/", FOOTBALL)) as page:
        yield from _popup(extension, page, "popup-waiting")


def _popup(extension: Extension, page: Page, name: str) -> Iterator[tuple[str, Page]]:
    with _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
        yield name, popup


def _learning(extension: Extension, server: Federation) -> Iterator[tuple[str, Page]]:
    extension.store_labelled_pages(12)
    for turn in (1, 2):
        server.round = turn
        extension.learn()
    server.publish()
    extension.learn()
    ask = extension.asking("options")
    ask({"kind": "change", "settings": {"unwarnedSites": ["newspaper.test"]}})
    ask({"kind": "import-list", "name": "my-trackers.txt", "text": "||evil.test^\nads.example.org\n"})
    with _open(extension, "options") as page:
        yield "options", page
        page.click("#erase")
        yield "options-erase", page
    with _open(extension, "sent") as page:
        yield "sent", page
    with _open(extension, "popup", "?tab=-1") as page:
        page.wait_for_selector("#news")
        yield "popup-news", page


def _studies(extension: Extension, site: Site, server: Federation) -> Iterator[tuple[str, Page]]:
    urls = [site.put("ward.test", f"/{number}", SAMPLE.read_text("utf-8")) for number in range(3)]
    study = server.study = Study(*urls, title=LONG_TITLE, uses_per_page=10)
    server.spoiled["/join"] = (200, FOOTBALL.encode(), {"Content-Type": "text/html"})
    link = f"{server.address}/join#invitation=c0de&study=covid"
    with _shown(extension, link) as page, _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
        popup.wait_for_selector("#join", state="visible")
        yield "popup-join", popup
    extension.asking("options")({"kind": "change", "settings": {"studies": True}})
    until(lambda: extension.asking("popup")({"kind": "popup", "tab": -1})["study"], what="the study")
    with _open(extension, "popup", "?tab=-1") as popup:
        yield "popup-study", popup
        popup.click("#study-more summary")
        yield "popup-limit", popup
    with _shown(extension, urls[0]) as page:
        extension.wait_until_read(page)
        with _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
            yield "popup-task", popup
            popup.select_option("#topic", "2")
            popup.click("#correct")
            until(lambda: popup.is_hidden("#task-skip"), what="the answer")
            yield "popup-task-answered", popup
    study.facts |= {"hide_prediction": False, "collect": True}
    extension.learn()
    with _shown(extension, urls[1]) as page:
        extension.wait_for_badge(page, "H")
        with _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
            yield "popup-task-prediction", popup
            popup.click("#agree")
            until(lambda: popup.is_hidden("#task-skip"), what="the answer")
    with _open(extension, "options") as page:
        page.wait_for_selector("#study", state="visible")
        yield "options-study", page
    until(lambda: study.tasks[1]["state"] == "labelled", what="the answer")
    with _open(extension, "sent") as page:
        page.wait_for_selector("#answers li")
        yield "sent-study", page
    study.tasks[2]["state"] = "skipped"
    extension.learn()
    with _open(extension, "popup", "?tab=-1") as popup:
        popup.wait_for_selector("#study-end", state="visible")
        yield "popup-study-finished", popup
    study.facts["status"] = "closed"
    extension.learn()
    with _open(extension, "popup", "?tab=-1") as popup:
        yield "popup-study-closed", popup


def _warnings(extension: Extension, site: Site) -> Iterator[tuple[str, Page]]:
    target = site.address("clinic.test", "/article?id=" + json.dumps("long").strip('"') * 12)
    with _open(extension, "warning", f"#{target}") as page:
        until(lambda: page.is_visible("#continue"), what="the warning")
        yield "warning", page
    with _open(extension, "warning", "#https://elsewhere.test/") as page:
        yield "warning-unknown", page
