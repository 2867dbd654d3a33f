"""Storing updates: many at a time in one transaction, and no answer before it is committed.

A commit waits for the disk, however little it holds. Requests put their updates into a queue, and a writer thread
stores all that wait together: under load one commit stores dozens. Their bytes become one object of the update store,
written within the transaction: after it is known who is stored, and before anything is committed. Each request gets its
own answer: received, received before, or why not.
"""

import contextlib
import logging
import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any

from sqlalchemy import Integer, bindparam, case, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database, is_busy
from eitr.server.db.tables import Base, Moment, ParticipantRow, RefusalRow, RoundRow, RoundStatus, UpdateRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import (
    AlreadySentError,
    BusyError,
    NotEnrolledError,
    RoundClosedError,
    UnknownRoundError,
)
from eitr.server.domain.places import Places
from eitr.server.domain.switches import PAUSED
from eitr.server.domain.updates import ReceivedUpdate, check
from eitr.server.update_store.interface import StoreUnavailableError, UpdateStore, new_name

CHECKERS = 2
"""Threads that hash and check updates; both release the interpreter lock, so that other requests go on."""
WRITERS = 2
"""Threads that write to PostgreSQL, each with a connection: while one waits for the disk, the other goes on. More would
make smaller transactions: four writers of 8 updates each took a fifth more processor time."""
MOST_TOGETHER = 32
"""Updates in one transaction..."""
MOST_BYTES = 8_000_000
"""... unless they are larger than this together: the object that holds them is in memory when it is read."""
PAUSE_RETRY_SECONDS = 600
"""After which participants may try again whose update came while rounds are paused."""
STORE_RETRY_SECONDS = 30
"""... or while the update store did not answer, or was full."""
log = logging.getLogger("eitr.updates")

# Statements are made once: to make one takes longer than to run it.
_tables = Base.metadata.tables
_rounds, _updates = _tables["rounds"].c, _tables["updates"].c
LOOK = select(
    _rounds.id,
    _rounds.state.label("status"),
    _rounds.deadline,
    _rounds.received,
    _rounds.maximum,
    _rounds.published_noise,
    PAUSED.label("paused"),
).where(_rounds.id.in_(bindparam("rounds", expanding=True)))
ADD: dict[str, Any] = {
    dialect: add(_tables["updates"])
    .on_conflict_do_nothing(index_elements=["round", "participant"])
    .returning(_updates.id, _updates.round, _updates.participant)
    for dialect, add in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}
RECEIVED = select(_rounds.received).where(_rounds.id == bindparam("of"))
_count_then = _rounds.received + bindparam("new", type_=Integer)
COUNT = (
    update(_tables["rounds"])
    .where(_rounds.id == bindparam("into"), _rounds.state == RoundStatus.OPEN, _count_then <= _rounds.maximum)
    .values(
        received=_count_then,
        complete=case(
            (_count_then >= _rounds.quorum, func.coalesce(_rounds.complete, bindparam("moment", type_=Moment()))),
            else_=_rounds.complete,
        ),
    )
)

Item = tuple[ReceivedUpdate, "Future[None]"]


class Ingest:
    """Checks and stores the updates of one process."""

    def __init__(self, database: Database, updates: UpdateStore, places: Places | None = None) -> None:
        self._database, self._updates, self._places = database, updates, places
        self._waiting: SimpleQueue[Item | None] = SimpleQueue()
        writers = 1 if database.sqlite else WRITERS
        self._threads = [
            threading.Thread(target=self._run, name=f"ingest-{number}", daemon=True) for number in range(writers)
        ]
        for thread in self._threads:
            thread.start()
        self._checkers = ThreadPoolExecutor(CHECKERS, "check")

    def receive(self, sent: ReceivedUpdate, parameters: int) -> "Future[None]":
        """Check and store an update; the future is done when it is committed, or fails with a `DomainError`."""
        done: Future[None] = Future()
        self._checkers.submit(self._check, sent, parameters, done)
        return done

    def close(self) -> None:
        """Write what waits, then stop."""
        self._checkers.shutdown()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _check(self, sent: ReceivedUpdate, parameters: int, done: "Future[None]") -> None:
        try:
            check(sent, parameters)
        except Exception as error:
            done.set_exception(error)
        else:
            self._waiting.put((sent, done))

    def _run(self) -> None:
        while True:
            first = self._waiting.get()
            if first is None:
                return
            batch, stop, size = [first], False, len(first[0].data)
            while len(batch) < MOST_TOGETHER and size < MOST_BYTES and not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    stop = True
                    break
                batch.append(following)
                size += len(following[0].data)
            self._store(batch)
            if stop:
                return

    def _stored(self, batch: list[Item], *, look: bool) -> list[Exception | None]:
        with self._database.writing() as session:
            return store(session, [sent for sent, _ in batch], self._updates, self._places, look=look)

    def _store(self, batch: list[Item]) -> None:
        try:
            try:
                outcomes = self._stored(batch, look=False)
            except FillingUpError:
                outcomes = self._stored(batch, look=True)
        except Exception as error:
            if is_busy(error):  # whoever came meanwhile would wait as long again
                self._fail([*batch, *self._taken()], error)
                return
            if isinstance(error, StoreUnavailableError):
                log.error("an update was not stored: %s", error)
                busy = BusyError("Updates cannot be stored now. Send it again later.", retry_after=STORE_RETRY_SECONDS)
                self._fail([*batch, *self._taken()], busy)
                return
            if len(batch) > 1:  # one of them makes all fail: store each by itself
                for item in batch:
                    self._store([item])
                return
            outcomes = [_reason(error)]
        for (_, done), outcome in zip(batch, outcomes, strict=True):
            if outcome is None:
                done.set_result(None)
            else:
                done.set_exception(outcome)

    def _taken(self) -> list[Item]:
        """Return what waits at this moment; the sign to stop stays."""
        items = []
        for _ in range(self._waiting.qsize()):
            try:
                item = self._waiting.get_nowait()
            except Empty:  # another writer took it
                break
            if item is None:
                self._waiting.put(None)
            else:
                items.append(item)
        return items

    @staticmethod
    def _fail(batch: list[Item], error: Exception) -> None:
        for _, done in batch:
            done.set_exception(error)


class FillingUpError(Exception):
    """Others filled a round at the same time, so that places must be looked at."""


def _reason(error: Exception) -> Exception:
    if isinstance(error, IntegrityError):
        return NotEnrolledError("The participant has left.")
    return error


def store(
    session: Session,
    batch: list[ReceivedUpdate],
    updates: UpdateStore,
    places: Places | None = None,
    *,
    look: bool = False,
) -> list[Exception | None]:
    """Store updates in one transaction; return for each why it was not, or None.

    With `places`, newcomers leave some for others. Who finds none is told the same as when a round is full. A round
    that is far from full is not looked at; if others fill it at the same time, `FillingUpError` asks to `look`.
    """
    connection = session.connection()
    rounds = connection.execute(LOOK, {"rounds": list({sent.round for sent in batch})})
    found = {row.id: row for row in rounds}
    outcomes: list[Exception | None] = [_unwanted(found.get(sent.round)) for sent in batch]
    plenty = {} if places is None else _refuse_without_place(session, batch, outcomes, found, places, look=look)
    wanted = [place for place, outcome in enumerate(outcomes) if outcome is None]
    # In one order everywhere, so that two transactions with the same updates do not deadlock.
    wanted.sort(key=lambda place: (batch[place].round, batch[place].participant))
    if not wanted:
        return _unless_received(session, batch, outcomes)
    objects = {round: new_name(updates, round) for round in {batch[place].round for place in wanted}}
    rows, ends = [], dict.fromkeys(objects, 0)
    moment = now()
    for place in wanted:
        sent = batch[place]
        rows.append(
            {
                "round": sent.round,
                "participant": sent.participant,
                "sha256": sent.sha256,
                "encoding": sent.encoding,
                "size": len(sent.data),
                "received": moment,
                "network": sent.network,
                "object": objects[sent.round],
                "offset": ends[sent.round],
            }
        )
        ends[sent.round] += len(sent.data)
    added = connection.execute(ADD[connection.dialect.name], rows).all()
    new = Counter(round for _, round, _ in added)
    stored = {(round, participant) for _, round, participant in added}
    parts: dict[int, list[bytes | bytearray]] = {round: [] for round in objects}
    for place in wanted:
        sent = batch[place]
        if (sent.round, sent.participant) in stored:
            stored.remove((sent.round, sent.participant))  # somebody may be in the batch twice
            parts[sent.round].append(sent.data)
        else:
            outcomes[place] = AlreadySentError()
            parts[sent.round].append(bytes(len(sent.data)))  # the others are where their rows say
    try:
        for round in new:
            updates.put(objects[round], parts[round])
        for round in objects:
            _count(session, round, new[round])
            # Others wait now, until this is committed: what they have stored before is counted.
            if round in plenty and not Places.plenty(plenty[round], session.scalar(RECEIVED, {"of": round}) or 0):
                raise FillingUpError
        return _unless_received(session, batch, outcomes)
    except BaseException:
        # Only before the commit: if that fails, nobody knows whether the rows are there.
        _discard(updates, [objects[round] for round in new])
        raise


def _discard(updates: UpdateStore, names: list[str]) -> None:
    """Delete objects whose transaction is rolled back; what cannot be deleted now, a sweep deletes."""
    for name in names:
        with contextlib.suppress(StoreUnavailableError):
            updates.delete(name)


def _unwanted(round: Any) -> Exception | None:
    if round is None:
        return UnknownRoundError()
    if round.status == RoundStatus.OPEN and round.paused:
        # Not that the round is closed: participants keep what they have trained, and send it when rounds go on.
        return BusyError("Rounds are paused. Send the update again later.", retry_after=PAUSE_RETRY_SECONDS)
    if round.status != RoundStatus.OPEN or round.deadline <= now() or round.received >= round.maximum:
        return RoundClosedError()
    return None


def _refuse_without_place(
    session: Session,
    batch: list[ReceivedUpdate],
    outcomes: list[Exception | None],
    rounds: dict[int, Any],
    places: Places,
    *,
    look: bool,
) -> dict[int, int]:
    """Note in `outcomes` which updates find no place in their round.

    Return the maxima of rounds in which nobody looked, because they are far from full; with `look`, of none.
    """
    wanted = [place for place, outcome in enumerate(outcomes) if outcome is None]
    plenty = {}
    for id in sorted({batch[place].round for place in wanted}):
        round, here = rounds[id], [place for place in wanted if batch[place].round == id]
        if round.published_noise is not None:  # such a round takes exactly its quorum, whoever comes
            continue
        if not look and places.plenty(round.maximum, round.received + len(here)):
            plenty[id] = round.maximum
            continue
        missing = places.missing(session, round, [batch[place] for place in here])
        for place in here:
            if batch[place].participant in missing:
                outcomes[place] = RoundClosedError()
    return plenty


def _count(session: Session, round: int, new: int) -> None:
    """Count updates, at the end of the transaction: closing the round waits for it, and it for closing.

    The round is locked for no longer than a commit takes. If it closed meanwhile, or is full, nothing is stored.
    """
    done = session.connection().execute(COUNT, {"into": round, "new": new, "moment": now()})
    if done.rowcount != 1:
        raise RoundClosedError()


def _unless_received(
    session: Session, batch: list[ReceivedUpdate], outcomes: list[Exception | None]
) -> list[Exception | None]:
    """Turn refusals of updates that were received before, byte for byte, into success."""
    refused = [place for place, outcome in enumerate(outcomes) if outcome is not None]
    if not refused:
        return outcomes
    rounds = {batch[place].round for place in refused}
    people = {batch[place].participant for place in refused}
    before = {
        (row.round, row.participant): row.sha256
        for row in session.scalars(
            select(UpdateRow).where(UpdateRow.round.in_(rounds), UpdateRow.participant.in_(people))
        )
    }
    for place in refused:
        sent = batch[place]
        known = before.get((sent.round, sent.participant))
        if known == sent.sha256:
            outcomes[place] = None
        elif known is not None:
            outcomes[place] = AlreadySentError("Another update of this round was received before.")
    return outcomes


def note_refusal(database: Database, round: int, participant: str, reason: str) -> None:
    """Note that a participant sent an invalid update to an open round; one note per round is enough."""
    with contextlib.suppress(IntegrityError), database.writing() as session:  # they may leave at this moment
        found = session.get(RoundRow, round)
        if found is None or found.status != RoundStatus.OPEN or session.get(ParticipantRow, participant) is None:
            return
        add: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[session.get_bind().dialect.name](
            RefusalRow
        )
        row = add.values(round=round, participant=participant, reason=reason, received=now())
        session.execute(row.on_conflict_do_nothing())
