"""The letter on the icon is that of the page that is shown, whatever the page, the tab and the worker do."""

import pytest
from playwright.sync_api import Error

from .browser import until
from .pages import FOOTBALL, HEALTH, RELIGION, tracked

LATE_REPORT = """({ id, tab, url }) => new Promise((answered) => {
  const text = "the insulin for diabetes in a hospital ".repeat(50);
  const page = { title: "Diabetes", description: "", keywords: "", text };
  const sender = { id: chrome.runtime.id, frameId: 0, url, documentId: id, documentLifecycle: "active",
    tab: { id: tab, incognito: false } };
  chrome.runtime.onMessage.dispatch({ kind: "page", page }, sender, answered);
})"""


def drawn_by_a_new_worker(extension, page, tab):
    """Stop the worker, show the tab, which starts a new one, and return the badge that this one draws."""
    extension.kill_worker()
    extension.desk.evaluate("(tabId) => chrome.action.setBadgeText({ tabId, text: 'old' })", tab)
    extension.context.new_page()
    page.bring_to_front()
    badge = "(tabId) => chrome.action.getBadgeText({ tabId })"
    until(lambda: extension.desk.evaluate(badge, tab) != "old", what="a new badge")
    return extension.desk.evaluate(badge, tab)


def test_the_badge_follows_the_page_through_history_and_navigation_within_it(agreed, site):
    health, religion = site.put("clinic.test", "/", HEALTH), site.put("church.test", "/", RELIGION)
    page = agreed.context.new_page()
    page.goto(health)
    agreed.wait_for_badge(page, "H")
    page.goto(religion)
    agreed.wait_for_badge(page, "R")
    page.go_back()
    agreed.wait_for_badge(page, "H")
    page.go_forward()
    agreed.wait_for_badge(page, "R")
    page.evaluate(
        """(html) => {
          history.pushState({}, "", "/match");
          document.title = "Football";
          document.body.innerHTML = html;
        }""",
        FOOTBALL,
    )
    agreed.wait_for_badge(page, "")
    agreed.wait_until_read(page)
    assert agreed.badge(page) == ""


def test_the_badge_outlives_the_worker(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    agreed.kill_worker()
    assert agreed.badge(page) == "H2"
    view = agreed.view(page)
    assert (view["state"], view["shown"], len(view["trackers"])) == ("ready", 0, 2)
    agreed.kill_worker()
    page.goto(site.put("church.test", "/", RELIGION))
    agreed.wait_for_badge(page, "R")


@pytest.mark.parametrize("known", [True, False], ids=["seen before", "never seen"])
def test_a_late_word_of_a_page_that_was_left_changes_nothing(agreed, site, known):
    """The message is handed to the worker's own listener: in a browser it is late by chance only."""
    address = site.put("clinic.test", "/", HEALTH)
    page = agreed.context.new_page()
    page.goto(address)
    agreed.wait_for_badge(page, "H")
    old = agreed.view(page)["document"]
    page.goto(site.put("match.test", "/", FOOTBALL))
    agreed.wait_until_read(page)
    worker, tab = agreed.worker_is_ready(), agreed.tab(page)
    late = {"id": old if known else "0" * 32, "tab": tab, "url": address}
    assert worker.evaluate(LATE_REPORT, late) == {"marks": False}
    assert agreed.badge(page) == ""
    view = agreed.view(page)
    assert (view["host"], view["state"]) == ("match.test", "ready")
    # The same words from the page that is shown do change the badge: it was not the message that was wrong.
    worker.evaluate(LATE_REPORT, {"id": view["document"], "tab": tab, "url": page.url})
    agreed.wait_for_badge(page, "H")


def test_an_error_of_the_browser_has_no_letter(agreed, site):
    """Chromium tells of such a page by another event than of those that came."""
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    tab = agreed.tab(page)
    with pytest.raises(Error, match="ERR_"):
        page.goto("http://dead.test:1/")
    until(
        lambda: f"tab:{tab}" not in agreed.desk.evaluate("chrome.storage.session.get(null)"),
        what="the tab to be forgotten",
    )
    assert drawn_by_a_new_worker(agreed, page, tab) == ""
    ask = agreed.asking("popup")
    assert ask({"kind": "popup", "tab": tab})["state"] == "not-a-page"


def test_after_a_download_the_page_still_has_its_letter(agreed, site):
    address = site.put("clinic.test", "/file", "bytes", kind="application/octet-stream")
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    with page.expect_download():
        page.evaluate("(to) => { location = to }", address)
    agreed.worker_has_finished()
    assert agreed.badge(page) == "H"
    assert agreed.view(page)["shown"] == 0


def test_an_article_that_arrives_long_after_its_address_gets_its_own_letter(agreed, site):
    """Title and length stay as they were, as in an application that draws its pages itself."""
    page = agreed.context.new_page()
    length = max(len(HEALTH), len(RELIGION))
    page.goto(site.put("app.test", "/", f"<!doctype html><title>App</title><main>{HEALTH:{length}}</main>"))
    agreed.wait_for_badge(page, "H")
    page.evaluate(
        """(html) => {
          history.pushState({}, "", "/next");
          setTimeout(() => { document.querySelector("main").innerHTML = html }, 800);
        }""",
        f"{RELIGION:{length}}",
    )
    agreed.wait_for_badge(page, "R")
    assert agreed.view(page)["url"].endswith("/next")


def test_full_memory_takes_no_letter_away_and_leaves_none_behind(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    agreed.desk.evaluate(
        """async () => {
          let size = 5 << 20;
          for (let n = 0; size > 64; n += 1)
            await chrome.storage.session.set({ [`full${n}`]: "x".repeat(size) }).catch(() => { size >>= 1 });
        }"""
    )
    page.goto(site.put("church.test", "/", RELIGION))
    agreed.wait_for_badge(page, "R")
    assert drawn_by_a_new_worker(agreed, page, agreed.tab(page)) in ("", "R"), "never the letter of the page before"


def test_a_page_that_moved_on_is_not_labelled_for_the_one_before(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    view = agreed.view(page)
    page.evaluate("history.pushState({}, '', '/other')")
    until(lambda: agreed.view(page)["url"].endswith("/other"), what="the new address")
    desk = agreed.open("popup", "?tab=-1")
    told = desk.evaluate(
        "(wish) => chrome.runtime.sendMessage(wish)",
        {"kind": "label", "document": view["document"], "url": view["url"], "label": 2},
    )
    assert told == {"ok": False, "problem": "problem_page_gone"}
