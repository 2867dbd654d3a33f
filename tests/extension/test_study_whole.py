"""A whole study as its people live it: operator, participant and expert, with a real server, browser and extension.

STUDY_PICTURES=FOLDER takes a picture of every step.
"""

import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eitr.taxonomy import index_of

from .browser import CHROMIUM, Extension, unpacked, until
from .pages import FOOTBALL, HEALTH, RELIGION
from .real_server import RealServer, real_server
from .site import Site
from .test_study import choose, sent, sync, task_page, told

SLUG, TITLE = "covid", "Pages about the pandemic"
EMAIL = "somebody.unusual@mail.example"
EACH, LIVE = 3, 6
HTML = {"health": HEALTH, "religion": RELIGION, "non-sensitive": FOOTBALL}
SETTINGS = {
    "pages_per_person": EACH,
    "alpha": 1000,
    "collect_labels": "true",
    "reward": "true",
    "group": "Example University",
    "contact": "study@example.org",
    "purpose": "We want to know how people judge pages about the pandemic.",
}
HOST = "127.0.0.1"
"""Of the pages: the command line resolves names as everybody does, only Chromium is told that every host is here."""


class Camera:
    """Takes a numbered picture of each step, if somebody asks for pictures."""

    def __init__(self) -> None:
        wanted = os.environ.get("STUDY_PICTURES")
        self._folder = None if wanted is None else Path(wanted)
        self._taken = 0

    def take(self, page: Any, name: str) -> None:
        if self._folder is not None:
            self._taken += 1
            page.screenshot(path=self._folder / f"{self._taken:02}-{name}.png", full_page=True)


class Operator:
    """Runs the study from the command line and, for the list of rewards, in the dashboard."""

    def __init__(self, server: RealServer) -> None:
        self.folder = server.log.parent

    def run(self, command: str, *arguments: object) -> list[str]:
        """Run `eitr study COMMAND`; return the lines that it prints."""
        given = [sys.executable, "-m", "eitr", "study", command, *map(str, arguments), "--folder", str(self.folder)]
        environment = {**os.environ, "EITR_STUDY_PRIVATE_PAGES": "true"}
        done = subprocess.run(given, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, (given, done.stdout, done.stderr)
        return done.stdout.splitlines()

    def prepare(self, pages: Path) -> None:
        settings = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
        self.run("create", SLUG, TITLE, "--seed", 7, "--unbounded", *settings)
        self.run("pages", SLUG, pages)
        states = [line.split("\t")[0] for line in self.run("check", SLUG, "--archive")]
        assert sorted(states) == ["dead", *["live"] * LIVE]
        self.run("open", SLUG)

    def kept(self, traces: dict[str, str]) -> dict[str, list[str]]:
        """Return the files of the server that hold each of some texts, as the disk has them now."""
        files = {path.name: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        return {
            name: [file for file, content in files.items() if trace.encode() in content]
            for name, trace in traces.items()
        }


@pytest.fixture
def pages(site: Site, tmp_path: Path) -> Path:
    """A list of six pages that are there, and one that is not."""
    listed = tmp_path / "pages.csv"
    with listed.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["url", "topic", "truth"])
        for number in range(LIVE):
            truth = list(HTML)[number % len(HTML)]
            html = HTML[truth].replace("</title>", f" {number}</title>")
            writer.writerow([site.put(HOST, f"/page-{number}", html), "pandemic", truth])
        writer.writerow([site.address(HOST, "/gone"), "pandemic", "health"])
    return listed


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    downloads = tmp_path / "downloads"
    shutil.make_archive(str(downloads / "eitr-chrome"), "zip", unpacked())
    with real_server(tmp_path / "server", 10, EITR_DOWNLOADS=str(downloads)) as found:
        yield found
        assert "Traceback" not in found.log.read_text()


@pytest.fixture
def elsewhere(started: Any) -> Iterator[Any]:
    """A browser without the extension, for the operator and the expert."""
    found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    yield found
    found.close()


@pytest.mark.long
def test_a_study_from_its_creation_to_a_withdrawal(extension, elsewhere, site, server, pages):
    camera, operator = Camera(), Operator(server)
    operator.prepare(pages)
    (link,) = operator.run("invite", SLUG, 1, "--links")
    assert link.startswith(f"{server.address}/study/{SLUG}/start#code=")
    code = link.partition("=")[2]

    page = extension.context.new_page()
    begin(page, link, camera)
    connect(extension, page, code, camera)
    labelled = do_tasks(extension, site, camera)
    completion = see_the_end(extension, page, camera)
    exported = download(page, "Download what is stored about me")
    assert [one["label"] for one in exported["tasks"] if one["state"] == "labelled"] == labelled
    assert sorted(one["state"] for one in exported["tasks"]) == ["labelled", "labelled", "replaced", "skipped"]
    assert {one["kind"] for one in exported["consents"] if one["in_force"]} == {"participation", "collection"}
    assert (exported["completion_code"], exported["email_stored"]) == (completion, True)
    assert EMAIL not in json.dumps(exported)
    assert download(page, "Download the stored address") == {"email": EMAIL}

    rate(elsewhere.new_context(base_url=server.address).new_page(), operator, camera)
    traces = {**ids_of_the_person(operator.folder), "completion code": completion}
    assert rewards(server, elsewhere, camera) == [["email", "finished"], [EMAIL, "yes"]]
    report = operator.folder.parent / "report"
    operator.run("report", SLUG, "--to", report)
    written = [path.read_text() for path in report.iterdir()]
    assert any("religion" in text for text in written)
    for name, trace in {**traces, "address": EMAIL, "invitation": code}.items():
        assert not any(trace in text for text in written), f"the report tells the {name}"

    assert all(operator.kept(traces).values()), "what is looked for after the withdrawal is there before it"
    withdraw(page, camera)
    gone = operator.kept({**traces, "address": EMAIL, "invitation": code})
    assert gone == {name: [] for name in gone}
    learn_of_the_end(extension, camera)


def begin(page: Any, link: str, camera: Camera) -> None:
    """Read, consent to taking part and to the collection of labels, give an address, and download the extension."""
    page.goto(link)
    camera.take(page, "start")
    assert not page.is_checked("#participation")
    page.check("#participation")
    page.check("#collection")
    page.click("main form button")
    page.wait_for_url(f"**/study/{SLUG}/me")
    camera.take(page, "me-new")
    with page.expect_download() as downloading:
        page.click("a.button:has-text('Download for Chrome')")
    assert "manifest.json" in zipfile.ZipFile(downloading.value.path()).namelist()
    page.fill("#email", EMAIL)
    page.click("#reward form button")
    page.wait_for_selector("text=The address was saved.")
    camera.take(page, "me-address")


def connect(extension: Extension, page: Any, code: str, camera: Camera) -> None:
    """Say yes in the popup on the connection page, and answer the questions of the extension."""
    page.click("a.button:has-text('Open the connection page')")
    page.wait_for_url(lambda url: "/join#" in url)
    camera.take(page, "join")
    popup = extension.popup(page)
    popup.wait_for_selector("#join", state="visible")
    camera.take(popup, "popup-join")
    with extension.context.expect_page() as opened:
        popup.click("#join-yes")
    popup.close()
    welcome = opened.value
    welcome.wait_for_selector("fieldset:not([disabled])")
    assert welcome.input_value("#invitation") == code
    for box in ("#classifying", "#contributing", "#studies"):
        assert not welcome.is_checked(box)
        welcome.check(box)
    camera.take(welcome, "welcome")
    welcome.click("#save")
    until(lambda: welcome.text_content("#status"), what="an answer to the choices")
    until(lambda: told(extension), what="the study")
    camera.take(welcome, "welcome-saved")
    welcome.close()
    extension.desk.evaluate("chrome.alarms.create('learn', { delayInMinutes: 60 })")
    page.click("a:has-text('Back to my study page')")
    page.wait_for_selector(f"text=0 of {EACH} pages done")
    camera.take(page, "me-connected")


def do_tasks(extension: Extension, site: Site, camera: Camera) -> list[str]:
    """Label a page, skip one, find one broken and label the page that takes its place; return the labels."""
    popup = extension.open("popup", "?tab=-1")
    camera.take(popup, "popup-first")
    page = task_page(extension, popup)
    popup.close()
    popup = extension.popup(page)
    popup.wait_for_selector("#topic", state="visible")
    camera.take(popup, "popup-task")
    choose(popup, index_of("religion"))
    camera.take(popup, "popup-labelled")

    go_on(extension, popup, page, 2)
    until(lambda: popup.text_content("#status") == "", what="an end of the thanks for task 1")
    popup.click("#task-skip")
    until(lambda: popup.is_hidden("#task-skip"), what="the end of task 2")
    camera.take(popup, "popup-skipped")

    # The last page has vanished from the web since the check; the one that takes its place is there.
    vanished = {place: site.pages.pop(place) for place in list(site.pages) if place[1].startswith("/page-")}
    popup.click("#task-next")
    wait_for_task(popup, EACH)
    until(lambda: popup.is_visible("#task-broken") and page.url.startswith("chrome-error:"), what="an error page")
    site.pages |= vanished
    camera.take(popup, "popup-broken-page")
    popup.click("#task-broken")
    popup.wait_for_selector("#task-open", state="visible")
    camera.take(popup, "popup-replaced")
    page = task_page(extension, popup)
    popup.close()
    popup = extension.popup(page)
    wait_for_task(popup, EACH)
    choose(popup, index_of("health"))
    popup.close()
    return ["religion", "health"]


def go_on(extension: Extension, popup: Any, page: Any, number: int) -> None:
    """Open the next task, in the same tab."""
    before = page.url
    popup.wait_for_selector("#task-next", state="visible")
    popup.click("#task-next")
    page.wait_for_url(lambda url: url != before)
    extension.wait_until_read(page)
    wait_for_task(popup, number)


def wait_for_task(popup: Any, number: int) -> None:
    until(lambda: popup.inner_text("#study-place") == f"Task {number} of {EACH}", what=f"task {number}")
    popup.wait_for_selector("#task-skip", state="visible")


def see_the_end(extension: Extension, page: Any, camera: Camera) -> str:
    """Return the completion code, which the popup and the person's page show."""
    popup = extension.open("popup", "?tab=-1")
    popup.wait_for_selector("#study-end", state="visible")
    camera.take(popup, "popup-finished")
    shown = popup.inner_text("#study-code")
    assert popup.get_attribute("#study-page", "href") == page.url.partition("?")[0].partition("#")[0]
    popup.close()
    assert all(one["outcome"] == "taken" for one in sent(extension))
    page.reload()
    page.wait_for_selector(f"text={EACH} of {EACH} pages done")
    assert page.inner_text(".completion") == shown
    camera.take(page, "me-finished")
    return shown


def download(page: Any, link: str) -> Any:
    with page.expect_download() as downloading:
        page.click(f"a:has-text('{link}')")
    return json.loads(Path(downloading.value.path()).read_text())


def rate(page: Any, operator: Operator, camera: Camera) -> None:
    """Rate all pages with the keyboard, as an expert."""
    ((name, link),) = [line.split("\t") for line in operator.run("raters", SLUG, "Grace")]
    assert name == "Grace"
    page.goto(link)
    for number in range(1, LIVE + 1):  # not about the dead page
        page.wait_for_url(f"**/rate/{number}")
        if number == 1:
            camera.take(page, "rate")
        page.keyboard.press("136"[(number - 1) % 3])
        page.keyboard.press("Enter")
    page.wait_for_selector("text=All pages are rated")
    camera.take(page, "rated")
    assert operator.run("raters", SLUG) == [f"Grace\t{LIVE}"]


def ids_of_the_person(folder: Path) -> dict[str, str]:
    with sqlite3.connect(f"file:{folder / 'eitr.db'}?mode=ro", uri=True) as database:
        ((person,),) = database.execute("SELECT id FROM study_people")
        ((participant,),) = database.execute("SELECT id FROM participants")
    database.close()
    return {"person": person, "participant": participant}


def rewards(server: RealServer, browser: Any, camera: Camera) -> list[list[str]]:
    """Return the list of rewards, as the operator downloads it while the study is closed."""
    page = server.operator(browser)
    page.goto(f"{server.address}/studies/{SLUG}")
    camera.take(page, "desk")
    page.click("text=Close the study")
    with page.expect_download() as downloading:
        page.click("text=Download the reward list")
    page.click("text=Open the study again")
    page.wait_for_selector("text=Close the study")
    return list(csv.reader(io.StringIO(Path(downloading.value.path()).read_text("utf-8-sig"))))


def withdraw(page: Any, camera: Camera) -> None:
    page.click("a.button:has-text('Withdraw…')")
    page.wait_for_url("**/withdraw")
    camera.take(page, "withdraw")
    page.check("#sure")
    page.click("button.danger")
    page.wait_for_url("**/withdrawn")
    camera.take(page, "withdrawn")


def learn_of_the_end(extension: Extension, camera: Camera) -> None:
    """The extension asks again, says that the study is over, and keeps nothing to send."""
    sync(extension)
    until(lambda: told(extension) is None, what="the end of the study")
    popup = extension.open("popup", "?tab=-1")
    assert popup.is_hidden("#study")
    assert "You are no longer in a study" in popup.inner_text("#study-left")
    camera.take(popup, "popup-withdrawn")
    options = extension.open("options")
    assert re.match("You are no longer in a study", options.inner_text("#study-note"))
    camera.take(options, "options-withdrawn")
