"""A study with a real `eitr serve` and a real Chromium: from the invitation to the completion code and withdrawal."""

import csv
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from eitr.server.composition.wiring import prepared_database
from eitr.server.domain.keys import Key
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.services import StudyServices
from eitr.server.domain.study.settings import StudySettings
from eitr.server.settings import ServerSettings
from eitr.taxonomy import index_of

from .browser import Extension, unfold, until
from .pages import FOOTBALL, HEALTH, RELIGION
from .real_server import real_server
from .site import Site
from .test_study import choose, sent, sync, task_page, told

SLUG, TITLE = "covid", "Pages about COVID-19"
HTML = {"health": HEALTH, "religion": RELIGION, "non-sensitive": FOOTBALL}


@pytest.fixture
def port() -> int:
    """A port that stays the same when the server starts again."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def folder(tmp_path: Path, site: Site) -> Path:
    """The folder of a server with a study of three pages that is open."""
    pages = tmp_path / "pages.csv"
    with pages.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["url", "truth"])
        for place, (truth, html) in enumerate(HTML.items()):
            writer.writerow([site.put(f"page{place}.test", "/", html), truth])
    folder = tmp_path / "server"
    folder.mkdir()
    with studies(folder) as site_of_study:
        settings = StudySettings(pages_per_person=3, collect_labels=True, collect_terms=True)
        site_of_study.register.create(SLUG, TITLE, settings, who="ada")
        site_of_study.pages.import_file(SLUG, pages, who="ada")
        site_of_study.register.open(SLUG, who="ada")
    return folder


@contextmanager
def studies(folder: Path) -> Iterator[StudyServices]:
    """What the operator does at the command line, and people on the study's site."""
    values: dict[str, Any] = {"folder": folder}
    settings = ServerSettings(**values)
    database = prepared_database(settings)[0]
    try:
        yield StudyServices.of(database, Key.of(folder), settings)
    finally:
        database.close()


def start(folder: Path, *kinds: ConsentKind) -> tuple[str, str]:
    """Consent with a new code; return it, and the person."""
    with studies(folder) as site:
        (code,) = site.register.invite(SLUG, 1, who="ada")
        version = site.register.get(SLUG).consent_version
        texts = dict.fromkeys((ConsentKind.PARTICIPATION, *kinds), "I agree.")
        return code, site.people.start(SLUG, code, "en", texts, version).person


def join(extension: Extension, server: str, code: str) -> None:
    """Paste the link that the study gives, agree, and wait for the study."""
    page = extension.open("welcome")
    unfold(page, "#invited")
    page.fill("#link", f"{server}/join#invitation={code}&study={SLUG}")
    page.press("#link", "Tab")
    until(lambda: page.input_value("#invitation") == code, what="the code")
    page.check("#classifying")
    page.check("#studies")
    page.click("#save")
    until(lambda: told(extension), what="the study")
    page.close()
    extension.desk.evaluate("chrome.alarms.create('learn', { delayInMinutes: 60 })")


def label(extension: Extension, page: Any, name: str) -> None:
    popup = extension.popup(page)
    choose(popup, index_of(name))
    popup.close()


def tasks(folder: Path, person: str) -> list[dict[str, Any]]:
    with studies(folder) as site:
        found: list[dict[str, Any]] = site.people.export(person)["tasks"]
        return found


@pytest.mark.long
def test_a_study_from_the_invitation_to_the_completion_code_and_withdrawal(extension, folder, port):
    code, person = start(folder, ConsentKind.COLLECTION, ConsentKind.TERMS)
    with real_server(folder, 10, EITR_PORT=str(port)) as server:
        join(extension, server.address, code)
        assert (told(extension)["title"], told(extension)["collect"]) == (TITLE, True)
        popup = extension.open("popup", "?tab=-1")
        page = task_page(extension, popup)
        popup.close()
        label(extension, page, "religion")
        until(lambda: sent(extension)[0]["outcome"] == "taken", what="the first answer")
    # While the server is down, the second answer waits; the worker is killed meanwhile.
    popup = extension.popup(page)
    popup.click("#task-next")
    until(lambda: popup.inner_text("#study-place") == "Task 2 of 3" and popup.is_visible("#topic"), what="task 2")
    choose(popup, index_of("health"))
    popup.close()
    assert told(extension)["ended"] == 2
    extension.kill_worker()
    with real_server(folder, 10, EITR_PORT=str(port)) as server:
        sync(extension)
        assert [one["label"] for one in tasks(folder, person)] == ["religion", "health", None]
        popup = extension.popup(page)
        popup.click("#task-next")
        until(lambda: popup.inner_text("#study-place") == "Task 3 of 3", what="task 3")
        until(lambda: popup.is_visible("#task-skip"), what="the buttons")
        popup.click("#task-skip")
        until(lambda: popup.is_visible("#study-end"), what="the end")
        with studies(folder) as site:
            assert popup.inner_text("#study-code") == site.people.progress(person).completion_code
            until(lambda: site.terms.reports(SLUG), what="the words of the task pages")
            (report,) = site.terms.reports(SLUG)
            assert (report.samples, len(report.weights) > 20) == (2, True)
            site.people.withdraw(person)
        sync(extension)
        until(lambda: told(extension) is None, what="the end of the study")
        until(lambda: popup.is_visible("#study-left"), what="a word about it in the popup")
        assert "Traceback" not in server.log.read_text()


def test_labels_that_nobody_agreed_to_collect_do_not_reach_the_server(extension, folder, port):
    code, person = start(folder)
    with real_server(folder, 10, EITR_PORT=str(port)) as server:
        join(extension, server.address, code)
        popup = extension.open("popup", "?tab=-1")
        page = task_page(extension, popup)
        popup.close()
        label(extension, page, "religion")
        until(lambda: tasks(folder, person)[0]["state"] == "labelled", what="the answer")
        assert [one["label"] for one in tasks(folder, person)] == [None] * 3
        assert extension.asking("options")({"kind": "options"})["learning"]["pages"] == 1


@pytest.mark.long
def test_who_has_not_consented_gets_no_study_and_a_closed_one_says_so(extension, folder, port):
    with studies(folder) as site:
        (code,) = site.register.invite(SLUG, 1, who="ada")
    with real_server(folder, 10, EITR_PORT=str(port)) as server:
        extension.agree()
        ask = extension.asking("welcome")
        ask({"kind": "consent", "classifying": True, "studies": True, "server": server.address, "invitation": code})
        extension.desk.evaluate("chrome.alarms.create('learn', { delayInMinutes: 60 })")
        sync(extension)
        assert told(extension) is None
        with studies(folder) as site:
            version = site.register.get(SLUG).consent_version
            site.people.start(SLUG, code, "en", {ConsentKind.PARTICIPATION: "I agree."}, version)
        sync(extension)
        assert told(extension)["title"] == TITLE
        with studies(folder) as site:
            site.register.close(SLUG, who="ada")
        sync(extension)
        assert told(extension)["open"] is False
