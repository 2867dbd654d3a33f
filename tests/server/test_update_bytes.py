"""The bytes of updates: a crash leaves neither orphans nor gaps, damage ends no round, and what is deleted is gone."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from eitr.errors import InputError
from eitr.server.db import connection
from eitr.server.db.tables import (
    AuditRow,
    ObservationRow,
    OverwriteRow,
    ParticipantRow,
    RefusalRow,
    RoundRow,
    RoundStatus,
    UpdateRow,
)
from eitr.server.domain import ingest
from eitr.server.domain.errors import BusyError
from eitr.server.domain.ingest import store
from eitr.server.domain.update_bytes import ORPHAN_SECONDS
from eitr.server.update_store.folder import FolderStore
from eitr.server.update_store.interface import StoreUnavailableError, new_name
from tests.server.federation import Clock, Federation
from tests.server.s3_server import BUCKET, S3Server
from tests.server.stored_updates import object_files, stored_bytes
from tests.server.waiting import LONGEST_SECONDS

KILLED = """
import os, signal, sys
from pathlib import Path
from eitr.server.domain import ingest
from tests.server.federation import Federation

federation = Federation(Path(sys.argv[1]), sys.argv[2])
people = federation.enrol(4)
round = federation.full_round(people[:3])
ingest._count = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
federation.send(round, people[3])
"""
"""A server that is killed when the object of an update is written, and its row is not committed."""


def rows(federation: Federation) -> list[UpdateRow]:
    with federation.database.reading() as session:
        return list(session.scalars(select(UpdateRow).order_by(UpdateRow.id)))


def status(federation: Federation, number: int) -> RoundRow:
    found = federation.rounds.get(number)
    assert found is not None
    return found


@pytest.mark.long
def test_a_crash_between_object_and_row_loses_nothing_and_leaves_nothing(address: str, tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), address], check=False, timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert len(object_files(tmp_path)) == 4, "three with rows, and one without"
    federation = Federation(tmp_path, address, automatic_rounds=False)
    stored = rows(federation)
    assert len(stored) == 3
    with federation.database.reading() as session:
        people = session.scalars(select(ParticipantRow.id)).all()
    [last] = {*people} - {row.participant for row in stored}
    federation.send(stored[0].round, last)
    federation.worker().step()
    assert status(federation, stored[0].round).status == RoundStatus.PUBLISHED
    assert object_files(tmp_path) == []
    federation.close()


def test_an_object_that_no_row_names_is_deleted_when_it_is_old(federation: Federation) -> None:
    number = federation.full_round(federation.enrol(2))
    kept = object_files(federation.settings.folder)
    orphan = new_name(federation.updates.store, number)
    federation.updates.store.put(orphan, [b"orphan"])
    assert federation.updates.remove_deleted()
    [file] = {*object_files(federation.settings.folder)} - {*kept}  # a young one may be part of a transaction
    old = file.stat().st_mtime - timedelta(seconds=ORPHAN_SECONDS + 1).total_seconds()
    for path in (file, *kept):
        os.utime(path, (old, old))
    assert federation.updates.remove_deleted()
    assert object_files(federation.settings.folder) == kept


def test_an_object_of_a_round_that_ended_is_deleted_at_once(federation: Federation) -> None:
    number = federation.full_round(federation.enrol(2))
    assert federation.rounds.abandon(number, "a test", RoundStatus.OPEN)
    federation.updates.store.put(new_name(federation.updates.store, number), [b"late"])
    assert federation.updates.remove_deleted()
    assert object_files(federation.settings.folder) == []


def test_a_transaction_that_is_rolled_back_deletes_its_object(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    [person], number = federation.enrol(1), federation.rounds.open()
    assert number is not None
    there: list[int] = []

    def failing(*_: object) -> None:
        there.append(len(object_files(federation.settings.folder)))
        raise ZeroDivisionError

    monkeypatch.setattr(ingest, "_count", failing)
    with pytest.raises(ZeroDivisionError):
        federation.send(number, person)
    assert there == [1], "it is written before the rows are committed"
    assert rows(federation) == []
    assert object_files(federation.settings.folder) == []


def test_whoever_leaves_is_overwritten_and_others_in_the_object_stay(federation: Federation) -> None:
    people, number = federation.enrol(3), federation.rounds.open()
    assert number is not None
    with federation.database.writing() as session:
        batch = [federation.sent(number, person) for person in people]
        assert store(session, batch, federation.updates.store) == [None] * 3
    before = {row.participant: row for row in rows(federation)}
    assert len({row.object for row in before.values()}) == 1
    federation.participants.erase(people[1])
    folder = federation.settings.folder
    assert stored_bytes(folder, before[people[1]]) == bytes(before[people[1]].size)
    for person in (people[0], people[2]):
        assert stored_bytes(folder, before[person]) == federation.update(person, number)
    with federation.database.reading() as session:
        assert session.scalars(select(OverwriteRow)).all() == []


def test_what_cannot_be_removed_now_is_removed_later(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RETRY_SECONDS", 0.0)
    people = federation.enrol(4)
    number = federation.full_round(people[:3])
    with monkeypatch.context() as broken:
        broken.setattr(FolderStore, "overwrite", _unavailable)
        federation.participants.erase(people[0])
    federation.send(number, people[3])
    with monkeypatch.context() as broken:
        broken.setattr(FolderStore, "delete", _unavailable)
        assert federation.rounds.abandon(number, "a test", RoundStatus.OPEN)
    assert len(object_files(federation.settings.folder)) == 4
    federation.database.purge_if_due()
    assert object_files(federation.settings.folder) == []
    with federation.database.reading() as session:
        assert session.scalars(select(OverwriteRow)).all() == []


def test_a_damaged_update_is_left_out_and_is_no_evidence(federation: Federation) -> None:
    people = federation.enrol(4)
    number = federation.full_round(people)
    damaged, missing = (row for row in rows(federation) if row.participant in people[:2])
    file = {
        row.id: federation.settings.folder / "updates" / str(row.object).partition("/")[2] for row in (damaged, missing)
    }
    content = bytearray(file[damaged.id].read_bytes())
    content[5] ^= 1
    file[damaged.id].write_bytes(content)
    file[missing.id].unlink()
    federation.worker().step()
    assert status(federation, number).status == RoundStatus.PUBLISHED
    with federation.database.reading() as session:
        seen = {one.participant: one for one in session.scalars(select(ObservationRow))}
        assert session.scalars(select(RefusalRow)).all() == []
        [entry] = session.scalars(select(AuditRow).where(AuditRow.action == "could not read updates"))
    assert entry.detail == {"round": number, "updates": 2}
    assert set(seen) == set(people)
    for person in people[:2]:
        assert (seen[person].weight, seen[person].positive, seen[person].refused) == (0.0, None, False)
    assert all(seen[person].reputation is not None for person in people[2:])


def test_a_round_of_which_too_little_can_be_read_is_abandoned(federation: Federation) -> None:
    number = federation.full_round(federation.enrol(4))
    for file in object_files(federation.settings.folder):
        file.unlink()
    federation.worker().step()
    found = status(federation, number)
    assert (found.status, found.reason) == (
        RoundStatus.ABANDONED,
        "4 of 4 updates could not be read: they are damaged or missing",
    )


def test_a_round_waits_for_a_store_that_does_not_answer(
    federation: Federation, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, worker = federation.full_round(federation.enrol(4)), federation.worker()
    with monkeypatch.context() as broken:
        broken.setattr(FolderStore, "get", _unavailable)
        assert worker.step()
    found = status(federation, number)
    assert (found.status, found.failures) == (RoundStatus.AGGREGATING, 0)
    clock.forward(federation.settings.lease_seconds + 1)
    assert worker.step()
    assert status(federation, number).status == RoundStatus.PUBLISHED


def test_senders_are_told_to_come_again_when_nothing_can_be_stored(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, number = federation.enrol(3), federation.rounds.open()
    assert number is not None
    with monkeypatch.context() as broken:
        broken.setattr(FolderStore, "put", _unavailable)
        errors = [federation.submit(number, person).exception(timeout=LONGEST_SECONDS) for person in people]
    assert all(isinstance(error, BusyError) and error.retry_after for error in errors)
    assert rows(federation) == []
    for person in people:
        federation.send(number, person)
    assert status(federation, number).received == 3


def test_a_process_with_another_store_does_not_start(federation: Federation, tmp_path: Path) -> None:
    federation.full_round(federation.enrol(2))
    with pytest.raises(InputError, match="another store"):
        Federation(tmp_path, federation.settings.database, update_store=str(tmp_path / "elsewhere"))


@pytest.mark.long
def test_a_round_whose_updates_are_in_a_bucket_leaves_nothing_there(
    address: str, tmp_path: Path, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    prefix = tmp_path.name
    federation = Federation(tmp_path, address, update_store=f"s3://{BUCKET}/{prefix}")
    people = federation.enrol(5)
    number = federation.full_round(people[:4])
    data = federation.update(people[0], number)
    files = [path.read_bytes() for path in (s3.folder / prefix).rglob("*") if path.is_file()]
    assert any(data in content for content in files), "the bucket has it while the round is open"
    federation.participants.erase(people[0])
    files = [path.read_bytes() for path in (s3.folder / prefix).rglob("*") if path.is_file()]
    assert not any(data[:64] in content for content in files)
    federation.send(number, people[4])
    federation.worker().step()
    assert status(federation, number).status == RoundStatus.PUBLISHED
    assert list(federation.updates.store.objects()) == []
    federation.close()


def _unavailable(*_: object) -> None:
    raise StoreUnavailableError("a test")
