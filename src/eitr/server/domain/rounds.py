"""Rounds: open -> closing -> aggregating -> published, quarantined or abandoned.

Every step is one transaction that names the state it starts from: done twice, or by two at once, it happens once.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import CursorResult, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.tables import Audit, Model, Octets, Round, State, Update
from eitr.server.domain.clock import now
from eitr.server.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class Call:
    """What participants are told of an open round."""

    id: int
    base: int
    deadline: datetime
    plan: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "id": self.id,
            "base": self.base,
            "deadline": self.deadline.isoformat(timespec="seconds"),
            "training": self.plan,
        }


class Rounds:
    """The rounds of a server."""

    def __init__(self, database: Database, settings: ServerSettings) -> None:
        self._database, self._settings = database, settings

    def current(self) -> Call | None:
        """Return the round that takes updates; None if there is none."""
        with self._database.reading() as session:
            found = session.scalar(select(Round).where(Round.state == State.OPEN))
        if found is None or found.deadline <= now():
            return None
        return Call(found.id, found.base, found.deadline, found.plan)

    def get(self, id: int) -> Round | None:
        """Return a round."""
        with self._database.reading() as session:
            return session.get(Round, id)

    def received(self, id: int, participant: str) -> bytes | None:
        """Return the SHA-256 of what a participant sent in a round; None if nothing was received."""
        with self._database.reading() as session:
            query = select(Update.sha256).where(Update.round == id, Update.participant == participant)
            return session.scalar(query)

    def open(self, who: str = "server") -> int | None:
        """Open a round for the current model; None if one is under way already."""
        settings, moment = self._settings, now()
        try:
            with self._database.writing() as session:
                if session.scalar(select(Round.id).where(Round.under_way.is_(True))) is not None:
                    return None
                base = session.scalars(select(func.max(Model.version))).one()
                added = Round(
                    state=State.OPEN,
                    under_way=True,
                    base=base,
                    opened=moment,
                    deadline=moment + timedelta(seconds=settings.round_seconds),
                    minimum=settings.minimum,
                    quorum=settings.quorum,
                    maximum=settings.maximum,
                    grace_seconds=settings.grace_seconds,
                    plan=asdict(settings.plan),
                    received=0,
                    attempts=0,
                    failures=0,
                )
                session.add(added)
                session.flush()
                session.add(Audit(at=moment, who=who, action="opened a round", detail={"round": added.id}))
                return added.id
        except IntegrityError:  # somebody else was faster
            return None

    def open_if_due(self) -> int | None:
        """Open a round if rounds open by themselves, none is under way, and the pause is over."""
        if not self._settings.automatic_rounds:
            return None
        with self._database.reading() as session:
            if session.scalar(select(Round.id).where(Round.under_way.is_(True))) is not None:
                return None
            ended = session.scalar(select(func.max(Round.ended)))
        if ended is not None and now() < ended + timedelta(seconds=self._settings.pause_seconds):
            return None
        return self.open()

    def close_if_due(self) -> None:
        """Close the open round at its quorum, its maximum or its deadline; abandon it if too few came."""
        moment = now()
        with self._database.reading() as session:
            found = session.scalar(select(Round).where(Round.state == State.OPEN))
        if found is None or not _due(found, moment):
            return
        if found.received < found.minimum:
            self.abandon(found.id, f"too few updates: {found.received} of at least {found.minimum}", State.OPEN)
        else:
            self.close(found.id)

    def close(self, id: int, who: str = "server") -> bool:
        """Close an open round: it takes no more updates. Say whether it was open."""
        with self._database.writing() as session:
            if not moved(session, id, State.OPEN, State.CLOSING, closed=now()):
                return False
            if who != "server":
                session.add(Audit(at=now(), who=who, action="closed a round", detail={"round": id}))
            return True

    def abandon(self, id: int, reason: str, *states: State, who: str = "server") -> bool:
        """End a round without a model and without evidence. Say whether it was in one of these states."""
        with self._database.writing() as session:
            return abandoned(session, id, reason, who, *states)

    def claim(self, owner: str) -> int | None:
        """Take a round to aggregate: one that closed, or one whose worker fell silent. None if there is none."""
        moment = now()
        lease = moment + timedelta(seconds=self._settings.lease_seconds)
        with self._database.writing() as session:
            waiting = (
                select(Round.id)
                .where((Round.state == State.CLOSING) | ((Round.state == State.AGGREGATING) & (Round.lease < moment)))
                .with_for_update(skip_locked=True)
            )
            id = session.scalar(waiting)
            if id is None:
                return None
            session.execute(
                update(Round)
                .where(Round.id == id)
                .values(state=State.AGGREGATING, owner=owner, lease=lease, attempts=Round.attempts + 1)
            )
            return id

    def failed(self, id: int, owner: str) -> None:
        """Count that a worker failed; the round is tried again when its lease ends."""
        with self._database.writing() as session:
            mine = (Round.id == id, Round.owner == owner, Round.state == State.AGGREGATING)
            session.execute(update(Round).where(*mine).values(failures=Round.failures + 1))

    def renew(self, id: int, owner: str) -> bool:
        """Say that the worker is still at it; False if another one has taken over."""
        lease = now() + timedelta(seconds=self._settings.lease_seconds)
        with self._database.writing() as session:
            mine = (Round.id == id, Round.owner == owner, Round.state == State.AGGREGATING)
            return changed(session.execute(update(Round).where(*mine).values(lease=lease)))


def ending() -> dict[str, Any]:
    """What every final state sets."""
    return {"ended": now(), "under_way": None, "owner": None, "lease": None}


def moved(session: Session, id: int, before: State, after: State, **values: Any) -> bool:
    """Move a round from one state to another; False if it was not in that state."""
    step = update(Round).where(Round.id == id, Round.state == before).values(state=after, **values)
    return changed(session.execute(step))


def abandoned(session: Session, id: int, reason: str, who: str, *states: State) -> bool:
    """End a round without a model, within a transaction. Say whether it was in one of these states."""
    if not any(moved(session, id, state, State.ABANDONED, reason=reason, **ending()) for state in states):
        return False
    forget_octets(session, id)
    session.add(Audit(at=now(), who=who, action="abandoned a round", detail={"round": id, "reason": reason}))
    return True


def changed(done: Any) -> bool:
    """Say whether a statement changed exactly one row."""
    return isinstance(done, CursorResult) and done.rowcount == 1


def forget_octets(session: Session, round: int) -> None:
    """Delete what was sent in a round; that it was received stays known."""
    session.execute(delete(Octets).where(Octets.update.in_(select(Update.id).where(Update.round == round))))


def senders(session: Session, round: int) -> list[str]:
    """Return who sent an update to a round whose octets are there, sorted."""
    query = select(Update.participant).join(Octets, Octets.update == Update.id).where(Update.round == round)
    return list(session.scalars(query.order_by(Update.participant)))


def octets_of(session: Session, round: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield participant, encoding and octets of a round's updates, by participant; a few at a time are in memory."""
    query = select(Update.participant, Update.encoding, Octets.data).join(Octets, Octets.update == Update.id)
    found = session.execute(
        query.where(Update.round == round).order_by(Update.participant), execution_options={"yield_per": 8}
    )
    for row in found:
        yield row.participant, row.encoding, row.data


def _due(round: Round, moment: datetime) -> bool:
    if round.received >= round.maximum or moment >= round.deadline:
        return True
    complete = round.complete
    return (
        round.received >= round.quorum
        and complete is not None
        and moment >= complete + timedelta(seconds=round.grace_seconds)
    )
