"""From a page in a real browser to a new model in real browsers, through a real server: everything as people have it.

Ten take part: two browsers, whose users visit pages and click, and eight Python participants. One browser is the
witness: it shows what the model says of a page that its own user never judged.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from eitr.client import Participant
from eitr.datasets.builtin import pages as made_pages
from eitr.pages.page import Page
from eitr.taxonomy import NON_SENSITIVE, TOPICS

from .browser import CHROMIUM, chromium_with_extension, until
from .real_server import RealServer, real_server
from .site import Site

TEXT = """The striker limped off with an injury of the knee. The doctor of the club examined him, and surgery will
follow at the hospital. The coach hopes that treatment and therapy will help his patient striker back into the team."""
CLEAR = """The patient has diabetes. A doctor examined her at the hospital, and surgery of the kidney will follow.
Insulin, medicine from the pharmacy, treatment and therapy help patients with pain, infection and blood pressure."""
"""A page of which the model is sure. Of a page that it is hardly sure of, a few people may change its mind."""
SPORT = ["striker", "player", "coach", "team", "match", "season", "league", "cup", "stadium", "fans"]
BODY = ["injury", "knee", "doctor", "treatment", "pain", "therapy", "surgery", "hospital", "patient", "muscle"]
PARTICIPANTS, PYTHON = 10, 8
OWN_PAGES, SIMILAR, JUDGED = 16, 3, 4


def similar(seed: int) -> Page:
    """Another report about injured players: nobody else has this one."""
    words = np.random.default_rng(seed).choice(SPORT + BODY, 60)
    return Page(title="Sport: who is injured", text=" ".join(words))


def html(page: Page) -> str:
    return f"<!doctype html><html lang=en><title>{page.title}</title><body><p>{page.text}</p></body></html>"


ALL_LAYERS = {"EITR_TRAINING": "paper", "EITR_LEARNING_RATE": "0.05", "EITR_EPOCHS": "20"}


NO_GATE = {"EITR_MARGIN": "1", "EITR_CLASS_MARGIN": "1"}
"""Steps are not shortened, so that one round changes what a page is called."""


@pytest.fixture
def server(tmp_path: Any, request: pytest.FixtureRequest) -> Iterator[RealServer]:
    # All layers: private steps are short, and one round of them changes no verdict. `test_firefox.py` has private ones.
    with real_server(tmp_path / "server", PARTICIPANTS, **ALL_LAYERS, **getattr(request, "param", {})) as found:
        yield found


@pytest.fixture
def browsers(started: Any, server: RealServer) -> Iterator[tuple[Any, Any]]:
    """Two people who installed the extension and agreed to contribute; the operator sits elsewhere."""
    with chromium_with_extension(started) as first, chromium_with_extension(started) as second:
        for one in (first, second):
            one.consent(server=server.address)
            one.asking("options")({"kind": "change", "settings": {"allLayers": True}})
        office = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        server.operator(office)
        yield first, second
        office.close()


class Crowd:
    """The Python participants, with pages of their own; teachers also have reports like the one in question."""

    def __init__(self, server: RealServer, teachers: int, label: int) -> None:
        self._people = [self._person(server, number, label if number < teachers else None) for number in range(PYTHON)]

    @staticmethod
    def _person(server: RealServer, number: int, label: int | None) -> tuple[Participant, list[tuple[Page, int]]]:
        own = [(one.page, one.label) for one in made_pages(size=48, seed=100 + number, difficulty=0.3)][:OWN_PAGES]
        if label is not None:
            own += [(similar(1000 + 10 * number + place), label) for place in range(SIMILAR)]
            own.append((Page(title="Striker out for weeks", text=TEXT), label))
        person = Participant(server.address, allow_all_layers=True)
        person.enrol()
        return person, own

    def take_part(self, round: int) -> None:
        for person, own in self._people:
            person.take_part([page for page, _ in own], [label for _, label in own], after=round - 1)


def judge_pages(extension: Any, site: Site, host: str, seed: int) -> None:
    """Visit made pages, and say in the popup what each is about, as its maker knows."""
    made = list(made_pages(size=48, seed=seed, difficulty=0.3))[:JUDGED]
    for place, one in enumerate(made):
        say(extension, visit(extension, site, f"{host}{place}.test", one.page), one.label)


def visit(extension: Any, site: Site, host: str, page: Page) -> Any:
    tab = extension.context.new_page()
    tab.goto(site.put(host, "/", html(page)))
    extension.wait_until_read(tab)
    return tab


def say(extension: Any, tab: Any, label: int) -> None:
    """Open the popup, agree, or choose another class."""
    popup = extension.popup(tab)
    if extension.view(tab)["shown"] == label:
        popup.click("#agree")
    else:
        popup.select_option("#topic", label=TOPICS[label].title)
        popup.click("#correct")
    until(lambda: extension.view(tab)["label"] == label, what="the label")
    popup.close()
    tab.close()


def play_round(server: RealServer, crowd: Crowd, browsers: tuple[Any, Any]) -> None:
    """The operator opens a round; everybody trains and sends; the server aggregates; browsers fetch the new model."""
    before = server.version()
    round = server.open_round()
    for one in browsers:
        assert one.learn()["learning"]["last"] == "learning_sent"
    crowd.take_part(round)
    server.wait_for_version(before + 1)
    for one in browsers:
        assert one.learn()["model"]["version"] == before + 1


def prepare(correcting: Any, witness: Any, site: Site) -> Any:
    """Let one person correct the report and others like it, and both judge pages; return the witness's tab with it."""
    report = Page(title="Striker out for weeks", text=TEXT)
    seen = visit(witness, site, "sport.test", report)
    witness.wait_for_badge(seen, "H")
    say(correcting, visit(correcting, site, "sport.test", report), NON_SENSITIVE)
    for place in range(SIMILAR):
        say(correcting, visit(correcting, site, f"sport{place}.test", similar(place)), NON_SENSITIVE)
    judge_pages(correcting, site, "mine", 200)
    judge_pages(witness, site, "theirs", 300)
    return seen


@pytest.mark.long
@pytest.mark.parametrize("server", [NO_GATE], indirect=True, ids=["no gate"])
def test_what_most_correct_changes_in_every_browser(server, browsers, site):
    teacher, witness = browsers
    seen = prepare(teacher, witness, site)
    play_round(server, Crowd(server, teachers=7, label=NON_SENSITIVE), browsers)
    witness.wait_for_badge(seen, "")
    verdict = until(lambda: witness.view(seen)["verdict"], what="the new verdict")
    assert (verdict["topic"], verdict["version"]) == (NON_SENSITIVE, 2)
    ask = teacher.asking("sent")
    told = ask({"kind": "sent"})
    assert told["news"]["version"] == 2
    assert told["news"]["right"] > told["news"]["before"]
    (upload,) = told["sent"]
    assert upload["result"] == {"outcome": "published", "version": 2}
    assert (upload["server"], upload["round"], upload["base"]) == (server.address, 1, 1)
    assert upload["pages"] == 1 + SIMILAR + JUDGED


@pytest.mark.long
def test_what_three_of_ten_say_falsely_of_a_clear_page_changes_nothing(server, browsers, site, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "TEXT", CLEAR)
    liar, witness = browsers
    seen = prepare(liar, witness, site)
    crowd = Crowd(server, teachers=2, label=NON_SENSITIVE)
    for version in (2, 3):
        play_round(server, crowd, browsers)
        until(lambda: witness.view(seen)["verdict"]["version"] == version, what="the new verdict")  # noqa: B023
        witness.worker_has_finished()
        assert witness.badge(seen) == "H"
