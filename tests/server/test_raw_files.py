"""What is deleted is gone from the disk, and what is there only the owner can read."""

import logging
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from eitr.client import Participant
from eitr.model.classifier import Classifier
from eitr.server.composition.wiring import prepared_database
from eitr.server.db import schema
from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, RoundRow, RoundStatus, UpdateRow
from eitr.server.domain.keys import FILE
from eitr.server.settings import read_settings
from tests.server.federation import Federation
from tests.server.process import Running
from tests.server.raw_files import found_in
from tests.server.stored_updates import object_files
from tests.server.waiting import until

KILLED = """
import os, signal, sys
from pathlib import Path
from eitr.server.db.connection import Database
from tests.server.federation import Federation

federation = Federation(Path(sys.argv[1]), sys.argv[2])
federation.full_round(federation.enrol(4))
worker = federation.worker()
federation.database.purge_if_due()
Database.purge = lambda self: os.kill(os.getpid(), signal.SIGKILL)
worker.step()
"""
"""A round whose worker is killed when the round has ended and its bytes are not yet removed from the disk."""


def status(federation: Federation, round: int) -> str:
    found = federation.rounds.get(round)
    assert found is not None
    return found.status


def test_an_update_is_gone_from_the_files_when_its_round_has_ended(federation: Federation) -> None:
    people = federation.enrol(4)
    data = federation.update(people[0], 1)
    number = federation.full_round(people)
    assert found_in(federation.database, data, federation.settings.folder) > 10, (
        "the bytes are there while the round is open"
    )
    federation.worker().step()
    assert status(federation, number) == RoundStatus.PUBLISHED
    assert found_in(federation.database, data, federation.settings.folder) == 0


def test_an_update_is_gone_from_the_files_when_its_round_is_abandoned(federation: Federation) -> None:
    people = federation.enrol(2)
    data = federation.update(people[0], 1)
    number = federation.full_round(people)
    assert found_in(federation.database, data, federation.settings.folder) > 10
    assert federation.rounds.abandon(number, "a test", RoundStatus.OPEN)
    assert found_in(federation.database, data, federation.settings.folder) == 0


def test_an_update_of_somebody_who_leaves_is_gone_from_the_files(federation: Federation) -> None:
    people = federation.enrol(2)
    data = federation.update(people[0], 1)
    federation.full_round(people[:1])
    assert found_in(federation.database, data, federation.settings.folder) > 10
    federation.participants.erase(people[0])
    assert found_in(federation.database, data, federation.settings.folder) == 0


def test_the_updates_of_the_next_round_are_not_removed(federation: Federation) -> None:
    """The first round's bytes may be removed only when the next round has some already."""
    people = federation.enrol(4)
    federation.full_round(people)
    federation.worker().step()
    number = federation.full_round(people[:3])
    federation.database.purge()
    with federation.database.reading() as session:
        assert len(session.scalars(select(UpdateRow.id).where(UpdateRow.object.is_not(None))).all()) == 3
    federation.send(number, people[3])
    federation.worker().step()
    assert status(federation, number) == RoundStatus.PUBLISHED


@pytest.mark.long
def test_a_killed_worker_leaves_bytes_that_the_next_one_removes(address: str, tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), address], check=False, timeout=300)
    assert killed.returncode == -signal.SIGKILL
    database = Database(address)
    with database.reading() as session:
        assert session.scalars(select(RoundRow.status)).one() == RoundStatus.PUBLISHED, "the round had ended"
    data = object_files(tmp_path)[0].read_bytes()
    assert found_in(database, data, tmp_path) > 10, "the bytes are still there"
    database.close()
    federation = Federation(tmp_path, address, automatic_rounds=False)
    federation.worker().step()
    assert found_in(federation.database, data, federation.settings.folder) == 0
    assert federation.models.current().version == 2
    federation.close()


@pytest.mark.long
def test_a_killed_server_leaves_no_update_once_it_has_started_again(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    settings: dict[str, Any] = {
        "minimum": 2,
        "quorum": 2,
        "maximum": 2,
        "pause_seconds": 3600,
        "poll_seconds": 0.05,
        "margin": 1,
        "training": "paper",
    }
    base = Classifier.shipped().model.vector
    data = [(base + 1e-3 * (person + 1)).astype("<f4").tobytes() for person in range(2)]
    with Running("serve", folder, **settings).ready() as server:
        people = [Participant(server.address) for _ in data]
        for person in people:
            person.enrol()
        number = people[0].wait_for_round(after=0, seconds=300, every=0.05).id
        people[0].send_bytes(number, data[0])
        server.kill()
    database = Database(f"sqlite:///{folder / 'eitr.db'}")
    assert found_in(database, data[0]) > 10, "an open round keeps its updates"
    with Running("serve", folder, **settings).ready() as server:
        with Participant(server.address, id=people[1].id, secret=people[1].secret) as last:
            last.send_bytes(number, data[1])

        def ended() -> bool:
            with database.reading() as session:
                return session.get_one(RoundRow, number).status == RoundStatus.PUBLISHED

        until(ended, "the end of the round")
        server.kill()
    with Running("serve", folder, **settings).ready():
        until(lambda: found_in(database, data[0]) + found_in(database, data[1]) == 0, "the removal of all updates")
    database.close()


def test_what_an_older_program_deleted_is_overwritten_at_the_first_start(tmp_path: Path) -> None:
    settings = read_settings(folder=tmp_path)
    prepared_database(settings)[0].close()
    secret = os.urandom(100_000)
    old = sqlite3.connect(tmp_path / "eitr.db")
    for statement in ("PRAGMA secure_delete=OFF", "PRAGMA user_version=0", "CREATE TABLE old (data BLOB)"):
        old.execute(statement)
    old.execute("INSERT INTO old VALUES (?)", (secret,))
    old.execute("DROP TABLE old")
    old.commit()
    old.close()
    assert secret[50_000:50_100] in (tmp_path / "eitr.db").read_bytes()
    prepared_database(settings)[0].close()
    assert secret[50_000:50_100] not in (tmp_path / "eitr.db").read_bytes()


@pytest.fixture
def no_umask() -> Iterator[None]:
    """Let the process create files that everybody can read."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}


@pytest.mark.usefixtures("no_umask")
def test_only_the_owner_can_read_the_files_of_a_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "server"
    federation = Federation(folder, f"sqlite:///{folder / 'eitr.db'}")
    federation.full_round(federation.enrol(2))
    assert modes(folder) == {
        "server": 0o700,
        "eitr.db": 0o600,
        "eitr.db-wal": 0o600,
        "eitr.db-shm": 0o600,
        FILE: 0o600,
        "updates": 0o700,
    }
    assert {path.stat().st_mode & 0o777 for path in object_files(folder)} == {0o600}
    assert {path.parent.stat().st_mode & 0o777 for path in object_files(folder)} == {0o700}
    assert "others could read" not in caplog.text, "they were created so"
    federation.close()


@pytest.mark.usefixtures("no_umask")
def test_files_that_an_older_program_left_open_are_closed_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "server"
    federation = Federation(folder, f"sqlite:///{folder / 'eitr.db'}")
    federation.close()
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o644)
    with caplog.at_level(logging.WARNING):
        Federation(folder, f"sqlite:///{folder / 'eitr.db'}").close()
    assert set(modes(folder).values()) == {0o700, 0o600}
    assert [line for line in caplog.messages if "others could read" in line] == [
        f"others could read {name}: only its owner can now" for name in ("server", FILE, "updates", "eitr.db")
    ]


def test_a_file_whose_permissions_cannot_be_changed_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "server"
    folder.mkdir(mode=0o755)

    def refused(self: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refused)
    Federation(folder, f"sqlite:///{folder / 'eitr.db'}").close()
    assert "others can read server, and it cannot be changed: Operation not permitted" in caplog.messages


def test_a_second_program_that_ends_leaves_the_log_to_the_first(tmp_path: Path) -> None:
    file = tmp_path / "eitr.db"
    database = Database(f"sqlite:///{file}")
    schema.upgrade(database)
    insert = "INSERT INTO audit (at, who, action, detail) VALUES ('2026-01-01', 'another program', 'wrote', '{}')"
    other = f"import sqlite3; c = sqlite3.connect({str(file)!r}); c.execute({insert!r}); c.commit(); c.close()"
    with database.engine.connect(), database.engine.connect():  # the second is opened while the first has its locks
        log = file.with_name("eitr.db-wal").stat().st_ino
        subprocess.run([sys.executable, "-c", other], check=True)
        assert file.with_name("eitr.db-wal").stat().st_ino == log
    with database.reading() as session:
        assert session.scalars(select(AuditRow.who)).all() == ["another program"]
    database.close()
