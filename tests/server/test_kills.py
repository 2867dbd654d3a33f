"""Nothing is lost: a server that is killed again and again ends every round as one that never was."""

import hashlib
import random
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, make_url, select, text

from eitr.client import Participant
from eitr.model.classifier import Classifier
from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, ModelRow, ObservationRow, RoundRow, RoundStatus, UpdateRow
from tests.server.conftest import new_postgres_database
from tests.server.process import Running
from tests.server.stored_updates import object_files
from tests.server.waiting import until

PEOPLE = 8
ATTACKERS = 2
START_SECONDS = 2.5
"""About how long a start takes; it decides only when a server is killed."""
LIFE_SECONDS = 2.5
"""A server that has started is killed within so long: before it answers, between two chunks, while it aggregates."""


@dataclass
class Story:
    """What the participants saw."""

    accepted: dict[tuple[int, str], str] = field(default_factory=dict)
    """By round and participant, the hash of what got a 2xx."""
    rounds: list[int] = field(default_factory=list)
    kills: int = 0


def vector(number: int, person: int) -> np.ndarray:
    """What a participant sends in its round of this number: honest noise about a common step, or its opposite."""
    shipped = Classifier.shipped().model.vector
    common = np.random.default_rng(number).normal(0, 0.01, shipped.shape)
    own = np.random.default_rng((number, person)).normal(0, 0.01, shipped.shape)
    return (shipped + (own - common if person < ATTACKERS else own + common)).astype(np.float32)


class Life:
    """A server on one port, with the same settings at every start."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder, self.database = folder, database
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self) -> Running:
        """Start it."""
        return Running(
            "serve",
            self.folder,
            "--database",
            self.database,
            port=self.port,
            minimum=PEOPLE,
            quorum=PEOPLE,
            maximum=PEOPLE,
            pause_seconds=0,
            poll_seconds=0.05,
            lease_seconds=1,
            margin=1,
            training="paper",  # the largest updates: there is more to lose between two chunks
        )


def lived(life: Life, people: list[tuple[str, str]], *, rounds: int, kills: int, chance: random.Random) -> Story:
    """Let everybody send an update in each of some rounds, in threads, while the server is killed so many times."""
    story, over, sent = Story(), threading.Event(), threading.Barrier(PEOPLE)
    lock = threading.Lock()
    enough = threading.Event()
    if kills == 0:
        enough.set()

    def pause(seconds: float) -> None:
        over.wait(min(seconds, 0.2))

    def take_part(person: int) -> None:
        with Participant(life.address, id=people[person][0], secret=people[person][1], attempts=1000) as me:
            me._sleep = pause
            last, number = 0, 0
            while True:
                number += 1
                # All decide together, at one moment, whether there is another round.
                sent.wait()
                if person == 0 and number > rounds and enough.is_set():
                    over.set()
                sent.wait()
                if over.is_set():
                    return
                found = me.wait_for_round(after=last, seconds=600, every=0.02)
                last = found.id
                data = vector(number, person).astype("<f4").tobytes()
                me.send_bytes(found.id, data)
                with lock:
                    story.accepted[found.id, people[person][0]] = hashlib.sha256(data).hexdigest()
                    if found.id not in story.rounds:
                        story.rounds.append(found.id)

    failures: list[Exception] = []

    def carefully(person: int) -> None:
        try:
            take_part(person)
        except Exception as error:
            failures.append(error)
            over.set()
            sent.abort()

    threads = [threading.Thread(target=carefully, args=(person,), daemon=True) for person in range(PEOPLE)]
    server = life.start()
    for thread in threads:
        thread.start()
    while not over.is_set():
        if story.kills < kills:
            over.wait(START_SECONDS * chance.uniform(0.8, 1.2) + chance.uniform(0, LIFE_SECONDS))
            server.kill()
            story.kills += 1
            server = life.start()
        else:
            enough.set()
            over.wait(0.2)
    for thread in threads:
        thread.join()
    if not failures:
        settled(life)
    assert server.stop() == 0
    assert failures == []
    return story


def settled(life: Life) -> None:
    """Wait until every round that got all its updates has ended."""
    database = Database(life.database)

    def all_ended() -> bool:
        with database.reading() as session:
            return session.scalar(select(func.count()).where(UpdateRow.object.is_not(None))) == 0

    until(all_ended, "the end of every round with all its updates")


def enrolled(life: Life) -> list[tuple[str, str]]:
    """Enrol everybody on a server that is stopped again."""
    found = []
    with life.start().ready() as server:
        for _ in range(PEOPLE):
            with Participant(server.address) as one:
                one.enrol()
                assert one.id is not None
                assert one.secret is not None
                found.append((one.id, one.secret))
    return sorted(found)


def told(database: Database, rounds: list[int]) -> Iterator[tuple[object, ...]]:
    """Yield what is known of each round, by its place in the story: numbers of rounds may have gaps."""
    with database.reading() as session:
        for place, id in enumerate(rounds):
            found = session.get_one(RoundRow, id)
            model = session.get_one(ModelRow, found.result)
            yield place, found.status, found.received, model.sha256
            for one in session.scalars(
                select(ObservationRow).where(ObservationRow.round == id).order_by(ObservationRow.participant)
            ):
                yield place, one.participant, one.reputation, one.weight, one.positive, one.negative


def check(life: Life, story: Story) -> None:
    """Every accepted update is in exactly one round that ended, once; nothing else is there."""
    assert object_files(life.folder) == []
    database = Database(life.database)
    with database.reading() as session:
        stored = session.execute(select(UpdateRow.round, UpdateRow.participant, UpdateRow.sha256)).all()
        assert {(round, who): sha256.hex() for round, who, sha256 in stored} == story.accepted
        assert len(stored) == len(story.accepted)
        for id in story.rounds:
            assert session.get_one(RoundRow, id).status == RoundStatus.PUBLISHED
        ended = session.scalars(select(AuditRow).where(AuditRow.action == "published a round")).all()
        assert sorted(one.detail["round"] for one in ended) == sorted(story.rounds)
        versions = session.execute(select(ModelRow.version, ModelRow.round).order_by(ModelRow.version)).all()
        assert [tuple(row) for row in versions] == [(1, None), *((k + 2, id) for k, id in enumerate(story.rounds))]
        seen = session.execute(select(ObservationRow.round, ObservationRow.participant)).all()
        assert {tuple(row) for row in seen} == set(story.accepted)
        assert session.scalar(select(func.count()).where(UpdateRow.object.is_not(None))) == 0
        if database.sqlite:
            assert session.scalar(text("PRAGMA integrity_check")) == "ok"
            assert session.execute(text("PRAGMA foreign_key_check")).all() == []


@dataclass
class Twins:
    """A database, and a copy of it as it is when it is asked for."""

    first: str
    copy: Callable[[], str]


@pytest.fixture(params=["sqlite", "postgresql"])
def twins(request: pytest.FixtureRequest, tmp_path: Path) -> Twins:
    """Two databases of one kind; of SQLite, the folder is copied, too."""
    if request.param == "sqlite":
        a, b = (f"sqlite:///{tmp_path / name / 'eitr.db'}" for name in "ab")
        return Twins(a, lambda: b)
    postgres = request.getfixturevalue("postgres")
    first = new_postgres_database(postgres)
    return Twins(first, lambda: new_postgres_database(postgres, template=str(make_url(first).database)))


def ends_as_an_undisturbed_one(folder: Path, twins: Twins, *, kills: int, rounds: int) -> None:
    (folder / "a").mkdir()
    disturbed = Life(folder / "a", twins.first)
    people = enrolled(disturbed)
    shutil.copytree(folder / "a", folder / "b")
    calm = Life(folder / "b", twins.copy())
    story = lived(disturbed, people, rounds=rounds, kills=kills, chance=random.Random(kills))
    assert story.kills == kills
    check(disturbed, story)
    quiet = lived(calm, people, rounds=len(story.rounds), kills=0, chance=random.Random(0))
    check(calm, quiet)
    assert len(quiet.rounds) == len(story.rounds) >= rounds
    assert list(told(Database(disturbed.database), story.rounds)) == list(told(Database(calm.database), quiet.rounds))


@pytest.mark.long
def test_a_server_that_is_killed_three_times_ends_every_round_as_an_undisturbed_one(
    tmp_path: Path, twins: Twins
) -> None:
    ends_as_an_undisturbed_one(tmp_path, twins, kills=3, rounds=3)


@pytest.mark.long
def test_a_server_that_is_killed_fifty_times_ends_every_round_as_an_undisturbed_one(
    tmp_path: Path, twins: Twins
) -> None:
    ends_as_an_undisturbed_one(tmp_path, twins, kills=50, rounds=6)
