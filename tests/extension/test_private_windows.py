"""Private windows are left alone: nothing is read, blocked, asked, remembered or noted there."""

import re
from typing import Any

import pytest

from .browser import Extension, until
from .history_page import switch_on
from .pages import HEALTH
from .site import Site
from .test_blocking import TRACKERS, arrived, change, visit, with_trackers

OPEN = "(window) => chrome.windows.create(window).then(() => null)"
DATABASE = """() => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const { result: database } = opening;
    const names = [...database.objectStoreNames];
    const found = {};
    const reading = database.transaction(names);
    for (const name of names) {
      const all = reading.objectStore(name).getAll();
      all.onsuccess = () => { found[name] = JSON.stringify(all.result) };
    }
    reading.oncomplete = () => { database.close(); done(found) };
  };
})"""


def kept(extension: Extension) -> dict[str, Any]:
    """Return everything that the extension keeps, on the disk and in memory, and all rules of the browser."""
    extension.worker_has_finished()
    get = """async () => [await chrome.storage.session.get(null), await chrome.declarativeNetRequest.getDynamicRules(),
      await chrome.declarativeNetRequest.getSessionRules()]"""
    return {"memory and rules": extension.desk.evaluate(get), **extension.desk.evaluate(DATABASE)}


def leading_to(address: str) -> str:
    """A script that goes elsewhere when a content script, which waits for an idle moment, would have read the page."""
    go = f"location = '{address}'"
    wait = f"requestIdleCallback(() => setTimeout(() => {{ {go} }}, 1500), {{ timeout: 9000 }})"
    return f"<script>onload = () => {wait}</script>"


@pytest.fixture
def everything_on(agreed: Extension) -> Extension:
    """The extension of somebody who has switched on everything that it can do."""
    switch_on(agreed)
    change(agreed, blocking=True, warnings=True, linkMarks=True, privacyControl=True)
    return agreed


def tour(extension: Extension, site: Site, *, private: bool) -> None:
    """Go from a sensitive page that is new to a host that is known, in a window that Playwright may not see."""
    known = site.put("clinic.test", "/", with_trackers(site, HEALTH, leading_to("/left")))
    new = site.put("nurses.test", "/", with_trackers(site, HEALTH, leading_to(known)))
    site.asked.clear()
    site.headers.clear()
    extension.desk.evaluate(OPEN, {"incognito": private, "url": new})


def test_nothing_at_all_happens_in_private_windows(everything_on, site):
    page = everything_on.context.new_page()
    visit(everything_on, page, site.put("clinic.test", "/", with_trackers(site, HEALTH)))
    page.goto("about:blank")
    before = kept(everything_on)
    assert len(before["hosts"]) > 2, "the host is known"
    tour(everything_on, site, private=True)
    until(lambda: "/left" in site.asked_of("clinic.test"), what="the window to leave the known host unasked")
    # Of both pages everything arrived, and no request said more than it does without the extension.
    assert arrived(site) == sorted((*TRACKERS, *TRACKERS))
    assert site.headers_of("Sec-GPC") == {None}
    assert kept(everything_on) == before
    assert not [tab for tab in everything_on.desk.evaluate("chrome.tabs.query({})") if tab["incognito"]]


def test_the_same_in_an_ordinary_window_changes_all_of_that(everything_on, site):
    """Otherwise the test above could not fail."""
    page = everything_on.context.new_page()
    visit(everything_on, page, site.put("clinic.test", "/", with_trackers(site, HEALTH)))
    page.goto("about:blank")
    before = kept(everything_on)
    with everything_on.context.expect_page() as opened:
        tour(everything_on, site, private=False)
    opened.value.wait_for_url(re.compile(r"/warning\.html#"))
    assert site.asked_of("clinic.test") == [], "the warning comes first"
    assert site.headers_of("Sec-GPC") == {"1"}
    after = kept(everything_on)
    assert {name for name in after if after[name] != before[name]} >= {"memory and rules", "hosts", "seen", "visits"}
    opened.value.click("#continue")
    until(lambda: "/left" in site.asked_of("clinic.test"), what="the window to leave the known host")
    assert arrived(site) == sorted(TRACKERS), "only the page that was new reached them"
