"""Somebody else holds the write lock of the database: reads go on, writes wait, and at last are told to come back."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import sqlalchemy
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from eitr.client import Participant
from eitr.model.update_encoding import PARAMETERS
from eitr.server.composition.app import application
from eitr.server.composition.wiring import build_services
from eitr.server.db import connection
from eitr.server.db.connection import is_busy
from eitr.server.db.tables import ParticipantRow
from eitr.server.domain.clock import now
from eitr.server.domain.participants import SEEN_EVERY
from eitr.server.settings import read_settings
from tests.server.federation import Federation
from tests.server.hostile.conftest import digest_of, problem
from tests.server.process import Running
from tests.server.second_process import write_lock
from tests.server.waiting import LONGEST_SECONDS

ENROLMENTS = 45
"""More than the server has threads."""
READS = ("/api/v2/model", "/api/v2/rounds/current", "/readyz", "/metrics", "/login", "/healthz")
READ_SECONDS = 20.0
"""Only a busy machine needs more than a moment; a read that waits for the lock needs for ever."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    folder = tmp_path_factory.mktemp("locked") / "server"
    with Running("serve", folder, automatic_rounds=True).ready() as running, Participant(running.address) as me:
        me.wait_for_round(seconds=300)
        yield running, folder / "eitr.db"


def enrol(address: str) -> Callable[[], int]:
    """Ask to enrol; return a function that waits for the answer and returns its status."""
    host, port = address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=300)
    connection.sendall(
        b"POST /api/v2/participants HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    )

    def answer() -> int:
        with connection:
            data = b"".join(iter(lambda: connection.recv(65536), b""))
        return int(data.split()[1])

    return answer


def test_reads_do_not_wait_for_a_writer_and_writes_go_on_after_it(server: tuple[Running, Path]) -> None:
    running, database = server
    with Participant(running.address) as me:
        me.enrol()
    known = {"Authorization": f"Bearer {me.id}.{me.secret}"}
    with write_lock(database):
        waiting = [enrol(running.address) for _ in range(ENROLMENTS)]
        with httpx.Client(base_url=running.address, timeout=READ_SECONDS) as http:
            for _ in range(3):
                for path in READS:
                    assert http.get(path).status_code == 200, path
                assert http.get("/api/v2/me/export", headers=known).status_code == 200
    assert [answer() for answer in waiting] == [201] * ENROLMENTS


@pytest.fixture
def hasty(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Federation]:
    """A federation whose writers wait for a moment only, on each kind of database in turn."""
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    found = Federation(tmp_path, address, quorum=200, maximum=200)
    yield found
    found.close()


@contextmanager
def locked(federation: Federation) -> Iterator[None]:
    """Let somebody else hold all locks that writers need."""
    if federation.database.file is not None:
        with write_lock(federation.database.file):
            yield
        return
    engine = sqlalchemy.create_engine(federation.settings.database, poolclass=sqlalchemy.NullPool)
    with engine.begin() as session:
        session.exec_driver_sql("LOCK TABLE participants, rounds, updates, limits IN EXCLUSIVE MODE")
        yield


def test_a_writer_waits_for_a_bounded_time_only(hasty: Federation) -> None:
    with locked(hasty), pytest.raises(OperationalError) as error:
        hasty.enrol(1)
    assert is_busy(error.value)
    assert len(hasty.enrol(1)) == 1


def test_updates_that_wait_for_the_lock_are_all_told_and_can_be_sent_again(hasty: Federation) -> None:
    people, round = hasty.enrol(20), hasty.rounds.open()
    assert round is not None
    with locked(hasty):
        errors = [hasty.submit(round, person).exception(timeout=LONGEST_SECONDS) for person in people]
    assert all(error is not None and is_busy(error) for error in errors)
    for person in people:
        hasty.send(round, person)
    found = hasty.rounds.get(round)
    assert found is not None
    assert found.received == 20


def test_who_is_known_is_known_though_it_cannot_be_noted_that_they_were_there(hasty: Federation) -> None:
    somebody = hasty.participants.enrol(None, invited_only=False)
    long_ago = now() - 2 * SEEN_EVERY
    with hasty.database.writing() as session:
        session.get_one(ParticipantRow, somebody.id).seen = long_ago

    def seen() -> bool:
        with hasty.database.reading() as session:
            return session.get_one(ParticipantRow, somebody.id).seen > long_ago

    with locked(hasty):
        assert hasty.participants.known(somebody.id, somebody.secret)
    assert not seen()
    assert hasty.participants.known(somebody.id, somebody.secret)
    assert seen()


def test_who_waited_in_vain_is_told_when_to_come_back(hasty: Federation) -> None:
    hasty.rounds.open()
    settings = read_settings(folder=hasty.settings.folder, database=hasty.settings.database, worker=False)
    app = application(build_services(settings))
    with TestClient(app, client=("192.0.2.1", 50000)) as http:
        somebody = http.post("/api/v2/participants").json()
        headers = {
            "Authorization": f"Bearer {somebody['id']}.{somebody['secret']}",
            "Content-Type": PARAMETERS,
            "Content-Digest": digest_of(hasty.update(somebody["id"])),
        }

        def requests() -> list[httpx.Response]:
            return [
                http.post("/api/v2/participants"),
                http.put("/api/v2/rounds/1/update", content=hasty.update(somebody["id"]), headers=headers),
                http.put("/api/v2/rounds/1/update", content=b"short", headers=headers),
                http.delete("/api/v2/me", headers=headers),
            ]

        with locked(hasty):
            for answer in requests():
                assert answer.status_code == 503, answer.request
                assert problem(answer) == "busy"
                assert int(answer.headers["Retry-After"]) > 0
        assert [answer.status_code for answer in requests()] == [201, 202, 422, 204]
