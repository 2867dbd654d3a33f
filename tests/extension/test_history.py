"""The page "Who could know what": what is noted of visits, for how long, what the page shows, and how it is deleted.

Visits are real, also those of a whole week; how they come to lie on several days is in `week.py`.
"""

import csv
import io
import json
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from .browser import Extension, until
from .federation import Study, federation
from .history_page import MATRIX, check_picture, switch_on
from .pages import FOOTBALL, HEALTH, RELIGION, tracked
from .site import Site
from .week import NUMBERS, Visit, count_pairs, days_ago, live, names, notes, script, store

HEALTH_CLASS, RELIGION_CLASS, NOT_SENSITIVE = (NUMBERS[name] for name in ("health", "religion", "non-sensitive"))
LATE = "static.criteo.net"
FORGET_COMPANIES = """async () => {
  const all = await chrome.storage.session.get(null);
  const [[key, seen]] = Object.entries(all).filter(([, value]) => value?.visit);
  seen.visit.companies = [];
  await chrome.storage.session.set({ [key]: seen });
}"""
CLEAR = """() => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("visits", "readwrite");
    change.objectStore("visits").clear();
    change.oncomplete = () => { opening.result.close(); done(null) };
  };
})"""
ASK = "(message) => chrome.runtime.sendMessage(message)"
DAY_MS = 86_400_000
MOST_VISITS = 10_000
MOST_OF_A_SITE_IN_A_DAY = 200


@pytest.fixture
def noting(agreed: Extension) -> Extension:
    """The extension of somebody who has switched the history on."""
    switch_on(agreed)
    return agreed


@pytest.fixture
def clinic(site: Site) -> str:
    return site.put("www.clinic.test", "/secret-path", tracked(site, HEALTH)) + "?id=secret-query"


def visit(extension: Extension, address: str, companies: int = 2) -> Any:
    """Open a sensitive page, and return it when so many more companies are in the notes of its site."""
    site = ".".join(str(urlsplit(address).hostname).split(".")[-2:])
    before = count_pairs(extension, site)
    page = extension.context.new_page()
    page.goto(address)
    until(lambda: count_pairs(extension, site) == before + companies, what="the note")
    return page


def contact(page: Any, site: Site, host: str) -> None:
    """Let a page that is open ask a host for something."""
    page.evaluate("(to) => { new Image().src = to }", site.address(host, "/late.gif"))


def nothing_noted(extension: Extension, page: Any) -> bool:
    extension.wait_until_read(page)
    extension.worker_has_finished()
    return notes(extension) == []


def view(extension: Extension) -> dict[str, Any]:
    return extension.asking("history")({"kind": "history"})


def opened(extension: Extension) -> Any:
    page = extension.open("history")
    page.wait_for_selector("#matrix tbody th")
    return page


def test_nothing_is_noted_until_it_is_switched_on_and_the_page_says_what_would_be(agreed, site, clinic):
    page = agreed.context.new_page()
    page.goto(clinic)
    assert nothing_noted(agreed, page)
    page.close()
    history = agreed.open("history")
    told = history.inner_text("#empty")
    assert "Anybody who can use this browser profile" in told
    assert "90 days" in told
    assert "In this browser only" in told
    assert history.is_hidden("#picture")
    agreed.asking("options")({"kind": "change", "settings": {"warnings": False, "blocking": False}})
    history.click("#start")
    until(lambda: view(agreed)["on"], what="the switch")
    assert history.is_checked("#on")
    visit(agreed, clinic)
    history.reload()
    history.wait_for_selector("#matrix tbody th")
    assert sorted(history.evaluate(MATRIX)) == [["Facebook", [1, 0, 0, 0, 0]], ["Google", [1, 0, 0, 0, 0]]]


def test_a_note_has_site_topic_companies_and_day_and_nothing_else(noting, clinic):
    visit(noting, clinic)
    (note,) = notes(noting)
    there = [{"company": "Google", "category": "analytics"}, {"company": "Facebook", "category": "social"}]
    today = date.today().isoformat()
    assert note == {"day": today, "site": "clinic.test", "topic": HEALTH_CLASS, "companies": there}
    assert view(noting) == {"reading": True, "on": True, "days": 90, "visits": [note]}


def test_later_trackers_are_added_to_the_same_note_also_by_another_worker(noting, site, clinic):
    page = visit(noting, clinic)
    contact(page, site, "cdn.taboola.com")
    until(lambda: count_pairs(noting) == 3, what="the third company")
    noting.kill_worker()
    contact(page, site, LATE)
    until(lambda: count_pairs(noting) == 4, what="the fourth company")
    (note,) = notes(noting)
    assert names(note) == {"Google", "Facebook", "Taboola", "Criteo"}
    page.reload()
    until(lambda: count_pairs(noting) == 6, what="the second page")
    assert [len(names(one)) for one in notes(noting)] in ([4, 2], [2, 4])


def test_a_worker_that_is_killed_before_or_after_it_has_written_counts_a_page_once(noting, site, clinic):
    """The name of a note is in `storage.session` before the note is on the disk, its companies are afterwards."""
    page = visit(noting, clinic)
    noting.worker_has_finished()
    noting.kill_worker()
    noting.desk.evaluate(FORGET_COMPANIES)
    contact(page, site, LATE)
    until(lambda: count_pairs(noting) == 3, what="the third company")
    assert len(notes(noting)) == 1
    noting.worker_has_finished()
    noting.kill_worker()
    noting.desk.evaluate(FORGET_COMPANIES)
    noting.desk.evaluate(CLEAR)
    contact(page, site, "cdn.taboola.com")
    until(lambda: count_pairs(noting) == 4, what="all four companies")
    assert len(notes(noting)) == 1


def test_every_address_within_a_document_is_a_page(noting, clinic):
    page = visit(noting, clinic)
    page.evaluate("history.pushState(null, '', '/next')")
    until(lambda: len(notes(noting)) == 2, what="the second page")
    page.evaluate("history.pushState(null, '', '#part')")
    noting.wait_until_read(page)
    noting.worker_has_finished()
    assert len(notes(noting)) == 2, "another part of the same page"


def test_what_the_person_says_of_a_page_counts(noting, clinic):
    page = visit(noting, clinic)
    ask, seen = noting.asking("popup"), noting.view(page)
    answer = {"kind": "label", "document": seen["document"], "url": seen["url"]}
    ask({**answer, "label": RELIGION_CLASS})
    assert [note["topic"] for note in notes(noting)] == [RELIGION_CLASS]
    ask({**answer, "label": NOT_SENSITIVE})
    assert notes(noting) == []
    ask({"kind": "take-back", "document": seen["document"], "url": seen["url"]})
    assert [note["topic"] for note in notes(noting)] == [HEALTH_CLASS]


def test_ordinary_pages_and_pages_without_trackers_are_not_noted(noting, site):
    page = noting.context.new_page()
    for address in (site.put("match.test", "/", tracked(site, FOOTBALL)), site.put("plain.test", "/", HEALTH)):
        page.goto(address)
        assert nothing_noted(noting, page)


def test_nothing_is_noted_on_sites_that_are_off_nor_while_eitr_rests(noting, site, clinic):
    ask, page = noting.asking("options"), noting.context.new_page()
    ask({"kind": "change", "settings": {"offSites": ["clinic.test"]}})
    page.goto(clinic)
    noting.worker_has_finished()
    assert notes(noting) == []
    in_an_hour = page.evaluate("Date.now()") + 3_600_000
    ask({"kind": "change", "settings": {"offSites": [], "pausedUntil": in_an_hour}})
    page.goto(clinic)
    noting.worker_has_finished()
    assert notes(noting) == []
    ask({"kind": "change", "settings": {"pausedUntil": 0}})
    visit(noting, clinic)


def test_pages_of_a_study_are_not_noted(extension, site, clinic):
    with federation() as server:
        server.study = Study(clinic, site.put("church.test", "/", RELIGION), site.put("match.test", "/", FOOTBALL))
        extension.consent(server=server.address, studies=True, contributing=False)
        switch_on(extension)
        ask = extension.asking("popup")
        until(lambda: ask({"kind": "popup", "tab": -1})["study"], what="the study")
        page = extension.context.new_page()
        page.goto(clinic)
        assert nothing_noted(extension, page)


@pytest.fixture
def noted_week(noting: Extension, site: Site) -> tuple[Extension, list[Visit]]:
    today = date.today()
    visits = script(14, 3, today)
    for number, _ in enumerate(live(noting, site, visits, today)):
        if number % 5 == 3:
            noting.kill_worker()
    return noting, visits


def test_the_picture_says_what_happened_in_a_short_week_with_a_worker_that_dies(noted_week):
    noting, visits = noted_week
    page = opened(noting)
    check_picture(page, visits)
    google = [names(note) for note in notes(noting) if note["topic"] == HEALTH_CLASS and "Google" in names(note)]
    page.click("#matrix tbody button[aria-label^='Google, Health: ']")
    assert page.inner_text("#cell-title").endswith("Google: Health")
    told = page.evaluate(
        "() => [...document.querySelectorAll('#cell-sites .faint')].map((one) => parseInt(one.textContent))"
    )
    assert sum(told) == len(google)


@pytest.mark.long
def test_the_picture_says_what_happened_in_a_week_of_200_visits(noting, site):
    today = date.today()
    visits = script(200, 7, today)
    for number, _ in enumerate(live(noting, site, visits, today)):
        if number % 20 == 13:
            noting.kill_worker()
    check_picture(opened(noting), visits)
    assert len(visits) == 200


def test_a_cell_a_site_and_everything_can_be_deleted_and_do_not_come_back(noting, site, clinic):
    clinic_page = visit(noting, clinic)
    visit(noting, site.put("parish.test", "/", tracked(site, RELIGION + "</body>")))
    store(noting, [days_ago(1)] * 5, companies=3)
    page = opened(noting)
    page.click("button[aria-label='Google, Health: 2 pages']")
    page.click("#cell-delete")
    until(lambda: page.evaluate("document.activeElement.id") == "status", what="the deletion")
    assert page.evaluate("document.getElementById('cell').open") is False
    assert dict(page.evaluate(MATRIX))["Google"] == [0, 1, 2, 1, 1]
    assert len(notes(noting)) == 7, "other companies were present there"
    contact(clinic_page, site, "www.googletagmanager.com")
    contact(clinic_page, site, LATE)
    until(lambda: any("Criteo" in names(note) and note["site"] == "clinic.test" for note in notes(noting)), what="it")
    assert dict(page.evaluate(MATRIX))["Google"][0] == 0

    page.reload()
    page.wait_for_selector("#matrix tbody th")
    page.click("button[aria-label='Delete everything about clinic.test']")
    until(lambda: len(notes(noting)) == 6, what="the deletion")
    contact(clinic_page, site, "cdn.taboola.com")
    until(lambda: site.asked_of("cdn.taboola.com"), what="the late request")
    noting.worker_has_finished()
    assert "clinic.test" not in {note["site"] for note in notes(noting)}

    page.click("#delete-all")
    page.click("#keep")
    assert page.is_hidden("#sure")
    page.click("#delete-all")
    page.click("#delete-sure")
    until(lambda: notes(noting) == [], what="the deletion")
    assert page.inner_text("#empty-title") == "Nothing noted yet"


def test_whoever_switches_it_off_is_asked_whether_to_delete(noting, clinic):
    visit(noting, clinic).close()
    page = opened(noting)
    page.uncheck("#on")
    page.wait_for_selector("#stopped", state="visible")
    page.click("#stop-keep")
    assert page.is_hidden("#stopped")
    assert len(notes(noting)) == 1
    reader = noting.context.new_page()
    reader.goto(clinic)
    noting.wait_until_read(reader)
    noting.worker_has_finished()
    assert len(notes(noting)) == 1
    page.check("#on")
    until(lambda: view(noting)["on"], what="the switch")
    page.uncheck("#on")
    page.click("#stop-delete")
    until(lambda: notes(noting) == [], what="the deletion")
    assert view(noting)["on"] is False


def test_old_days_are_deleted_at_every_start_and_with_every_note(noting, clinic):
    days = [days_ago(89), days_ago(90), days_ago(91), days_ago(400)]
    store(noting, days)
    visit(noting, clinic)
    assert sorted(note["day"] for note in notes(noting)) == [days_ago(89), days_ago(0)]
    store(noting, days)
    noting.kill_worker()
    noting.desk.evaluate("chrome.runtime.sendMessage({ kind: 'sent' })")
    until(lambda: len(notes(noting)) == 2, what="the deletion")


def test_days_after_tomorrow_are_deleted_because_nobody_knows_how_old_they_are(noting):
    store(noting, [days_ago(-400), days_ago(-2), days_ago(-1), days_ago(0)])
    assert [note["day"] for note in view(noting)["visits"]] == [days_ago(0), days_ago(-1)]
    assert len(notes(noting)) == 2


def test_no_day_is_deleted_because_the_clock_is_behind(noting, clinic):
    store(noting, [days_ago(-400), days_ago(-2), days_ago(0)])
    answered = {"asked": noting.desk.evaluate("Date.now()") + 401 * DAY_MS}
    # As if the clock had been put back by more than a year since the person agreed.
    noting.asking("options")({"kind": "change", "settings": answered})
    visit(noting, clinic)
    days = [days_ago(0), days_ago(0), days_ago(-2), days_ago(-400)]
    assert [note["day"] for note in view(noting)["visits"]] == days


def test_the_time_they_are_kept_can_be_changed_on_the_page(noting):
    store(noting, [days_ago(3), days_ago(6), days_ago(7), days_ago(89)])
    page = opened(noting)
    assert page.text_content("#timeline-title") == "Pages per week"
    page.select_option("#days", "7")
    until(lambda: len(notes(noting)) == 2, what="the deletion")
    until(lambda: page.text_content("#total-pages") == "2", what="the new picture")
    assert page.text_content("#timeline-title") == "Pages per day"
    assert view(noting)["days"] == 7


@pytest.mark.long
def test_there_are_never_more_notes_than_may_be_and_one_site_cannot_push_out_all_others(noting, site, clinic):
    store(noting, [days_ago(2)] + [days_ago(1)] * (MOST_VISITS - 1))
    visit(noting, clinic)
    kept = notes(noting)
    assert len(kept) == MOST_VISITS
    assert days_ago(2) not in {note["day"] for note in kept}
    store(noting, [days_ago(0)] * MOST_OF_A_SITE_IN_A_DAY, site="parish.test")
    page = noting.context.new_page()
    page.goto(site.put("parish.test", "/", tracked(site, RELIGION + "</body>")))
    noting.wait_until_read(page)
    noting.worker_has_finished()
    assert len(notes(noting, "parish.test")) == MOST_OF_A_SITE_IN_A_DAY


def test_json_and_csv_hold_all_visits(noting, site, clinic, tmp_path):
    visit(noting, clinic)
    store(noting, [days_ago(1)] * 2, companies=3)
    page = opened(noting)
    texts = {}
    for kind in ("json", "csv"):
        with page.expect_download() as saved:
            page.click(f"#{kind}")
        saved.value.save_as(tmp_path / kind)
        assert saved.value.suggested_filename.endswith(f".{kind}")
        texts[kind] = (tmp_path / Path(kind)).read_text("utf-8")
    told = json.loads(texts["json"])
    assert (told["format"], told["version"], told["days"]) == ("eitr-history", 1, 90)
    assert told["visits"] == notes(noting)
    rows = list(csv.DictReader(io.StringIO(texts["csv"])))
    assert len(rows) == 8
    assert rows[-2] == {
        "page": "3",
        "day": days_ago(0),
        "site": "clinic.test",
        "topic": "health",
        "company": "Google",
        "category": "analytics",
    }


def test_it_is_part_of_the_export_and_of_deleting_everything(noting, clinic):
    visit(noting, clinic)
    ask = noting.asking("options")
    assert ask({"kind": "export"})["data"]["history"] == notes(noting)
    noting.start_over()
    assert notes(noting) == []
    assert view(noting)["on"] is False


def test_messages_that_make_no_sense_delete_and_change_nothing(noting, clinic):
    visit(noting, clinic)
    view(noting)
    page, before = noting.asking_pages["history"], view(noting)
    for wrong in (
        {"kind": "forget-visits", "topic": "health"},
        {"kind": "forget-visits", "topic": 99},
        {"kind": "forget-visits", "topic": None},
        {"kind": "forget-visits", "company": ["Google"]},
        {"kind": "forget-visits", "site": {"length": 1}},
        {"kind": "forget-visits", "site": 5},
        {"kind": "set-history", "on": "yes"},
        {"kind": "set-history", "days": 1.5},
        {"kind": "set-history", "days": "7"},
        {"kind": "change", "settings": {"history": False}},
        {"kind": "export"},
        {"kind": "options"},
    ):
        assert page.evaluate(ASK, wrong) == {"ok": False, "problem": "problem_failed"}, wrong
    for unknown in ({"site": "elsewhere.test"}, {"company": "Nobody"}, {"topic": RELIGION_CLASS}):
        assert page.evaluate(ASK, {"kind": "forget-visits", **unknown})["ok"]
    assert view(noting) == before
    for other in ("sent", "warning", "popup", "options", "welcome"):
        noting.asking(other)
        told = noting.asking_pages[other].evaluate(ASK, {"kind": "forget-visits"})
        assert told == {"ok": False, "problem": "problem_failed"}
    assert view(noting) == before


def test_names_of_sites_are_not_cut_into_pieces_on_a_narrow_screen(noting):
    store(noting, [days_ago(0)] * 5, site="university-hospital.test", companies=1)
    page = opened(noting)
    page.set_viewport_size({"width": 360, "height": 600})
    assert page.locator("#sites .letters > *").count() == 5
    height, size = page.locator("#sites strong").evaluate(
        "(name) => [name.offsetHeight, parseFloat(getComputedStyle(name).fontSize)]"
    )
    assert height < 2 * size, "it is on one line"
    page.set_viewport_size({"width": 1280, "height": 720})


def test_the_focus_is_not_lost_with_the_button_that_switches_it_on(agreed):
    page = agreed.open("history")
    page.press("#start", "Enter")
    page.wait_for_selector("#keeping", state="visible")
    assert page.evaluate("document.activeElement.id") == "status"


def test_the_page_works_with_the_keyboard_alone(noting, clinic):
    visit(noting, clinic)
    page = opened(noting)
    page.focus("#matrix tbody button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#cell", state="visible")
    page.keyboard.press("Escape")
    page.wait_for_selector("#cell", state="hidden")
    assert page.evaluate("document.activeElement.closest('td') !== null"), "where it was before"
