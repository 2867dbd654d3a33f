"""Every page of the extension in each of its states, for tests of what people see and for pictures."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from .browser import Extension, unfold, unpacked, until
from .federation import Federation, Study
from .pages import FOOTBALL
from .site import Site
from .week import days_ago, store

SAMPLE = Path(__file__).resolve().parents[2] / "src" / "eitr" / "assets" / "sample.html"
TRACKERS = ("www.google-analytics.com", "connect.facebook.net", "static.criteo.net", "cdn.jsdelivr.net")
MANY_TRACKERS = (
    "www.google-analytics.com",
    "connect.facebook.com",
    "static.criteo.com",
    "c.amazon-adsystem.com",
    "cdn.taboola.com",
    "widgets.outbrain.com",
    "static.hotjar.com",
    "ads.rubiconproject.com",
    "ads.pubmatic.com",
    "ssum.casalemedia.com",
    "js.adsrvr.org",
    "assets.adobedtm.com",
    "pixel.quantcount.com",
    "sb.comscore.com",
    "static.chartbeat.com",
    "px.licdn.com",
    "ct.pinterest.com",
    "static.twimg.com",
    "analytics.tiktok.com",
    "tr.snapchat.com",
    "js.hs-scripts.com",
    "idsync.rlcdn.com",
    "s.eloqua.com",
    "player.vimeo.com",
)
"""Hosts of 24 companies that track people."""
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
    yield from _history(extension)


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
        unfold(page, "#invited")
        yield "welcome-invited", page
        unfold(page, "#other")
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
        extension.wait_for_badge(page, "H3")
        yield from _popup(extension, page, "popup-sensitive-trackers")
        with _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
            unfold(popup, "#why")
            unfold(popup, "#who")
            yield "popup-unfolded", popup
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
    yield from _many_companies(extension, site)
    with _shown(extension, site.put("match.test", "/again", FOOTBALL)) as page:
        yield from _paused(extension, page)
    with _shown(extension, site.put("notes.test", "/", CANNOT_TELL)) as page:
        extension.wait_until_read(page)
        yield from _popup(extension, page, "popup-cannot-tell")
    extension.desk.evaluate("chrome.scripting.unregisterContentScripts()")
    with _shown(extension, site.put("slow.test", "/", FOOTBALL)) as page:
        yield from _popup(extension, page, "popup-waiting")


def _many_companies(extension: Extension, site: Site) -> Iterator[tuple[str, Page]]:
    """A page as news sites have them, and what the popup shows where everything is blocked that can be."""
    pictures = "".join(f'<img src="{site.address(host, "/dot.gif")}" alt="">' for host in MANY_TRACKERS)
    health = SAMPLE.read_text("utf-8").replace("</body>", f"{pictures}</body>")
    with _shown(extension, site.put("portal-of-the-university-hospital.test", "/", health)) as page:
        extension.wait_for_badge(page, f"H{len(MANY_TRACKERS)}")
        with _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
            yield "popup-24", popup
            unfold(popup, "#who")
            yield "popup-24-companies", popup
            # As it looks when everything is blocked that can be.
            popup.evaluate("""() => {
              document.querySelector("#blocked").textContent = chrome.i18n.getMessage("popup_blocked", ["124"]);
              document.querySelector("#allow").hidden = false;
            }""")
            yield "popup-24-blocked", popup
            popup.select_option("#topic", "2")
            popup.click("#correct")
            popup.wait_for_selector("#take-back", state="visible")
            yield "popup-24-corrected", popup
            unfold(popup, "#who")
            yield "popup-24-corrected-companies", popup
            popup.click("#take-back")
            popup.wait_for_selector("#take-back", state="hidden")
            yield "popup-24-taken-back", popup
            unfold(popup, "#who")
            popup.evaluate("() => { document.querySelector('#allow').hidden = false }")
            with page.expect_event("load"):
                popup.click("#allow")
            extension.wait_for_badge(page, f"H{len(MANY_TRACKERS)}")
            until(lambda: str(len(MANY_TRACKERS)) in popup.inner_text("#tracker-count"), what="the companies")
            yield "popup-24-allowed", popup
    with _shown(extension, site.put("stadium.test", "/", FOOTBALL + pictures)) as page:
        extension.wait_until_read(page)
        extension.worker_has_finished()
        with _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
            popup.select_option("#topic", "4")
            popup.click("#correct")
            popup.wait_for_selector("#take-back", state="visible")
            unfold(popup, "#who")
            yield "popup-24-called-sensitive", popup


def _paused(extension: Extension, page: Page) -> Iterator[tuple[str, Page]]:
    with _open(extension, "popup", f"?tab={extension.tab(page)}") as popup:
        popup.click("#pause")
        popup.wait_for_selector("#resume", state="visible")
        yield "popup-paused", popup
        with _open(extension, "options") as options:
            yield "options-paused", options
        popup.click("#resume")
        popup.wait_for_selector("#pause", state="visible")


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
    ask({"kind": "change", "settings": {"unwarnedSites": ["newspaper.test"], "unblockedSites": ["shop.test"]}})
    ask({"kind": "import-list", "name": "my-trackers.txt", "text": "||evil.test^\nads.example.org\n"})
    with _open(extension, "options") as page:
        yield "options", page
        unfold(page, "#remembered")
        yield "options-hosts", page
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


def _history(extension: Extension) -> Iterator[tuple[str, Page]]:
    with _open(extension, "history") as page:
        yield "history-off", page
        page.click("#start")
        page.wait_for_selector("#keeping", state="visible")
        yield "history-empty", page
    store(extension, [days_ago(day) for day in (0, 0, 0, 1, 1, 4, 9)], companies=16)
    for number in range(10):
        store(
            extension, [days_ago(60)] * (number + 1), site=f"site-with-a-long-name-{number}.test", companies=1 + number
        )
    with _open(extension, "history") as page:
        yield "history", page
        page.click("#show-companies")
        page.click("#show-sites")
        page.click("details summary")
        yield "history-all", page
        page.click("#matrix tbody button")
        page.wait_for_selector("#cell", state="visible")
        yield "history-cell", page
        page.click("#cell-close")
        page.click("#delete-all")
        page.uncheck("#on")
        page.wait_for_selector("#stopped", state="visible")
        yield "history-stopped", page


def _warnings(extension: Extension, site: Site) -> Iterator[tuple[str, Page]]:
    target = site.address("clinic.test", "/article?id=" + json.dumps("long").strip('"') * 12)
    with _open(extension, "warning", f"#{target}") as page:
        until(lambda: page.is_visible("#continue"), what="the warning")
        yield "warning", page
    with _open(extension, "warning", "#https://elsewhere.test/") as page:
        yield "warning-unknown", page
