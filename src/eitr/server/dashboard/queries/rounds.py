"""Rounds: the one under way, those before, and what a rule made of each update."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, null, select, union_all
from sqlalchemy.orm import Session

from eitr.server.dashboard.queries.listing import Listing, paged
from eitr.server.db.tables import (
    CandidateRow,
    ObservationRow,
    ParticipantRow,
    RefusalRow,
    RoundRow,
    RoundStatus,
    UpdateRow,
)
from eitr.server.domain.candidates import Decision
from eitr.taxonomy import TOPICS

NO_WEIGHT = 1e-9
"""A weight below this is none: rules compute weights in floating point."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Accuracy of all pages, or of one class, before and after a round."""

    title: str
    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        """By how much it rose."""
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class Sender:
    """Somebody who sent an update to a round, or tried to."""

    participant: str
    received: datetime
    rejected: str | None
    """Why what they sent was rejected; None if it was received."""
    muted: datetime | None
    banned: datetime | None


@dataclass(frozen=True, slots=True)
class Participation:
    """Who took part in one round, in numbers."""

    round: int
    status: str
    received: int
    judged: bool = False
    """Whether a rule has judged the updates; without, all numbers below are 0."""
    established: int = 0
    newcomers: int = 0
    established_counted: int = 0
    """... of them with a weight."""
    newcomers_counted: int = 0
    other_counted: int = 0
    """With a weight, in rounds before it was noted who is a newcomer."""
    without_weight: int = 0
    left_out: int = 0
    """Muted or banned."""
    rejected: int = 0
    """Participants who sent nothing but invalid updates."""


def under_way(session: Session) -> RoundRow | None:
    """Return the round that is neither published nor given up."""
    return session.scalar(select(RoundRow).where(RoundRow.under_way.is_(True)))


def refusals_in(session: Session, id: int) -> int:
    """Return how many updates of a round were rejected as invalid."""
    return session.scalar(select(func.count()).select_from(RefusalRow).where(RefusalRow.round == id)) or 0


def has_candidate(session: Session, id: int) -> bool:
    """Say whether the model that the gate refused is still there."""
    return session.scalar(select(CandidateRow.round).where(CandidateRow.round == id)) is not None


def listed(session: Session, page: int = 1) -> Listing:
    """Return one page of the rounds, newest first."""
    return paged(session, select(RoundRow).order_by(RoundRow.id.desc()), page)


def outcomes(session: Session) -> dict[str, int]:
    """Return how many rounds ended in which way."""
    query = select(RoundRow.status, func.count()).group_by(RoundRow.status)
    counted = {row[0]: row[1] for row in session.execute(query)}
    return {status.value: counted.get(status.value, 0) for status in RoundStatus if status.final}


def decided(session: Session) -> dict[str, int]:
    """Return how many quarantined rounds an operator then published, whole or in part, and how many were discarded."""
    published, discarded = session.execute(
        select(
            func.count().filter(RoundRow.result.is_not(None)),
            func.count().filter(RoundRow.decision == Decision.DISCARDED),
        ).where(RoundRow.status == RoundStatus.QUARANTINED)
    ).one()
    return {"published": published, "discarded": discarded}


def has_reputations(session: Session, id: int) -> bool:
    """Say whether the rule of a round gave reputations: then, whoever has none was not drawn."""
    query = select(ObservationRow.round).where(
        ObservationRow.round == id, ObservationRow.reputation.is_not(None), ObservationRow.refused.is_(False)
    )
    return session.scalar(query.limit(1)) is not None


def observations(session: Session, id: int, page: int = 1) -> Listing:
    """Return what was made of each update of a round, the lowest reputations first, and why it was refused."""
    query = (
        select(ObservationRow, RefusalRow.reason)
        .outerjoin(
            RefusalRow,
            (RefusalRow.round == ObservationRow.round) & (RefusalRow.participant == ObservationRow.participant),
        )
        .where(ObservationRow.round == id)
        .order_by(ObservationRow.reputation.asc().nulls_first(), ObservationRow.participant)
    )
    return paged(session, query, page, rows=True)


def senders(session: Session, id: int, page: int = 1) -> Listing:
    """Return who sent something to a round so far, the latest first; also those who sent nothing valid."""
    sent = select(UpdateRow.participant, UpdateRow.received, null().label("rejected")).where(UpdateRow.round == id)
    rejected = select(RefusalRow.participant, RefusalRow.received, RefusalRow.reason).where(
        RefusalRow.round == id,
        RefusalRow.participant.not_in(select(UpdateRow.participant).where(UpdateRow.round == id)),
    )
    both = union_all(sent, rejected).subquery()
    query = (
        select(both.c.participant, both.c.received, both.c.rejected, ParticipantRow.muted, ParticipantRow.banned)
        .join(ParticipantRow, ParticipantRow.id == both.c.participant)
        .order_by(both.c.received.desc(), both.c.participant)
    )
    found = paged(session, query, page, rows=True)
    return Listing([Sender(*row) for row in found.rows], found.page, found.total)


def left_out(session: Session, id: int) -> list[str]:
    """Return who sent an update to a round that a rule has judged and was left out: the muted and the banned."""
    query = (
        select(UpdateRow.participant)
        .outerjoin(
            ObservationRow,
            (ObservationRow.round == UpdateRow.round) & (ObservationRow.participant == UpdateRow.participant),
        )
        .where(UpdateRow.round == id, ObservationRow.round.is_(None))
    )
    return list(session.scalars(query.order_by(UpdateRow.participant)))


def participation(session: Session, most: int) -> list[Participation]:
    """Return who took part in the last rounds, in numbers, newest first."""
    rounds = session.execute(
        select(RoundRow.id, RoundRow.status, RoundRow.received).order_by(RoundRow.id.desc()).limit(most)
    ).all()
    last = [row.id for row in rounds]
    sent = select(UpdateRow.round, func.count().label("n")).where(UpdateRow.round.in_(last)).group_by(UpdateRow.round)
    updates = {row.round: row.n for row in session.execute(sent)}
    came = UpdateRow.id.is_not(None)
    # Rules without weights, such as the median, count everybody.
    counted = came & (ObservationRow.weight.is_(None) | (ObservationRow.weight > NO_WEIGHT))
    old, new = ObservationRow.established.is_(True), ObservationRow.established.is_(False)
    seen = (
        select(
            ObservationRow.round,
            func.count(UpdateRow.id).label("judged"),
            func.count().filter(old).label("established"),
            func.count().filter(new).label("newcomers"),
            func.count().filter(counted, old).label("established_counted"),
            func.count().filter(counted, new).label("newcomers_counted"),
            func.count().filter(counted, ObservationRow.established.is_(None)).label("other_counted"),
            func.count().filter(came, ObservationRow.weight <= NO_WEIGHT).label("without_weight"),
            func.count().filter(UpdateRow.id.is_(None)).label("rejected"),
        )
        .outerjoin(
            UpdateRow,
            (UpdateRow.round == ObservationRow.round) & (UpdateRow.participant == ObservationRow.participant),
        )
        .where(ObservationRow.round.in_(last))
        .group_by(ObservationRow.round)
    )
    known = {row.round: row for row in session.execute(seen)}
    return [
        _participation(row.id, row.status, row.received, updates.get(row.id, 0), known.get(row.id)) for row in rounds
    ]


def _participation(id: int, status: str, received: int, updates: int, seen: Any) -> Participation:
    if seen is None:
        return Participation(id, status, received)
    return Participation(
        round=id,
        status=status,
        received=received,
        judged=True,
        established=seen.established,
        newcomers=seen.newcomers,
        established_counted=seen.established_counted,
        newcomers_counted=seen.newcomers_counted,
        other_counted=seen.other_counted,
        without_weight=seen.without_weight,
        left_out=updates - seen.judged,
        rejected=seen.rejected,
    )


def compared(round: RoundRow) -> list[Compared]:
    """Return the accuracy before and after a round, first of all pages, then of each class that has pages."""
    if round.score is None:
        return []
    before, after = round.score.get("before", {}), round.score.get("after", {})
    found = [Compared("All pages", before.get("accuracy"), after.get("accuracy"))]
    for topic in TOPICS:
        one = Compared(topic.title, _of(before, topic.name), _of(after, topic.name))
        if one.before is not None or one.after is not None:
            found.append(one)
    return found


def _of(score: dict[str, Any], name: str) -> float | None:
    value: float | None = (score.get("by_class") or {}).get(name)
    return value
