"""A backup holds everything, goes into either kind of database, and overwrites nothing."""

import stat
from pathlib import Path

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from eitr.cli import app
from eitr.errors import InputError
from eitr.server.db.connection import Database
from eitr.server.db.tables import Base
from eitr.server.domain.backup import back_up, restore
from eitr.server.domain.keys import FILE
from tests.server.conftest import new_postgres_database
from tests.server.federation import Federation


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
    assert content(database) == content(lived.database)
    assert (tmp_path / "new" / FILE).read_bytes() == (tmp_path / FILE).read_bytes()
    # And life goes on: with the next numbers, and the same people.
    database.close()
    again = Federation(tmp_path / "new", address)
    for person in lived.people[2:]:
        again.send(3, person)
    assert again.worker().step()
    assert again.rounds.open() == 4
    again.close()


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
