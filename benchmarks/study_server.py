"""A real server with a study, and the people who take part in it over HTTP."""

import csv
import html
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.server_process import ROOT, Process, free_port
from benchmarks.study_pages import StudyPages
from eitr.client import Participant, Task
from eitr.errors import InputError
from eitr.lab.runs.study import StudyRun
from eitr.taxonomy import NAMES

SLUG = "covid-19"
COMMAND = (sys.executable, "-c", "from eitr.cli import main; main()")
HIDDEN = re.compile(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"')
COPY = re.compile(r"/copies/(\d+)$")
SETTINGS = {
    "EITR_ENROLMENT": "invitation",
    "EITR_REQUESTS_PER_MINUTE": "1000000",
    "EITR_PAUSE_SECONDS": "0",
    "EITR_POLL_SECONDS": "0.05",
    "EITR_LOG_LEVEL": "warning",
}
UNCHECKED = {"EITR_BOUNDS": "false", "EITR_MARGIN": "1", "EITR_CLASS_MARGIN": "1"}
"""No bounds on newcomers and no gate, as in the simulation."""


@dataclass(frozen=True)
class StudyServer:
    """A running server with an open study."""

    address: str
    folder: Path
    codes: list[str]
    """Invitations that nobody has used."""

    def begin(self, code: str) -> None:
        """Read the page, consent and begin, as a browser without scripts does."""
        path = f"/study/{SLUG}/start"
        with httpx.Client(base_url=self.address, timeout=120, headers={"Origin": self.address}) as browser:
            page = browser.get(path)
            page.raise_for_status()
            fields = {name: html.unescape(value) for name, value in HIDDEN.findall(page.text)}
            told = browser.post(path, data={**fields, "code": code, "participation": "yes"})
            if told.status_code != httpx.codes.SEE_OTHER:
                raise InputError(f"somebody could not begin: {told.status_code}")

    def table(self, query: str) -> list[dict[str, Any]]:
        """Return rows of the database."""
        with closing(sqlite3.connect(self.folder / "eitr.db", timeout=60)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(query)]


@contextmanager
def study_server(folder: Path, pages: StudyPages, run: StudyRun, settings: Mapping[str, str]) -> Iterator[StudyServer]:
    """Run `eitr serve` in a new folder, and create a study there by the command line."""
    port, server = free_port(), folder / "server"
    environment = {**SETTINGS, **settings, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    environment |= dict.fromkeys(("EITR_QUORUM", "EITR_MINIMUM", "EITR_MAXIMUM"), str(run.clients))

    def eitr(*arguments: str) -> str:
        command = [*COMMAND, *arguments, "--folder", str(server)]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | environment, check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise InputError(f"eitr {' '.join(arguments)}: {done.stderr[-2000:]}")
        return done.stdout

    listed = _write_pages(folder, pages)
    command = [*COMMAND, "serve", "--port", str(port), "--folder", str(server)]
    process = Process(command, port, folder / "serve.log", environment)
    try:
        process.wait("/readyz")
        wanted = (f"pages_per_person={run.pages_each}", f"alpha={run.alpha}", "uses_per_page=40", "copies=always")
        chosen = [word for one in wanted for word in ("--set", one)]
        chosen += ["--seed", str(run.seed), "--founders", "--unbounded"]
        eitr("study", "create", SLUG, "Pages about COVID-19", *chosen)
        eitr("study", "pages", SLUG, str(listed), "--copies", str(folder / "copies"))
        codes = eitr("study", "invite", SLUG, str(run.clients)).split()
        eitr("study", "open", SLUG)
        yield StudyServer(f"http://127.0.0.1:{port}", server, codes)
    finally:
        process.stop()


def tasks_of(participant: Participant, first_page: int) -> list[tuple[Task, int]]:
    """Return a participant's tasks, each with the place of its page in the list that was imported."""
    found = []
    for task in participant.tasks():
        copy = COPY.search(task.url)
        if copy is None:
            raise InputError(f"the address of a task is not that of an archived copy: {task.url}")
        found.append((task, int(copy[1]) - first_page))
    return found


def _write_pages(folder: Path, pages: StudyPages) -> Path:
    """Write the list of pages and their copies, in folders of this run alone."""
    copies = folder / "copies"
    copies.mkdir(parents=True)
    listed = folder / "pages.csv"
    with listed.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(("url", "truth", "copy"))
        for place, (page, label) in enumerate(zip(pages.study, pages.study_labels, strict=True)):
            name = f"{place:05d}.html"
            (copies / name).write_text(_html(page), "utf-8")
            rows.writerow((pages.addresses[place], NAMES[label], name))
    return listed


def _html(page: Any) -> str:
    title, about, words, text = (html.escape(part) for part in (page.title, page.description, page.keywords, page.text))
    metas = f'<meta name="description" content="{about}"><meta name="keywords" content="{words}">'
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>{metas}<p>{text}</p></html>'
