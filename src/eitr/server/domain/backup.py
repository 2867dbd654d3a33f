"""Backups: everything the server stores in one file, which is an SQLite database on every server.

It is taken while the server runs, in one transaction, and is restored into an empty database of either kind: so a
backup is also the way from SQLite to PostgreSQL. It holds the server's key and is readable by its owner alone.

Backups outlive rounds, so they hold nothing that a server deletes after a round: neither the bytes of updates, nor the
steps that a rule remembers, nor the candidates of quarantined rounds. A round that was under way is abandoned when the
backup is restored: participants send again, to the next round.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, func, insert, inspect, select, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session

from eitr.errors import InputError
from eitr.io.private import create_file, create_folder
from eitr.server.db import schema
from eitr.server.db.connection import Database
from eitr.server.db.tables import UNDER_WAY, Base, CandidateRow, OverwriteRow, RoundRow, RuleStateRow, UpdateRow
from eitr.server.domain.keys import BYTES, FILE
from eitr.server.domain.rounds import abandoned
from eitr.server.domain.rule_states import without_steps

KEY_TABLE = "server_key"
LEFT_OUT = (OverwriteRow.__table__, CandidateRow.__table__)
AT_A_TIME = 16
"""Rows copied at a time: some are as large as a model."""


def back_up(database: Database, folder: Path, target: Path) -> int:
    """Write a backup to a new file; return how many rows it has."""
    if target.exists():
        raise InputError(f"{target} exists already: choose another name for the backup")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent}")
    if not (folder / FILE).is_file() or schema.revision(database) is None:
        raise InputError(f"there is no server in {folder}: give its --folder, and its --database if it has another one")
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    create_file(unfinished, new=True)
    try:
        copy = Database(f"sqlite:///{unfinished}")
        schema.upgrade(copy, schema.revision(database) or "head")
        with _snapshot(database) as source, copy.engine.begin() as sink:
            rows = _copied(source, sink)
            sink.execute(text(f"CREATE TABLE {KEY_TABLE} (key BLOB NOT NULL)"))
            sink.execute(text(f"INSERT INTO {KEY_TABLE} VALUES (:key)"), {"key": (folder / FILE).read_bytes()})  # noqa: S608
        with copy.engine.connect() as last:
            last.exec_driver_sql("ROLLBACK")
            last.exec_driver_sql("PRAGMA journal_mode=DELETE")
        copy.close()
        unfinished.replace(target)
    except BaseException:
        _remove(unfinished)
        raise
    return rows


def restore(source: Path, database: Database, folder: Path) -> int:
    """Fill an empty database, and the folder's key, from a backup; return how many rows there were."""
    if not source.is_file():
        raise InputError(f"{source}: there is no such file")
    create_folder(folder)
    # On a copy: a backup of an older program is brought up to date first, and stays as it was itself.
    working = folder / f".restoring-{secrets.token_hex(4)}.db"
    create_file(working, new=True)
    shutil.copyfile(source, working)
    try:
        backup = Database(f"sqlite:///{working}")
        key = _key(backup, source)
        schema.upgrade(backup)
        schema.upgrade(database)
        _refuse_full(database)
        _put_key(folder, key)
        with backup.engine.connect() as old, database.engine.connect() as connection:
            new = connection.execution_options(eitr_writes=True) if database.sqlite else connection
            with new.begin():
                rows = _copied(old, new)
                if not database.sqlite:
                    _advance_counters(new)
                _abandon_round(new)
        backup.close()
    finally:
        _remove(working)
    return rows


def _snapshot(database: Database) -> Connection:
    """Return a connection that sees one moment, however long it reads."""
    connection = database.engine.connect()
    return connection if database.sqlite else connection.execution_options(isolation_level="REPEATABLE READ")


def _copied(source: Connection, sink: Connection) -> int:
    """Copy all tables, those that others refer to first."""
    count = 0
    there = set(inspect(source).get_table_names())
    for table in Base.metadata.sorted_tables:
        if table.name not in there or table in LEFT_OUT:
            continue
        for rows in _in_parts(source, table):
            if table is RuleStateRow.__table__:
                rows = [{**row, "arrays": without_steps(row["arrays"]), "projection": None} for row in rows]
            if table is UpdateRow.__table__:  # known until the round ends, and a restored server abandons it
                rows = [{**row, "network": None, "object": None} for row in rows]
            sink.execute(insert(table), rows)
            count += len(rows)
    return count


def _in_parts(source: Connection, table: Table) -> Iterator[list[dict[str, Any]]]:
    found = source.execution_options(yield_per=AT_A_TIME).execute(select(table))
    for part in found.mappings().partitions():
        yield [dict(row) for row in part]


def _key(backup: Database, source: Path) -> bytes:
    try:
        with backup.engine.connect() as connection:
            whole = connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
            key = connection.execute(text(f"SELECT key FROM {KEY_TABLE}")).scalar()  # noqa: S608
    except DatabaseError as error:
        raise InputError(f"{source}: not a backup of EITR, or a damaged one") from error
    if not whole or not isinstance(key, bytes) or len(key) != BYTES:
        raise InputError(f"{source}: a damaged backup")
    return key


def _put_key(folder: Path, key: bytes) -> None:
    path = folder / FILE
    if path.exists():
        if path.read_bytes() != key:
            raise InputError(f"{path} is another server's key: restore into an empty folder")
        return
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(key)


def _refuse_full(database: Database) -> None:
    with database.engine.connect() as connection:
        for table in Base.metadata.sorted_tables:
            if connection.scalar(select(func.count()).select_from(table)):
                raise InputError("the database is not empty: restore into a new one, and stop the server meanwhile")


def _abandon_round(connection: Connection) -> None:
    """Abandon the round that was under way: its updates are not in the backup."""
    with Session(connection) as session:
        for id in session.scalars(select(RoundRow.id).where(RoundRow.under_way.is_(True))).all():
            abandoned(session, id, "a backup was restored, and backups hold no updates", "server", *UNDER_WAY)
        session.commit()  # the caller's transaction goes on


def _advance_counters(connection: Connection) -> None:
    """Let PostgreSQL give out numbers above those that were restored."""
    for table in Base.metadata.sorted_tables:
        column = table.autoincrement_column
        if column is not None and column.autoincrement is not False:
            highest = connection.scalar(select(func.max(column))) or 0
            counter = func.pg_get_serial_sequence(table.name, column.name)
            connection.execute(select(func.setval(counter, highest + 1, False)))


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
