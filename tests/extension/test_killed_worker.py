"""The browser may kill the worker at any moment. Whatever it was doing, the next worker does it to the end."""

from typing import Any

import pytest

from eitr.taxonomy import NON_SENSITIVE

from .browser import Extension, until
from .history_page import switch_on
from .pages import FOOTBALL, HEALTH, tracked
from .stopped_worker import Step, both, kill_stopped, stop_at
from .test_blocking import TRACKERS, arrived, ask_for, no_warnings, rules, visit, with_trackers
from .test_local_learning import PLANTS, garden, label, local, opened, sibling, verdict_on
from .test_warning import redirections, say, warned_in
from .week import names, notes

FIRST_VISIT = [
    *both("set", "tab:"),
    *both("set", "document:"),
    *both("set", "words:"),
    *both("set", "protected"),
    *both("updateSessionRules", "3001"),
    *both("write", "seen"),
    *both("write", "hosts"),
    *both("updateDynamicRules", "2001"),
]
SECOND_VISIT = [*both("set", "protected"), *both("updateSessionRules", "3001"), *both("set", "document:")]
LEAVING = [*both("remove", "protected"), *both("updateSessionRules", "[]"), *both("set", "tab:")]
NOTING = [*both("set", '"visit"'), *both("write", "visits"), *both("set", '"companies":["')]
COMING_LATE = [Step("set", "static.criteo.net", "after"), *both("write", "visits")]
"""Not before the request is stored: what nobody has kept yet is lost with the worker."""
SAYING = [Step("write", "pages", "after"), *both("set", '"label":'), *both("write", "seen"), *both("write", "hosts")]
"""Not before the word is stored: then the popup says that it did not work."""
NO_QUESTIONS = [Step("write", "seen", "after"), *both("write", "hosts")]
"""Not before anything is stored: the page that asks goes on without it."""
LEARNING = [*both("write", "pages"), *both("write", "model"), *both("set", "sibling.test")]


def everyday(steps: list[Step], *short: int) -> Any:
    """All steps; those whose places are not named are for the long tests."""
    marks = [() if place in short else (pytest.mark.long,) for place in range(len(steps))]
    return pytest.mark.parametrize(
        "step", [pytest.param(step, marks=mark) for step, mark in zip(steps, marks, strict=True)], ids=str
    )


@pytest.fixture
def protecting(agreed: Extension) -> Extension:
    no_warnings(agreed)
    return agreed


def say_and_kill(extension: Extension, page: Any, step: Step, **wish: Any) -> None:
    """Send what the popup sends about the page that a tab shows, and kill the worker when it has come to a step."""
    view = extension.view(page)
    said = {**wish, "document": view["document"], "url": view["url"]}
    stop_at(extension, step)
    # Nobody waits for an answer: there is none.
    extension.asking_pages["popup"].evaluate("(said) => void chrome.runtime.sendMessage(said).catch(() => null)", said)
    kill_stopped(extension)


def numbers(extension: Extension) -> list[int]:
    """Return the numbers of all rules that block anything."""
    return sorted(rule["id"] for rule in rules(extension))


@everyday(FIRST_VISIT, 6, 13)
def test_after_a_first_visit_a_host_is_known_and_its_trackers_are_blocked(protecting, site, step):
    address = site.put("clinic.test", "/", with_trackers(site, HEALTH))
    page = protecting.context.new_page()
    stop_at(protecting, step)
    page.goto(address)
    kill_stopped(protecting)
    # The page is read again, because nobody has answered it.
    until(lambda: numbers(protecting) == [2001, 3001], what="both rules")
    protecting.wait_until_read(page)
    site.asked.clear()
    for host in TRACKERS:
        ask_for(page, site.address(host, "/late.gif"))
    assert arrived(site) == []
    hosts = protecting.asking("options")({"kind": "options"})["hosts"]
    assert [one["host"] for one in hosts] == ["clinic.test"]
    visit(protecting, page, site.put("match.test", "/", with_trackers(site, FOOTBALL)))
    assert arrived(site) == sorted(TRACKERS), "nothing is blocked elsewhere"
    site.asked.clear()
    visit(protecting, page, address)
    assert arrived(site) == []


@everyday(SECOND_VISIT, 2)
def test_on_a_second_visit_no_request_arrives(protecting, site, step):
    address = site.put("clinic.test", "/", with_trackers(site, HEALTH))
    page = protecting.context.new_page()
    visit(protecting, page, address)
    page.goto("about:blank")
    protecting.worker_has_finished()
    site.asked.clear()
    stop_at(protecting, step)
    page.goto(address)
    kill_stopped(protecting)
    protecting.wait_until_read(page)
    until(lambda: numbers(protecting) == [2001, 3001], what="both rules")
    ask_for(page, site.address(TRACKERS[0], "/late.gif"))
    assert arrived(site) == []
    assert protecting.view(page)["blocking"]["active"]


@everyday(LEAVING, 0)
def test_on_the_next_page_of_a_portal_nothing_stays_blocked(protecting, site, step):
    page = protecting.context.new_page()
    visit(protecting, page, site.put("portal.test", "/article", HEALTH))
    assert numbers(protecting) == [3001]
    stop_at(protecting, step)
    page.goto(site.put("portal.test", "/football", with_trackers(site, FOOTBALL)))
    kill_stopped(protecting)
    protecting.wait_until_read(page)
    until(lambda: numbers(protecting) == [], what="the end of the rules")
    site.asked.clear()
    ask_for(page, site.address(TRACKERS[0], "/late.gif"))
    assert arrived(site) == [TRACKERS[0]]


@everyday(NOTING, 3)
def test_a_page_is_noted_once_with_all_companies(agreed, site, step):
    switch_on(agreed)
    page = agreed.context.new_page()
    stop_at(agreed, step)
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    kill_stopped(agreed)
    agreed.wait_until_read(page)
    until(lambda: [names(note) for note in notes(agreed)] == [{"Google", "Facebook"}], what="the note")
    page.evaluate("(to) => { new Image().src = to }", site.address("static.criteo.net", "/late.gif"))
    until(lambda: [len(names(note)) for note in notes(agreed)] == [3], what="the third company in the same note")


@everyday(COMING_LATE, 0)
def test_a_company_that_comes_late_is_noted(agreed, site, step):
    switch_on(agreed)
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    until(lambda: [len(names(note)) for note in notes(agreed)] == [2], what="the note")
    agreed.worker_has_finished()
    stop_at(agreed, step)
    page.evaluate("(to) => { new Image().src = to }", site.address("static.criteo.net", "/late.gif"))
    kill_stopped(agreed)
    # Any event starts the next worker.
    agreed.view(page)
    until(lambda: [names(note) for note in notes(agreed)] == [{"Google", "Facebook", "Criteo"}], what="the third one")


@everyday(LEARNING, 3)
def test_a_correction_changes_an_open_page(agreed, site, step):
    page = sibling(agreed, site)
    pages = [opened(agreed, site, f"plant{place}.test", garden(plant)) for place, plant in enumerate(PLANTS[:-1])]
    for one in pages[:-1]:
        label(agreed, one, NON_SENSITIVE)
    local(agreed)
    agreed.worker_has_finished()
    before = agreed.view(page)["verdict"]
    say_and_kill(agreed, pages[-1], step, kind="label", label=NON_SENSITIVE)
    if step == LEARNING[0]:
        # Nothing was kept: the popup says that it did not work, and the person says it again.
        label(agreed, pages[-1], NON_SENSITIVE)
    until(lambda: agreed.view(page)["verdict"] != before, what="another verdict on the open page")
    assert agreed.view(pages[-1])["label"] == NON_SENSITIVE
    shown = agreed.view(page)["verdict"]
    assert verdict_on(agreed, page) == shown


@everyday(SAYING, 0, 3)
def test_who_said_that_a_page_is_not_sensitive_is_not_asked_before_it(agreed, site, step):
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    address = site.put("clinic.test", "/", tracked(site, HEALTH))
    visit(agreed, page, address)
    until(lambda: len(redirections(agreed)) == 1, what="the rule")
    say_and_kill(agreed, page, step, kind="label", label=NON_SENSITIVE)
    until(lambda: agreed.view(page)["label"] == NON_SENSITIVE, what="the label")
    until(lambda: redirections(agreed) == [], what="the end of the rule")
    visit(agreed, page, elsewhere)
    assert not warned_in(agreed, page, address)


@everyday(NO_QUESTIONS, 1)
def test_who_does_not_want_to_be_asked_for_a_day_is_not(agreed, site, step):
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    address = site.put("clinic.test", "/", tracked(site, HEALTH))
    visit(agreed, page, address)
    until(lambda: len(redirections(agreed)) == 1, what="the rule")
    visit(agreed, page, elsewhere)
    assert warned_in(agreed, page, address)
    page.wait_for_selector("#continue:visible")
    page.select_option("#quiet", "day")
    stop_at(agreed, step)
    page.click("#continue")
    kill_stopped(agreed)
    page.wait_for_url(address)
    agreed.wait_until_read(page)
    until(lambda: redirections(agreed) == [], what="the end of the rule")
    visit(agreed, page, elsewhere)
    assert not warned_in(agreed, page, address)


@everyday(SAYING, 0, 3)
def test_who_took_that_back_is_asked(agreed, site, step):
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    address = site.put("clinic.test", "/", tracked(site, HEALTH))
    visit(agreed, page, address)
    say(agreed, page, kind="label", label=NON_SENSITIVE)
    agreed.worker_has_finished()
    assert redirections(agreed) == []
    say_and_kill(agreed, page, step, kind="take-back")
    until(lambda: agreed.view(page)["label"] is None, what="the end of the label")
    until(lambda: len(redirections(agreed)) == 1, what="the rule")
    visit(agreed, page, elsewhere)
    assert warned_in(agreed, page, address)
