"""The extension in a real Chromium: installed, agreed to, shown pages, corrected, and asked before the second visit."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .site import Site, served

playwright = pytest.importorskip("playwright.sync_api", reason="no browser to test with")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
HEALTH = (ROOT / "src" / "eitr" / "assets" / "sample.html").read_text("utf-8")
RELIGION = """<!doctype html><title>Prayers in the church</title><p>The bishop led the prayers; the faithful sang
hymns and read the Bible and the gospel, and the priest spoke of God, of Jesus Christ, sin and salvation.</p>"""
FOOTBALL = """<!doctype html><title>Football</title><p>The match ended two to one after a goal in the last minute. The
team played well, the coach praised the goalkeeper, and the fans sang in the stadium.</p>"""
TRACKERS = ("www.google-analytics.com", "connect.facebook.net")
NO_TRACKER = "cdn.jsdelivr.net"


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    with playwright.sync_playwright() as found:
        yield found


@pytest.fixture
def site() -> Iterator[Site]:
    with served() as found:
        yield found


@pytest.fixture
def extension(started: Any) -> Iterator[Any]:
    from .browser import chromium_with_extension

    try:
        with chromium_with_extension(started) as found:
            yield found
    except playwright.Error as error:
        if "executable doesn't exist" in str(error).lower():
            pytest.skip("no Chromium to test with")
        raise


@pytest.fixture
def agreed(extension: Any) -> Any:
    extension.consent()
    return extension


def tracked(site: Site, html: str) -> str:
    """The page with pictures of two companies that follow people, and of one that does not."""
    pictures = "".join(f'<img src="{site.address(host, "/dot.gif")}" alt="">' for host in (*TRACKERS, NO_TRACKER))
    return html.replace("</body>", f"{pictures}</body>")


def test_before_anybody_agreed_nothing_is_ticked_read_or_asked(extension, site):
    welcome = next(page for page in extension.context.pages if "/welcome/" in page.url)
    boxes = welcome.locator("input[type=checkbox]")
    assert [boxes.nth(place).is_checked() for place in range(boxes.count())] == [False] * 3
    page = extension.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    page.wait_for_timeout(1500)
    assert extension.badge(page) == ""
    assert extension.view(page)["state"] == "no-consent"
    assert extension.desk.evaluate("chrome.scripting.getRegisteredContentScripts()") == []
    assert extension.desk.evaluate("chrome.storage.session.get(null)") == {}


def test_who_agrees_to_nothing_gets_nothing(extension, site):
    extension.consent(classifying=False)
    page = extension.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    page.wait_for_timeout(1000)
    assert extension.badge(page) == ""
    assert extension.view(page)["state"] == "no-consent"


def test_pages_that_were_open_when_somebody_agreed_are_read_too(extension, site):
    page = extension.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    extension.consent()
    extension.wait_for_badge(page, "H")
    assert extension.view(page)["shown"] == 0


def test_the_badge_and_the_popup_say_what_the_page_is_about(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    assert "health, illness or medical care" in agreed.spoken(page)
    popup = agreed.popup(page)
    assert "This page is about health" in popup.inner_text("#verdict")
    assert "diabetes" in popup.inner_text("#words")
    assert "No known trackers" in popup.inner_text("#trackers")
    page.goto(site.put("match.test", "/", FOOTBALL))
    agreed.wait_until_read(page)
    assert agreed.badge(page) == ""
    assert "nothing sensitive" in agreed.spoken(page)


def test_trackers_are_counted_on_the_first_load_and_change_the_badge(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H!")
    view = agreed.view(page)
    assert {(party["company"], party["category"]) for party in view["trackers"]} == {
        ("Google", "analytics"),
        ("Facebook", "social"),
    }
    assert view["others"] == ["JSDelivr CDN"]
    assert "2 companies follow you here" in agreed.spoken(page)


def test_the_second_visit_is_preceded_by_a_warning_and_no_request_leaves(agreed, site):
    address = site.put("clinic.test", "/a?b=c", "")
    site.put("clinic.test", "/a", tracked(site, HEALTH))
    link = site.put("links.test", "/", f'<!doctype html><title>Links</title><a href="{address}">there</a>')
    page = agreed.context.new_page()
    page.goto(address)
    agreed.wait_for_badge(page, "H!")
    page.reload()
    assert page.url == address, "the visit under way is not interrupted"
    page.goto(link)
    agreed.wait_until_read(page)
    asked = len(site.asked_of("clinic.test"))

    page.click("a")
    page.wait_for_url(re.compile("warning.html"))
    page.wait_for_selector("#continue:visible")
    assert "clinic.test" in page.inner_text("#known")
    assert "Google" in page.inner_text("#companies")
    assert len(site.asked_of("clinic.test")) == asked
    page.click("#back")
    page.wait_for_url(link)

    page.click("a")
    page.wait_for_selector("#continue:visible")
    page.click("#continue")
    page.wait_for_url(address)
    agreed.wait_for_badge(page, "H!")


def test_a_site_that_is_not_to_be_warned_of_never_is_again(agreed, site):
    address = site.put("clinic.test", "/", tracked(site, HEALTH))
    elsewhere = site.put("match.test", "/", FOOTBALL)
    page = agreed.context.new_page()
    page.goto(address)
    agreed.wait_for_badge(page, "H!")
    page.goto(elsewhere)
    agreed.wait_until_read(page)
    page.goto(address)
    page.click("#never")
    page.wait_for_url(address)
    agreed.wait_for_badge(page, "H!")
    page.goto(elsewhere)
    agreed.wait_until_read(page)
    page.goto(address)
    assert page.url == address
    assert agreed.desk.evaluate("chrome.declarativeNetRequest.getDynamicRules()") == []


def test_a_correction_changes_the_badge_and_is_remembered(agreed, site):
    address = site.put("clinic.test", "/", HEALTH)
    page = agreed.context.new_page()
    page.goto(address)
    agreed.wait_for_badge(page, "H")
    popup = agreed.popup(page)
    popup.select_option("#topic", label="Religion")
    popup.click("#correct")
    agreed.wait_for_badge(page, "R")
    page.goto(site.put("match.test", "/", FOOTBALL))
    page.goto(address)
    agreed.wait_for_badge(page, "R")
    view = agreed.view(page)
    assert (view["label"], view["verdict"]["topic"]) == (2, 0), "the person's word and the model's are told apart"


def test_nobody_is_asked_to_agree_with_a_guess(agreed, site):
    page = agreed.context.new_page()
    page.goto(
        site.put("church.test", "/", "<!doctype html><title>A talk</title><p>The doctor and the bishop spoke.</p>")
    )
    agreed.wait_until_read(page)
    with agreed.asking("options") as ask:
        ask({"kind": "change", "settings": {"threshold": 0.99}})
    page.reload()
    agreed.wait_until_read(page)
    view = agreed.view(page)
    assert (view["shown"], view["label"]) == (None, None)
    assert view["verdict"]["topic"] != 5
    popup = agreed.popup(page)
    assert popup.is_hidden("#agree")
    assert popup.is_visible("#topic")


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
    agreed.wait_for_badge(page, "H!")
    agreed.kill_worker()
    assert agreed.badge(page) == "H!"
    view = agreed.view(page)
    assert (view["state"], view["shown"], len(view["trackers"])) == ("ready", 0, 2)
    agreed.kill_worker()
    page.goto(site.put("church.test", "/", RELIGION))
    agreed.wait_for_badge(page, "R")


def test_a_site_that_is_switched_off_is_not_read(agreed, site):
    address = site.put("clinic.test", "/", HEALTH)
    page = agreed.context.new_page()
    page.goto(address)
    agreed.wait_for_badge(page, "H")
    popup = agreed.popup(page)
    popup.uncheck("#site-on")
    agreed.wait_for_badge(page, "")
    page.reload()
    page.wait_for_timeout(1000)
    assert agreed.view(page)["state"] == "off"
    popup.check("#site-on")
    agreed.wait_for_badge(page, "H")
    assert agreed.view(page)["state"] == "ready"
