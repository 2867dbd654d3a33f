"""Waiting for something to become true, with a limit that only a broken program reaches."""

import threading
import time
from collections.abc import Callable

from sqlalchemy import text

from eitr.server.db.connection import Database

LONGEST_SECONDS = 300.0
_never = threading.Event()


def until(true: Callable[[], bool], what: str = "the condition", seconds: float = LONGEST_SECONDS) -> None:
    """Ask again and again until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what} did not come true within {seconds:g} s"
        _never.wait(0.02)


def until_somebody_waits(database: Database) -> None:
    """Wait until a transaction waits for a lock of another one; with SQLite there is one writer at a time anyway."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    def waits() -> bool:
        with database.reading() as session:
            return bool(session.scalar(text(query)))

    if not database.sqlite:
        until(waits, "a transaction that waits")
