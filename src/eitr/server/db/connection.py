"""Connections: the same discipline on SQLite and PostgreSQL.

SQLite: write-ahead log, every commit on the disk before it is reported, foreign keys on, deleted content overwritten,
and every transaction that may write takes the write lock at its beginning, so that none fails half-way. Writers of one
process wait for each other before they take a connection, so that readers always find one; readers never wait for
writers. PostgreSQL: as it comes, except that nobody waits for a lock for ever.

What is deleted must be gone from the files. After the transaction, `purge` empties the write-ahead log of SQLite.
PostgreSQL keeps the bytes of deleted rows: `rewrite_later` names the tables, in the transaction that deletes, and
`purge` writes them anew. It also calls those who delete outside of the database (`also_purge`). If a process dies in
between, the next one does it.
"""

import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, delete, event, make_url, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.orm import Session, sessionmaker

from eitr.errors import InputError
from eitr.io.private import create_file, create_folder
from eitr.server.db.study_tables import RewriteRow
from eitr.server.db.tables import Base

BUSY_SECONDS = 30.0
"""How long a writer waits for others, unless it says otherwise; then it fails with an `OperationalError`."""
LOCK_NOT_AVAILABLE = "55P03"
"""What PostgreSQL calls this error."""
PURGE_SECONDS = 1.0
"""How long a purge waits for others; new writers wait as long for it."""
RETRY_SECONDS = 10.0
"""How long after a purge that did not succeed it is tried again."""
PURGE_EVERY_SECONDS = 3600.0
"""How long after a purge that succeeded there is another one."""
PAGE = 16384
"""Bytes of a page in a new SQLite database: a model is a chain of pages, and short chains cost less."""
OVERWRITES = 1
"""The `user_version` of an SQLite database in which everything deleted is overwritten."""
log = logging.getLogger("eitr.database")


DELETED = "deleted"
"""Set in the `info` of a session that deletes what must be gone from the files, too."""


STATISTICS = "pg_statistic"
"""Where PostgreSQL keeps samples of values; the only one of its own tables that is written anew."""
OLDER_TRANSACTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
AND greatest(age(backend_xmin), age(backend_xid)) >= (SELECT min(age(xmin)) FROM rewrites)
"""
"""How many transactions on PostgreSQL keep rows that were deleted when the last table was marked: those that may still
see them, and those that write and began before, between two of whose statements nobody knows what they will see."""


def rewrite_later(session: Session, tables: Iterable[type[Base]]) -> None:
    """Note, in the transaction that deletes, in which tables no byte of the deleted rows may stay in the files."""
    session.info[DELETED] = True
    if session.get_bind().dialect.name == "sqlite":  # it overwrites what is deleted
        return
    mark = secrets.token_hex(16)
    for name in sorted(table.__tablename__ for table in tables):  # sorted: no two transactions wait for each other
        added = postgresql.insert(RewriteRow).values(name=name, mark=mark)
        session.execute(added.on_conflict_do_update(index_elements=["name"], set_={"mark": mark}))


class Database:
    """Where everything is kept. `reading()` and `writing()` are one transaction each."""

    def __init__(self, address: str, *, connections: int = 20) -> None:
        """`connections` is how many are open at most; half of them stay open."""
        url = make_url(address)
        self.sqlite = url.get_backend_name() == "sqlite"
        if self.sqlite:
            if not url.database or url.database == ":memory:":
                raise InputError("the database must be a file: several connections share it")
            create_folder(Path(url.database).parent)
        self._busy_seconds = BUSY_SECONDS
        self._turn = threading.Lock()
        options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS}} if self.sqlite else {}
        self.engine: Engine = create_engine(
            url,
            pool_size=connections // 2,
            max_overflow=connections - connections // 2,
            pool_pre_ping=not self.sqlite,
            hide_parameters=True,  # an error is logged with its statement: nobody's id may be part of it
            **options,
        )
        self.file = Path(url.database) if self.sqlite and url.database else None
        self._also_purge: list[Callable[[], bool]] = []
        self._purge_due = 0.0
        """When to purge next, even if nothing is deleted. A new process may find what another one left."""
        if self.sqlite:
            event.listen(self.engine, "do_connect", self._create_file)
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)
        else:
            event.listen(self.engine, "connect", self._limit_waiting)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)

    @contextmanager
    def writing(self, wait: float | None = None) -> Iterator[Session]:
        """Open a transaction that may write; committed at the end, rolled back on an exception.

        `wait` is how many seconds to wait for other writers at most.
        """
        with self._turn_to_write(wait) as options, self._sessions() as session:
            with session.begin():
                if self.sqlite:
                    session.connection(execution_options=options)
                elif wait is not None:  # 0 would mean: for ever
                    session.execute(text(f"SET LOCAL lock_timeout = {max(1, round(wait * 1000))}"))
                yield session
            deleted = session.info.get(DELETED, False)
        if deleted:
            self.purge()

    @contextmanager
    def _turn_to_write(self, wait: float | None) -> Iterator[dict[str, Any]]:
        """Wait for other writers of this process, where only one can write; yield the options of the connection."""
        if not self.sqlite:
            yield {}
            return
        wait = self._busy_seconds if wait is None else wait
        end = time.monotonic() + wait
        if not self._turn.acquire(timeout=wait):
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise OperationalError("BEGIN IMMEDIATE", None, error)
        try:
            yield {"eitr_writes": True, "eitr_wait": max(0.0, end - time.monotonic())}
        finally:
            self._turn.release()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a transaction that only reads."""
        with self._sessions() as session, session.begin():
            yield session

    def also_purge(self, remove: Callable[[], bool]) -> None:
        """Let every purge call a function that removes what is deleted elsewhere, and says whether it could."""
        self._also_purge.append(remove)

    def purge(self) -> None:
        """Remove what was deleted from the files; try again later if others are in the way."""
        try:
            removed = [remove() for remove in self._also_purge]
            done = self._empty_log() if self.sqlite else self._rewrite_tables()
        except (DatabaseError, sqlite3.Error) as error:
            reason = str(error).partition("\n")[0]
            log.warning("deleted data is still in the files (%s); this is tried again", reason)
            done = False
        else:
            done = done and all(removed)
        self._purge_due = time.monotonic() + (PURGE_EVERY_SECONDS if done else RETRY_SECONDS)

    def purge_if_due(self) -> None:
        """Do so if the last purge did not succeed, or was long ago: other processes may have left something."""
        if time.monotonic() >= self._purge_due:
            self.purge()

    def overwrite_old_pages(self) -> None:
        """Write an SQLite database anew, once, in which an older program left deleted content."""
        if not self.sqlite:
            return
        with self._plain() as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0] == OVERWRITES:
                return
            connection.execute(f"PRAGMA busy_timeout={round(BUSY_SECONDS * 1000)}")
            try:
                connection.execute("VACUUM")
                connection.execute(f"PRAGMA user_version={OVERWRITES}")
            except sqlite3.Error as error:
                log.warning("the database could not be written anew (%s); this is tried at the next start", error)
        self.purge()

    def _empty_log(self) -> bool:
        """Copy SQLite's write-ahead log to the database and truncate it; say whether nobody was in the way."""
        with self._plain() as connection:
            connection.execute(f"PRAGMA busy_timeout={round(PURGE_SECONDS * 1000)}")
            busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def _rewrite_tables(self) -> bool:
        """Write PostgreSQL's tables anew that hold deleted rows; say whether nobody was in the way.

        A transaction that began before the rows were deleted still sees them, and so keeps them in the files.
        """
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            marks = connection.execute(select(RewriteRow.name, RewriteRow.mark)).all()
            if not marks:
                return True
            if connection.scalar(text(OLDER_TRANSACTIONS)):
                return False
            connection.execute(text(f"SET lock_timeout = {round(PURGE_SECONDS * 1000)}"))
            try:
                for name, mark in marks:
                    if name == STATISTICS:
                        _rewrite_statistics(connection)
                    elif name in Base.metadata.tables:
                        connection.execute(text(f"VACUUM FULL {name}"))
                    else:
                        continue  # a mark of a newer version, which is for its processes
                    done = (RewriteRow.name == name, RewriteRow.mark == mark)
                    connection.execute(delete(RewriteRow).where(*done))
            finally:
                connection.execute(text(f"SET lock_timeout = {round(self._busy_seconds * 1000)}"))
        return True

    @contextmanager
    def _plain(self) -> Iterator[Any]:
        """Borrow a connection of SQLite's driver outside of any transaction."""
        borrowed = self.engine.raw_connection()
        try:
            yield borrowed.driver_connection
        finally:
            borrowed.close()

    def _create_file(self, *_: Any) -> None:
        """Create the database before SQLite does, closed to others; SQLite gives its log the same permissions."""
        if self.file is not None:
            create_file(self.file)

    def _limit_waiting(self, connection: Any, _record: Any) -> None:
        connection.execute(f"SET lock_timeout = {round(self._busy_seconds * 1000)}")
        connection.commit()

    def check(self) -> None:
        """Refuse a database that cannot be reached, in words."""
        try:
            with self.engine.connect():
                pass
        except DatabaseError as error:
            raise InputError(f"the database cannot be reached: {error.orig}") from error

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _rewrite_statistics(connection: Connection) -> None:
    """Write PostgreSQL's statistics anew; say so if this role may not, which is no error for PostgreSQL."""
    file = text(f"SELECT pg_relation_filenode('{STATISTICS}')")
    before = connection.scalar(file)
    connection.execute(text(f"VACUUM FULL {STATISTICS}"))
    if connection.scalar(file) == before:
        log.warning(
            "the statistics that PostgreSQL kept may still hold ids of people who left, and this server's role may not "
            "remove them: let the owner of the database run `VACUUM FULL %s` in it, once",
            STATISTICS,
        )


def _prepare(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy, not the driver, begins transactions
    for pragma in (f"page_size={PAGE}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Any) -> None:
    options = connection.get_execution_options()
    # A connection serves one transaction after the other, and each may wait for another time.
    wait = options.get("eitr_wait", BUSY_SECONDS)
    connection.connection.driver_connection.execute(f"PRAGMA busy_timeout={round(wait * 1000)}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("eitr_writes", False) else "BEGIN")


def is_busy(error: BaseException) -> bool:
    """Say whether a statement failed because others held a lock for longer than it could wait."""
    cause = error.orig if isinstance(error, OperationalError) else None
    if isinstance(cause, sqlite3.OperationalError):
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return getattr(cause, "sqlstate", None) == LOCK_NOT_AVAILABLE
