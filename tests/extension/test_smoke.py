"""The extension in a real Chromium: installed, agreed to, shown pages, corrected, and asked before the second visit."""

import pytest

from .browser import READY, chromium_with_extension, unfold, until
from .pages import DUTCH, FOOTBALL, HEALTH, tracked


@pytest.fixture
def installed(started):
    """A browser in which the extension was installed this moment."""
    with chromium_with_extension(started) as found:
        yield found


def test_before_anybody_agreed_nothing_is_ticked_read_or_asked(installed, site):
    extension = installed
    welcome = until(
        lambda: next((page for page in extension.context.pages if "/welcome/" in page.url), None),
        what="the welcome page",
    )
    welcome.wait_for_selector(READY["welcome"])
    boxes = welcome.locator("input[type=checkbox]")
    assert [boxes.nth(place).is_checked() for place in range(boxes.count())] == [False] * 3
    page = extension.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    assert not extension.has_reader(page)
    assert extension.badge(page) == ""
    assert extension.view(page)["state"] == "no-consent"
    assert extension.desk.evaluate("chrome.scripting.getRegisteredContentScripts()") == []
    assert extension.desk.evaluate("chrome.storage.session.get(null)") == {}


def test_who_agrees_to_nothing_gets_nothing(extension, site):
    extension.consent(classifying=False)
    page = extension.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    assert not extension.has_reader(page)
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
    until(lambda: "this page is about health, illness or medical care" in agreed.spoken(page), what="the spoken title")
    popup = agreed.popup(page)
    assert popup.inner_text("#sentence") == "Very likely about health"
    assert "%" not in popup.inner_text("main"), "figures are for those who unfold them"
    unfold(popup, "#why")
    assert popup.inner_text("#sure") == "Probability according to the model: Health, 98%"
    assert "diabetes" in popup.inner_text("#words")
    assert "No known trackers" in popup.inner_text("#trackers")
    page.goto(site.put("match.test", "/", FOOTBALL))
    agreed.wait_until_read(page)
    agreed.wait_for_badge(page, "")
    until(lambda: "nothing sensitive" in agreed.spoken(page), what="the spoken title")


def test_trackers_are_counted_on_the_first_load_and_change_the_badge(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    until(lambda: len(agreed.view(page)["trackers"]) == 2 and agreed.view(page)["others"], what="all three companies")
    view = agreed.view(page)
    assert {(party["company"], party["category"]) for party in view["trackers"]} == {
        ("Google", "analytics"),
        ("Facebook", "social"),
    }
    assert view["others"] == ["JSDelivr CDN"]
    until(lambda: "2 companies have trackers here" in agreed.spoken(page), what="both companies in the title")


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


def test_a_word_can_be_taken_back(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    popup = agreed.popup(page)
    popup.select_option("#topic", label="Religion")
    popup.click("#correct")
    agreed.wait_for_badge(page, "R")
    until(lambda: popup.inner_text("#question") == "You said: Religion", what="the answer")
    popup.click("#take-back")
    agreed.wait_for_badge(page, "H")
    until(lambda: popup.inner_text("#question") == "Is this right?", what="the question")
    assert popup.is_visible("#agree")
    page.reload()
    agreed.wait_for_badge(page, "H")
    ask = agreed.asking("options")
    assert ask({"kind": "options"})["learning"]["pages"] == 0


def test_nobody_is_asked_to_agree_with_a_guess(agreed, site):
    page = agreed.context.new_page()
    page.goto(
        site.put("church.test", "/", "<!doctype html><title>A talk</title><p>The doctor and the bishop spoke.</p>")
    )
    agreed.wait_until_read(page)
    ask = agreed.asking("options")
    ask({"kind": "change", "settings": {"threshold": 0.99}})
    page.reload()
    agreed.wait_until_read(page)
    view = agreed.view(page)
    assert (view["shown"], view["cannotTell"], view["label"]) == (None, "close", None)
    assert view["verdict"]["topic"] != 5
    popup = agreed.popup(page)
    assert popup.inner_text("#sentence") == "EITR cannot tell what this page is about."
    assert popup.inner_text("#note") == "It is not sure enough. The page may be sensitive all the same."
    assert popup.is_hidden("#agree")
    assert popup.is_visible("#topic")


def test_what_the_model_does_not_understand_is_not_called_harmless(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("empty.test", "/", "<!doctype html><title>Xyzzy</title><p>Plugh"))
    agreed.wait_until_read(page)
    view = agreed.view(page)
    assert (view["shown"], view["cannotTell"], view["verdict"]["knownWords"]) == (None, "words", 0)
    page.goto(site.put("kliniek.test", "/", DUTCH))
    agreed.wait_until_read(page)
    until(lambda: "cannot tell" in agreed.spoken(page), what="the spoken title")
    assert agreed.badge(page) == ""
    popup = agreed.popup(page)
    assert popup.inner_text("#sentence") == "EITR cannot tell what this page is about."
    assert popup.inner_text("#note").startswith("It does not know the page's language.")
    assert popup.is_hidden("#why")
    assert popup.inner_text("#question") == "What is this page about?"
    assert popup.is_hidden("#agree")
    popup.select_option("#topic", label="Health")
    popup.click("#correct")
    agreed.wait_for_badge(page, "H")
    until(lambda: "This page is about health" in popup.inner_text("#verdict"), what="the person's own word")
