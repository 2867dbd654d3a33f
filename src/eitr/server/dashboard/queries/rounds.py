"""Rounds: the one under way, those before, and what a rule made of each update."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from eitr.server.dashboard.queries.listing import Listing, paged
from eitr.server.db.tables import CandidateRow, ObservationRow, RefusalRow, RoundRow, RoundStatus
from eitr.taxonomy import TOPICS

FUSED = "fused"
"""What all detectors say together, in the opinions of an observation."""


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
