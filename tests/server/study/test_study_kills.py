"""A server that is killed again and again loses no label, consent or withdrawal, and keeps none of them twice."""

import random
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select, text

from eitr.server.db.study_tables import StudyConsentRow, StudyPersonRow, StudyTaskRow, StudyWithdrawalRow
from eitr.server.db.tables import ParticipantRow
from eitr.server.domain.invitations import INVITATION
from eitr.taxonomy import NAMES
from tests.server.conftest import new_postgres_database
from tests.server.process import Running
from tests.server.study.world import SLUG, World

PEOPLE_AT_ONCE = 4
PAGES = 6
LIFE_SECONDS = 1.2
"""A server that answers is killed within so long."""
AGAIN = (429, 500, 502, 503, 504)
TOKEN = re.compile(r'name="csrf" value="([^"]+)"')
VERSION = re.compile(r'name="version" value="(\d+)"')
TEXTS = re.compile(r'name="texts" value="([0-9a-f]+)"')


@dataclass
class Story:
    """What one person was told; everything in it got an answer that promised it."""

    code: str
    consents: set[str] = field(default_factory=set)
    taken_back: bool = False
    labels: dict[int, str] = field(default_factory=dict)
    """By task."""
    completion_code: str | None = None
    withdrawn: bool = False


class Visitor:
    """A person with a browser and an extension, who tries again until there is an answer."""

    def __init__(self, address: str, code: str, over: threading.Event) -> None:
        # What a browser sends with a form of the same site.
        same_site = {"Sec-Fetch-Site": "same-origin"}
        self._http = httpx.Client(base_url=address, timeout=60, follow_redirects=False, headers=same_site)
        self._over = over
        self.story = Story(code)
        self._bearer: dict[str, str] = {}

    def ask(self, method: str, path: str, **options: object) -> tuple[httpx.Response, bool]:
        """Return the first answer that is one, and whether there may have been one before that was lost."""
        tried = False
        while True:
            try:
                answer = self._http.request(method, path, **options)  # type: ignore[arg-type]
                if answer.status_code not in AGAIN:
                    return answer, tried
            except httpx.TransportError:
                pass
            tried = True
            self._over.wait(0.05)

    def send_form(self, page: str, path: str, **fields: str) -> tuple[httpx.Response, bool]:
        """Send a form of the study site, with the token of the page that it is on."""
        shown, _ = self.ask("GET", f"/study/{SLUG}/{page}")
        assert shown.status_code in (200, 303, 401, 403, 404), shown.text
        token, version = TOKEN.search(shown.text), VERSION.search(shown.text)
        if token is None:
            return shown, True
        given = {"csrf": token[1], "version": version[1] if version else "1", "shown": "en", **fields}
        if texts := TEXTS.search(shown.text):
            given["texts"] = texts[1]
        return self.ask("POST", f"/study/{SLUG}/{path}", data=given)

    def begin(self) -> None:
        """Consent."""
        answer, _ = self.send_form("start", "start", code=self.story.code, participation="yes", collection="yes")
        assert answer.status_code == 303, answer.text
        self.story.consents = {"participation", "collection"}
        told, _ = self.ask("POST", "/api/v2/participants", json={"invitation": self.story.code})
        assert told.status_code == 201, told.text
        self._bearer = {"Authorization": f"Bearer {told.json()['id']}.{told.json()['secret']}"}

    def tasks(self) -> list[int]:
        answer, _ = self.ask("GET", "/api/v2/tasks", headers=self._bearer)
        return [task["id"] for task in answer.json()["tasks"]]

    def label(self, task: int, label: str | None) -> None:
        wish = {"state": "labelled"} if label is None else {"state": "labelled", "label": label}
        answer, _ = self.ask("PUT", f"/api/v2/tasks/{task}", json=wish, headers=self._bearer)
        assert answer.status_code == 200, answer.text
        if label is not None:
            self.story.labels[task] = label
        self.story.completion_code = answer.json()["completion_code"]

    def take_back(self) -> None:
        answer, _ = self.send_form("me", "me/consents/collection/withdraw")
        assert answer.status_code == 303, answer.text
        self.story.taken_back = True

    def withdraw(self, by_extension: bool) -> None:
        if by_extension:
            answer, tried = self.ask("DELETE", "/api/v2/me", headers=self._bearer)
            assert answer.status_code == 204 or (tried and answer.status_code == 401), answer.text
        else:
            answer, tried = self.send_form("me/withdraw", "me/withdraw", sure="yes")
            # Who tries again after a lost answer is a stranger by now.
            assert "/withdrawn" in answer.headers.get("Location", "") or tried, answer.text
        self.story.withdrawn = True

    def close(self) -> None:
        self._http.close()


def live(visitor: Visitor, number: int) -> None:
    """Do what people do: everybody labels, some take a consent back, some leave in one way or the other."""
    visitor.begin()
    tasks = visitor.tasks()
    assert len(tasks) == PAGES
    for place, task in enumerate(tasks):
        if number % 4 == 1 and place == 3:
            visitor.take_back()
        label = NAMES[(number + place) % len(NAMES)]
        visitor.label(task, None if visitor.story.taken_back else label)
    if number % 4 in (2, 3):
        visitor.withdraw(by_extension=number % 4 == 3)


def check(world: World, stories: list[Story]) -> Counter[str]:
    """Compare what people were told with the database; return how much of what there was."""
    seen: Counter[str] = Counter()
    with world.database.reading() as session:
        for story in stories:
            hash = world.key.hash(INVITATION, story.code)
            person = session.scalar(select(StudyPersonRow).where(StudyPersonRow.invitation == hash))
            participants = session.scalars(select(ParticipantRow).where(ParticipantRow.invitation == hash)).all()
            left = session.scalars(select(StudyWithdrawalRow).where(StudyWithdrawalRow.hash == hash)).all()
            assert len(left) == story.withdrawn
            seen["withdrawals"] += len(left)
            if story.withdrawn:
                assert (person, participants) == (None, [])
                continue
            assert person is not None
            assert len(participants) == 1
            consents = session.scalars(select(StudyConsentRow).where(StudyConsentRow.person == person.id)).all()
            assert sorted(row.kind for row in consents) == sorted(story.consents), "each once"
            in_force = {row.kind for row in consents if row.in_force}
            assert in_force == story.consents - ({"collection"} if story.taken_back else set())
            rows = session.scalars(select(StudyTaskRow).where(StudyTaskRow.person == person.id)).all()
            assert len(rows) == len({row.page for row in rows}) == PAGES
            kept = {row.id: row.label for row in rows if row.label is not None}
            assert kept == ({} if story.taken_back else story.labels)
            assert {row.state for row in rows} == {"labelled"}
            assert person.completion_code == story.completion_code is not None
            seen["consents"] += len(consents)
            seen["labels"] += len(kept)
        assert session.scalar(select(func.count()).select_from(StudyWithdrawalRow)) == seen["withdrawals"]
        assert session.scalar(select(func.count()).select_from(StudyConsentRow)) == seen["consents"]
        if world.database.sqlite:
            assert session.scalar(text("PRAGMA integrity_check")) == "ok"
            assert session.execute(text("PRAGMA foreign_key_check")).all() == []
    return seen


def lived(start: Callable[[], Running], address: str, codes: list[str], kills: int) -> list[Story]:
    """Let people come and go while a server is killed; return what they were told."""
    enough, over, failures = threading.Event(), threading.Event(), list[BaseException]()
    stories: list[Story] = []
    waiting = iter(enumerate(codes))
    turn = threading.Lock()

    def come_and_go() -> None:
        while not enough.is_set() and not failures:
            with turn:
                number, code = next(waiting)
            visitor = Visitor(address, code, over)
            try:
                live(visitor, number)
                stories.append(visitor.story)
            except BaseException as error:
                failures.append(error)
            visitor.close()

    threads = [threading.Thread(target=come_and_go) for _ in range(PEOPLE_AT_ONCE)]
    for thread in threads:
        thread.start()
    chance, server = random.Random(kills), start()
    for _ in range(kills):
        if failures:
            break
        if chance.random() < 0.9:  # the others are killed while they start
            server.ready()
        over.wait(chance.uniform(0, LIFE_SECONDS))
        server.kill()
        server = start()
    enough.set()
    server.ready()
    for thread in threads:
        thread.join()
    assert server.stop() == 0
    assert failures == []
    return stories


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'server' / 'eitr.db'}"
    return new_postgres_database(request.getfixturevalue("postgres"))


@pytest.mark.long
@pytest.mark.parametrize("kills", [3, 50])
def test_a_server_that_is_killed_loses_no_label_consent_or_withdrawal_and_keeps_none_twice(
    tmp_path: Path, database: str, kills: int
) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    world = World(folder, database)
    world.study(60, collect_labels=True, pages_per_person=PAGES)
    codes = world.studies.register.invite(SLUG, 5000, who="ada")
    world.close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def start() -> Running:
        return Running("serve", folder, "--no-worker", "--database", database, port=port)

    stories = lived(start, f"http://127.0.0.1:{port}", codes, kills)
    world = World(folder, database)
    seen = check(world, stories)
    world.close()
    print(f"{kills} kills, {len(stories)} people, {dict(seen)}")
    assert min(seen["labels"], seen["consents"], seen["withdrawals"]) > 0
