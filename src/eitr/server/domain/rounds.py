"""Rounds: open -> closing -> aggregating -> published, quarantined or abandoned.

Every step is one transaction that names the status it starts from: done twice, or by two at once, it happens once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import CursorResult, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from eitr.model.round_plan import plan_document
from eitr.server.db.connection import Database
from eitr.server.db.tables import UNDER_WAY, AuditRow, ModelRow, RoundRow, RoundStatus, UpdateRow
from eitr.server.domain import formal_privacy, moderation
from eitr.server.domain.clock import now
from eitr.server.domain.switches import PAUSED, pause_of
from eitr.server.domain.training import RoundTraining, Training
from eitr.server.domain.trust import enough_trusted
from eitr.server.domain.update_bytes import forget_round
from eitr.server.settings import ServerSettings

TOO_FEW = "too few updates"
"""How the reason begins for which a round with too few updates is abandoned."""
_ANOTHER_BASE = 0
"""The number of no round: a new version was published while the plan for the last one was made."""


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A round that takes updates, as participants see it."""

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
        self._training = Training(database, settings)
        self._waited: tuple[int, int, int, int] | None = None
        """A round, its updates, how many of them count, and a minute, in which newcomers waited for others."""

    def current(self) -> OpenRound | None:
        """Return the round that takes updates; None if there is none."""
        with self._database.reading() as session:
            found = session.scalar(select(RoundRow).where(RoundRow.status == RoundStatus.OPEN, ~PAUSED))
        if found is None or found.deadline <= now():
            return None
        return OpenRound(found.id, found.base, found.deadline, found.plan)

    def paused(self) -> bool:
        """Say whether the operator has paused rounds."""
        with self._database.reading() as session:
            return pause_of(session) is not None

    def get(self, id: int) -> RoundRow | None:
        """Return a round."""
        with self._database.reading() as session:
            return session.get(RoundRow, id)

    def received(self, id: int, participant: str) -> bytes | None:
        """Return the SHA-256 of what a participant sent in a round; None if nothing was received."""
        with self._database.reading() as session:
            query = select(UpdateRow.sha256).where(UpdateRow.round == id, UpdateRow.participant == participant)
            return session.scalar(query)

    def open(self, who: str = "server") -> int | None:
        """Open a round for the current model; None if one is under way already, none is possible, or all are paused."""
        while True:
            with self._database.reading() as session:
                base = session.scalars(select(func.max(ModelRow.version))).one()
            # Before the transaction that writes: finding the clip takes a moment, and others would wait.
            training = self._training.of(base)
            if training is None:
                return None
            opened = self._open(base, training, who)
            if opened != _ANOTHER_BASE:
                return opened

    def _open(self, base: int, training: RoundTraining, who: str) -> int | None:
        settings, moment = self._settings, now()
        try:
            with self._database.writing() as session:
                if not self._database.sqlite:
                    # Whoever is publishing a version now either ends first, or sees this round and abandons it.
                    session.connection().exec_driver_sql("LOCK TABLE models IN SHARE ROW EXCLUSIVE MODE")
                if session.scalar(select(RoundRow.id).where(RoundRow.under_way.is_(True))) is not None:
                    return None
                if session.scalars(select(func.max(ModelRow.version))).one() != base:
                    return _ANOTHER_BASE
                if pause_of(session) is not None or formal_privacy.exhausted(session, settings):
                    return None
                added = RoundRow(
                    status=RoundStatus.OPEN,
                    under_way=True,
                    base=base,
                    opened=moment,
                    deadline=moment + timedelta(seconds=settings.round_seconds),
                    minimum=settings.minimum,
                    quorum=settings.quorum,
                    maximum=settings.maximum,
                    grace_seconds=settings.grace_seconds,
                    plan=plan_document(training.plan),
                    pool=training.pool,
                    **formal_privacy.columns_of_round(settings),
                    received=0,
                    attempts=0,
                    failures=0,
                )
                session.add(added)
                session.flush()
                session.add(AuditRow(at=moment, who=who, action="opened a round", detail={"round": added.id}))
                return added.id
        except IntegrityError:  # somebody else was faster
            return None

    def open_if_due(self) -> int | None:
        """Open a round if rounds open by themselves, none is under way, and enough time has passed."""
        if not self._settings.automatic_rounds:
            return None
        with self._database.reading() as session:
            if pause_of(session) is not None:
                return None
            if session.scalar(select(RoundRow.id).where(RoundRow.under_way.is_(True))) is not None:
                return None
            ended = session.scalar(select(func.max(RoundRow.ended)))
        if ended is not None and now() < ended + timedelta(seconds=self._settings.pause_seconds):
            return None
        return self.open()

    def close_if_due(self) -> None:
        """Close the open round at its quorum, its maximum or its deadline; abandon it if too few came."""
        moment = now()
        with self._database.reading() as session:
            found = session.scalar(select(RoundRow).where(RoundRow.status == RoundStatus.OPEN, ~PAUSED))
            counting = 0 if found is None else found.received - moderation.uncounted(session, found.id)
        if found is None or not self._due(found, counting, moment):
            return
        if counting < found.minimum:
            self.abandon(found.id, f"{TOO_FEW}: {counting} of at least {found.minimum}", RoundStatus.OPEN)
        else:
            self.close(found.id)

    def _due(self, round: RoundRow, counting: int, moment: datetime) -> bool:
        """Say whether a round must close: at its deadline, or when it is complete and not by newcomers alone.

        `counting` is how many of its updates count: those of muted and banned participants do not.
        """
        if moment >= round.deadline:
            return True
        grace = timedelta(seconds=round.grace_seconds)
        quorum = counting >= round.quorum and round.complete is not None and moment >= round.complete + grace
        if not quorum and round.received < round.maximum:
            return False
        if not self._settings.bounds or round.published_noise is not None:
            return True
        # Not at every step of a worker: the answer changes when somebody sends, or in the course of time.
        asked = (round.id, round.received, counting, int(moment.timestamp() / 60))
        if asked == self._waited:
            return False
        with self._database.reading() as session:
            enough = enough_trusted(session, round, self._settings.established_rounds)
        self._waited = None if enough else asked
        return enough

    def close(self, id: int, who: str = "server") -> bool:
        """Close an open round: it takes no more updates. Say whether it was open."""
        with self._database.writing() as session:
            if not moved(session, id, RoundStatus.OPEN, RoundStatus.CLOSING, closed=now()):
                return False
            if who != "server":
                session.add(AuditRow(at=now(), who=who, action="closed a round", detail={"round": id}))
            return True

    def abandon(self, id: int, reason: str, *statuses: RoundStatus, who: str = "server") -> bool:
        """End a round without a model and without evidence. Say whether it was in one of these statuses."""
        with self._database.writing() as session:
            return abandoned(session, id, reason, who, *statuses)

    def claim(self, owner: str) -> int | None:
        """Take a round to aggregate: one that closed, or one whose worker's lease ended. None if there is none."""
        moment = now()
        lease = moment + timedelta(seconds=self._settings.lease_seconds)
        with self._database.writing() as session:
            waiting = (
                select(RoundRow.id)
                .where(
                    (RoundRow.status == RoundStatus.CLOSING)
                    | ((RoundRow.status == RoundStatus.AGGREGATING) & (RoundRow.lease < moment)),
                    ~PAUSED,
                )
                .with_for_update(skip_locked=True)
            )
            id = session.scalar(waiting)
            if id is None:
                return None
            session.execute(
                update(RoundRow)
                .where(RoundRow.id == id)
                .values(status=RoundStatus.AGGREGATING, owner=owner, lease=lease, attempts=RoundRow.attempts + 1)
            )
            return id

    def failed(self, id: int, owner: str) -> None:
        """Count that a worker failed; the round is tried again when its lease ends."""
        with self._database.writing() as session:
            mine = (RoundRow.id == id, RoundRow.owner == owner, RoundRow.status == RoundStatus.AGGREGATING)
            session.execute(update(RoundRow).where(*mine).values(failures=RoundRow.failures + 1))

    def renew(self, id: int, owner: str) -> bool:
        """Renew the lease of a worker; return False if another one has taken over."""
        lease = now() + timedelta(seconds=self._settings.lease_seconds)
        with self._database.writing() as session:
            mine = (RoundRow.id == id, RoundRow.owner == owner, RoundRow.status == RoundStatus.AGGREGATING)
            return changed(session.execute(update(RoundRow).where(*mine).values(lease=lease)))


def ending() -> dict[str, Any]:
    """Return the values that every final status sets."""
    return {"ended": now(), "under_way": None, "owner": None, "lease": None}


def moved(session: Session, id: int, before: RoundStatus, after: RoundStatus, **values: Any) -> bool:
    """Change the status of a round; return False if it had another status before."""
    step = update(RoundRow).where(RoundRow.id == id, RoundRow.status == before).values(status=after, **values)
    return changed(session.execute(step))


def abandoned(session: Session, id: int, reason: str, who: str, *statuses: RoundStatus) -> bool:
    """End a round without a model, within a transaction. Say whether it was in one of these statuses."""
    if not any(moved(session, id, status, RoundStatus.ABANDONED, reason=reason, **ending()) for status in statuses):
        return False
    forget_round(session, id)
    session.add(AuditRow(at=now(), who=who, action="abandoned a round", detail={"round": id, "reason": reason}))
    return True


def abandon_under_way(session: Session, reason: str, who: str) -> None:
    """End the round under way, if there is one, before and after another version is published in one transaction.

    Before, because a worker that is just ending the round holds its row, and then publishes or lets go before this goes
    on. In the other order, the worker would wait for the new version, and whoever publishes it for the round. After,
    because the next round may have been opened meanwhile; from then on, rounds have the new version as their base.
    """
    round = session.scalar(select(RoundRow.id).where(RoundRow.under_way.is_(True)))
    if round is not None:
        abandoned(session, round, reason, who, *UNDER_WAY)


def changed(done: Any) -> bool:
    """Say whether a statement changed exactly one row."""
    return isinstance(done, CursorResult) and done.rowcount == 1
