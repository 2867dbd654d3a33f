"""The bytes of updates: which object of the update store has them, reading them, and removing what is deleted.

An object is written and on the disk before the transaction commits whose rows name it. What a crash, or a transaction
that was rolled back, leaves is an object that no row names. Deleting goes the other way: the rows are changed first, in
the transaction that ends a round or erases a participant, and then `remove_deleted` removes the bytes. If a process
dies in between, the next one does it: the sweep looks at what is there, and overwrites are noted in the database.
"""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.orm import Session

from eitr.errors import InputError
from eitr.server.db.connection import DELETED, Database
from eitr.server.db.tables import OverwriteRow, RoundRow, UpdateRow
from eitr.server.domain.clock import now
from eitr.server.update_store.interface import MissingObjectError, Range, StoreUnavailableError, UpdateStore

ORPHAN_SECONDS = 3600.0
"""An object of an open round that no row names is older than this when it is deleted. Younger ones may be part of a
transaction that has not ended; none takes a fraction of this."""
LOCK = 0x45495453
"""Of several processes on one PostgreSQL, one at a time overwrites parts of objects."""
log = logging.getLogger("eitr.updates")


@dataclass(slots=True)
class Unreadable:
    """Updates whose bytes are not there any more, or are not those that were received."""

    participants: list[str] = field(default_factory=list)


class UpdateBytes:
    """The bytes of all updates of a server."""

    def __init__(self, database: Database, store: UpdateStore) -> None:
        self._database, self.store = database, store
        database.also_purge(self.remove_deleted)

    def check(self) -> None:
        """Refuse to work with another store than the one that has the open round's updates."""
        with self._database.reading() as session:
            names = session.scalars(select(UpdateRow.object).where(UpdateRow.object.is_not(None)).distinct()).all()
        if any(not str(name).startswith(f"{self.store.id}/") for name in names):
            raise InputError(
                "the updates of the round under way are in another store: set EITR_UPDATE_STORE to the same folder or "
                "bucket for all processes, or to what it was before until the round has ended"
            )

    def read(
        self, session: Session, round: int, wanted: Collection[str], unreadable: Unreadable
    ) -> Iterator[tuple[str, str, bytes]]:
        """Yield participant, encoding and bytes of a round's wanted updates, object by object: one is in memory.

        Bytes that are damaged or missing are noted in `unreadable` instead.
        """
        by_object: dict[str, list[UpdateRow]] = defaultdict(list)
        for row in session.scalars(
            select(UpdateRow).where(UpdateRow.round == round, UpdateRow.object.is_not(None)).order_by(UpdateRow.id)
        ):
            if row.participant in wanted:
                by_object[str(row.object)].append(row)
        for name, rows in by_object.items():
            try:
                content = self.store.get(name)
            except MissingObjectError:
                content = b""
            for row in rows:
                data = content[row.offset : row.offset + row.size]
                if hashlib.sha256(data).digest() == row.sha256:
                    yield row.participant, row.encoding, data
                else:
                    unreadable.participants.append(row.participant)

    def remove_deleted(self) -> bool:
        """Remove the bytes of all updates that were deleted; say whether that was possible."""
        try:
            self._sweep()
            self._overwrite()
        except StoreUnavailableError as error:
            log.warning("deleted updates are still in the update store (%s); this is tried again", error)
            return False
        return True

    def _sweep(self) -> None:
        """Delete the objects of rounds that have ended, and old ones that no row names."""
        # In this order: a round of which an object is listed had been opened before the database is asked.
        found = list(self.store.objects())
        if not found:
            return
        with self._database.reading() as session:
            under_way = set(session.scalars(select(RoundRow.id).where(RoundRow.under_way.is_(True))))
            named = set(session.scalars(select(UpdateRow.object).where(UpdateRow.round.in_(under_way))))
        old = now() - timedelta(seconds=ORPHAN_SECONDS)
        for one in found:
            if one.round not in under_way or (one.name not in named and one.written < old):
                self.store.delete(one.name)

    def _overwrite(self) -> None:
        """Overwrite the parts of objects whose senders have left."""
        with self._database.reading() as session:
            if session.scalar(select(OverwriteRow.id).limit(1)) is None:
                return
        with self._database.writing() as session:
            if not self._database.sqlite:  # with SQLite, one process at a time writes anyway
                session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
            by_object: dict[str, list[Range]] = defaultdict(list)
            rows = session.scalars(select(OverwriteRow)).all()
            for row in rows:
                by_object[row.object].append((row.offset, row.size))
            for name, ranges in by_object.items():
                if not name.startswith(f"{self.store.id}/"):
                    continue
                self.store.overwrite(name, ranges)
                done = [row.id for row in rows if row.object == name]
                session.execute(delete(OverwriteRow).where(OverwriteRow.id.in_(done)))


def forget_round(session: Session, round: int) -> None:
    """Delete the bytes of a round's updates and their networks; that they were received stays known."""
    session.info[DELETED] = True
    session.execute(update(UpdateRow).where(UpdateRow.round == round).values(network=None, object=None))


def forget_participant(session: Session, participant: str) -> None:
    """Delete a participant's updates, and their bytes in the open round."""
    session.info[DELETED] = True
    mine = (UpdateRow.participant == participant, UpdateRow.object.is_not(None))
    parts = select(UpdateRow.object, UpdateRow.offset, UpdateRow.size).where(*mine)
    session.execute(insert(OverwriteRow).from_select(["object", "offset", "size"], parts))
    session.execute(delete(UpdateRow).where(UpdateRow.participant == participant))
