"""Limits on attempts to sign in: by network, and by name and network together.

There is no limit by name alone: with one, anybody could keep an operator out by trying wrong passwords for their name.
For the same reason a network from which an operator signed in before has a limit of its own, whatever others do there.
Attempts are counted in the database, under keyed hashes, so that several processes, and one after a restart, count
together.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.tables import LimitRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import BusyError, LimitReachedError
from eitr.server.domain.keys import Key
from eitr.server.domain.limits import network_of

MOST = 10
"""Attempts for one name from one network, and one-time codes tried from one network, in the time below."""
MOST_OF_NETWORK = 30
"""Attempts from one network, whatever the names."""
MOST_WHERE_KNOWN = 100
"""Attempts for one name from a network where this operator signed in before; no others count there."""
SECONDS = 15 * 60.0
KNOWN_DAYS = 90.0
"""How long a network stays known after an operator signed in from it."""
AT_ONCE = 2
"""Passwords hashed at a time: each takes 64 MiB of memory on purpose. One more is hashed for networks that are known,
so that they need not wait for strangers."""
WAIT_SECONDS = 5.0

SIGN_IN, NETWORK, SETUP, KNOWN = "sign-in", "sign-in network", "setup", "known network"


class Attempts:
    """Counts attempts; those that succeed do not count."""

    def __init__(self, database: Database, key: Key) -> None:
        self._database, self._key = database, key
        self._strangers = threading.BoundedSemaphore(AT_ONCE)
        self._known = threading.BoundedSemaphore(1)

    def count(self, address: str, name: str) -> bool:
        """Count an attempt to sign in; say whether this operator signed in from there before.

        If there were too many, it is refused and not counted.
        """
        with self._database.writing() as session:
            known = session.get(LimitRow, (self._hash(KNOWN, address, name), 0))
            if known is not None and known.expires > now():
                self._add(session, self._hash(SIGN_IN, address, name), MOST_WHERE_KNOWN)
                return True
            self._add(session, self._hash(SIGN_IN, address, name), MOST)
            self._add(session, self._hash(NETWORK, address), MOST_OF_NETWORK)
            return False

    def count_code(self, address: str) -> None:
        """Count an attempt to guess a one-time code."""
        with self._database.writing() as session:
            self._add(session, self._hash(SETUP, address), MOST)

    def succeeded(self, address: str, name: str) -> None:
        """Forget the attempts of somebody who knew the password in the end; remember their network."""
        made = [self._hash(SIGN_IN, address, name), self._hash(NETWORK, address), self._hash(SETUP, address)]
        expires = now() + timedelta(days=KNOWN_DAYS)
        with self._database.writing() as session:
            session.execute(delete(LimitRow).where(LimitRow.key.in_(made)))
            known = _insert(session).values(key=self._hash(KNOWN, address, name), stretch=0, count=1, expires=expires)
            session.execute(known.on_conflict_do_update(index_elements=["key", "stretch"], set_={"expires": expires}))

    @contextmanager
    def hashing(self, *, known: bool) -> Iterator[None]:
        """Wait for a turn to hash a password."""
        turn = self._known if known else self._strangers
        if not turn.acquire(timeout=WAIT_SECONDS):
            raise BusyError("Too many people are signing in. Try again in a minute.", retry_after=60)
        try:
            yield
        finally:
            turn.release()

    def _add(self, session: Session, key: bytes, most: int) -> None:
        moment = now()
        session.execute(delete(LimitRow).where(LimitRow.key == key, LimitRow.expires <= moment))
        # One statement: many may come at once, and be the first.
        first = _insert(session).values(key=key, stretch=0, count=1, expires=moment + timedelta(seconds=SECONDS))
        more = first.on_conflict_do_update(index_elements=["key", "stretch"], set_={"count": LimitRow.count + 1})
        made, expires = session.execute(more.returning(LimitRow.count, LimitRow.expires)).one()
        if made > most:
            wait = int((expires - moment).total_seconds()) + 1
            raise LimitReachedError(
                f"Too many attempts. Wait {max(1, round(wait / 60))} minutes, then try again, or make a new link with "
                "`eitr operator`.",
                retry_after=wait,
            )

    def _hash(self, purpose: str, address: str, name: str = "") -> bytes:
        return self._key.hash(purpose, f"{network_of(address)}\0{name}")


def _insert(session: Session) -> Any:
    return {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[session.get_bind().dialect.name](LimitRow)
