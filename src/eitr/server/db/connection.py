"""Connections: the same discipline on SQLite and PostgreSQL.

SQLite: write-ahead log, every commit on the disk before it is reported, foreign keys on, and every transaction that may
write takes the write lock at its beginning, so that none fails half-way. PostgreSQL: as it comes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session, sessionmaker

from eitr.errors import InputError

BUSY_SECONDS = 60.0
"""How long a writer waits for another one."""


PAGE = 16384
"""Bytes of a page in a new SQLite database: an update is a chain of pages, and short chains cost less."""


class Database:
    """Where everything is kept. `reading()` and `writing()` are one transaction each."""

    def __init__(self, address: str, *, pool: int = 10) -> None:
        url = make_url(address)
        self.sqlite = url.get_backend_name() == "sqlite"
        if self.sqlite:
            if not url.database or url.database == ":memory:":
                raise InputError("the database must be a file: several connections share it")
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS}} if self.sqlite else {}
        self.engine: Engine = create_engine(
            url,
            pool_size=pool,
            max_overflow=pool,
            pool_pre_ping=not self.sqlite,
            hide_parameters=True,  # an error is logged with its statement: nobody's id may be part of it
            **options,
        )
        if self.sqlite:
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Open a transaction that may write; committed at the end, rolled back on an exception."""
        with self._sessions() as session, session.begin():
            if self.sqlite:
                session.connection(execution_options={"eitr_writes": True})
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a transaction that only reads."""
        with self._sessions() as session, session.begin():
            yield session

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


def _prepare(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy, not the driver, begins transactions
    for pragma in (f"page_size={PAGE}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Any) -> None:
    writes = connection.get_execution_options().get("eitr_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
