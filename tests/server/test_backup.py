"""A backup holds everything, goes into either kind of database, and overwrites nothing."""

import stat
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select, text, update
from typer.testing import CliRunner

from eitr.aggregation.fused.rule import SKETCH
from eitr.aggregation.reputation_model import HISTORY
from eitr.cli import app
from eitr.errors import InputError
from eitr.server.db import schema
from eitr.server.db.connection import Database
from eitr.server.db.tables import Base, RoundRow, RoundStatus, RuleStateRow, UpdateRow
from eitr.server.domain.backup import back_up, restore
from eitr.server.domain.keys import FILE
from eitr.server.domain.rule_states import packed, unpacked
from tests.server.conftest import new_postgres_database
from tests.server.federation import Federation
from tests.server.raw_files import found_in

OLD_ARRAYS = packed({SKETCH: np.ones(4096, np.float32), HISTORY: np.full(11, 0.5)})
OLD_ROWS = (
    "INSERT INTO vocabularies VALUES ('v', :bytes)",
    "INSERT INTO models (version, created, origin, layers, weights, sha256, vocabulary) "
    "VALUES (1, '2026-01-01', 'shipped', '[2, 6]', :bytes, 's', 'v')",
    "INSERT INTO participants (id, secret_hash, enrolled, seen) VALUES ('ann', :bytes, '2026-01-01', '2026-01-01')",
    "INSERT INTO rounds (id, state, under_way, base, opened, deadline, minimum, quorum, maximum, grace_seconds, plan, "
    "received, attempts) VALUES (1, 'open', 1, 1, '2026-01-01', '2026-01-02', 1, 2, 3, 0, '{}', 1, 0)",
    "INSERT INTO updates (id, round, participant, sha256, encoding, size, received) "
    "VALUES (1, 1, 'ann', :bytes, 'e', 1000, '2026-01-01')",
    "INSERT INTO octets VALUES (1, :update)",
    "INSERT INTO memories VALUES ('ann', 'fused', 1, :rows)",
    "CREATE TABLE server_key (key BLOB NOT NULL)",
    "INSERT INTO server_key VALUES (:key)",
)
"""A small server of an older program, with a round under way."""


def content(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of all tables."""
    with database.engine.connect() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in Base.metadata.sorted_tables
        }


@pytest.fixture
def lived(federation: Federation) -> Federation:
    """A federation with rounds, invitations, refusals and an update under way."""
    people = federation.enrol(4)
    federation.participants.enrol(federation.participants.invite("for Ann"), invited_only=True)
    for _ in range(2):
        federation.full_round(people)
        federation.worker().step()
    federation.full_round(people[:2])
    return federation


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_restores_every_row_into_either_kind_of_database(
    lived: Federation, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rows = back_up(lived.database, tmp_path, tmp_path / "backup.db")
    if kind == "sqlite":
        address = f"sqlite:///{tmp_path / 'new' / 'eitr.db'}"
    else:
        address = new_postgres_database(request.getfixturevalue("postgres"))
    database = Database(address)
    assert restore(tmp_path / "backup.db", database, tmp_path / "new") == rows
    before, after = content(lived.database), content(database)
    with lived.database.writing() as session:  # a backup does not say where the bytes are that it does not have
        session.execute(update(UpdateRow).values(object=None))
    before["updates"] = content(lived.database)["updates"]
    for table in {*before} - {"memories", "rounds", "audit"}:
        assert after[table] == before[table], table
    assert (tmp_path / "new" / FILE).read_bytes() == (tmp_path / FILE).read_bytes()
    # The round that was under way is abandoned, and life goes on: with the next numbers, and the same people.
    database.close()
    again = Federation(tmp_path / "new", address)
    abandoned = again.rounds.get(3)
    assert abandoned is not None
    assert abandoned.status == RoundStatus.ABANDONED
    assert abandoned.reason == "a backup was restored, and backups hold no updates"
    for number in (1, 2):
        assert again.rounds.get(number).status == lived.rounds.get(number).status == RoundStatus.PUBLISHED
    assert again.full_round(lived.people) == 4
    assert again.worker().step()
    assert again.rounds.get(4).status == RoundStatus.PUBLISHED
    assert again.rounds.open() == 5
    again.close()


def test_a_backup_holds_neither_updates_nor_what_is_remembered_of_steps(lived: Federation, tmp_path: Path) -> None:
    data = lived.update(lived.people[0], 3)
    target = tmp_path / "backups" / "backup.db"
    target.parent.mkdir()
    back_up(lived.database, tmp_path, target)
    assert found_in(lived.database, data, lived.settings.folder) > 10, "the server has the updates of the open round"
    copy = Database(f"sqlite:///{target}")
    assert found_in(copy, data) == 0
    with lived.database.reading() as here, copy.reading() as there:
        for one in here.scalars(select(RuleStateRow)).all():
            mine = unpacked(one.arrays)
            kept = unpacked(there.get_one(RuleStateRow, (one.participant, one.rule)).arrays)
            assert set(mine) == {SKETCH, HISTORY}
            assert set(kept) == {HISTORY}
            assert np.array_equal(kept[HISTORY], mine[HISTORY], equal_nan=True)
    copy.close()


def test_a_backup_that_an_older_program_made_restores_without_updates(tmp_path: Path) -> None:
    """It holds the bytes of an open round's updates, and sketches made with a public seed."""
    old = Database(f"sqlite:///{tmp_path / 'backup.db'}")
    schema.upgrade(old, "0002")
    with old.engine.begin() as connection:
        for statement in OLD_ROWS:
            values = {"bytes": b"\7" * 1000, "update": b"\5" * 1000, "rows": OLD_ARRAYS, "key": b"k" * 32}
            connection.execute(text(statement), values)
    old.close()
    database = Database(f"sqlite:///{tmp_path / 'new' / 'eitr.db'}")
    restore(tmp_path / "backup.db", database, tmp_path / "new")
    with database.reading() as session:
        assert session.scalars(select(UpdateRow.object)).all() == [None]
        assert session.get_one(RoundRow, 1).status == RoundStatus.ABANDONED
        assert set(unpacked(session.get_one(RuleStateRow, ("ann", "fused")).arrays)) == {HISTORY}
    assert found_in(database, b"\7" * 1000) > 10, "the rest is there"
    assert found_in(database, b"\5" * 1000) == 0
    database.close()


def test_a_backup_is_readable_by_its_owner_alone(lived: Federation, tmp_path: Path) -> None:
    back_up(lived.database, tmp_path, tmp_path / "backup.db")
    assert stat.S_IMODE((tmp_path / "backup.db").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_where_there_is_no_server_nothing_is_backed_up_and_nothing_made(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "backup.db"), "--folder", str(tmp_path / "nowhere")])
    assert isinstance(done.exception, InputError)
    assert "there is no folder" in str(done.exception)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="there is no server in"):
        back_up(Database(f"sqlite:///{tmp_path / 'empty.db'}"), tmp_path, tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()


def test_a_backup_replaces_nothing(federation: Federation, tmp_path: Path) -> None:
    (tmp_path / "backup.db").write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        back_up(federation.database, tmp_path, tmp_path / "backup.db")
    assert (tmp_path / "backup.db").read_text() == "precious"
    with pytest.raises(InputError, match="no folder"):
        back_up(federation.database, tmp_path, tmp_path / "nowhere" / "backup.db")


def test_a_database_with_something_in_it_is_not_restored_into(federation: Federation, tmp_path: Path) -> None:
    back_up(federation.database, tmp_path, tmp_path / "backup.db")
    before = content(federation.database)
    with pytest.raises(InputError, match="not empty"):
        restore(tmp_path / "backup.db", federation.database, tmp_path)
    assert content(federation.database) == before


@pytest.mark.parametrize("data", [b"", b"not a database", b"SQLite format 3\0" + b"\0" * 200])
def test_what_is_no_backup_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "backup.db").write_bytes(data)
    with pytest.raises(InputError, match="not a backup"):
        restore(tmp_path / "backup.db", Database(f"sqlite:///{tmp_path / 'new.db'}"), tmp_path / "new")


def test_another_servers_key_is_not_replaced(federation: Federation, tmp_path: Path) -> None:
    back_up(federation.database, tmp_path, tmp_path / "backup.db")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / FILE).write_bytes(b"x" * 32)
    with pytest.raises(InputError, match="another server's key"):
        restore(tmp_path / "backup.db", Database(f"sqlite:///{tmp_path / 'new' / 'eitr.db'}"), tmp_path / "new")


def test_the_commands_say_what_they_did(tmp_path: Path) -> None:
    folder, backup = tmp_path / "server", tmp_path / "backup.db"
    federation = Federation(folder, f"sqlite:///{folder / 'eitr.db'}")
    federation.close()
    done = CliRunner().invoke(app, ["backup", str(backup), "--folder", str(folder)])
    assert done.exit_code == 0, done.output
    assert "keep it as safe" in done.output
    done = CliRunner().invoke(app, ["restore", str(backup), "--folder", str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    assert "rows restored" in done.output
