"""The models that the gate did not let through, until somebody decides or another version takes their place."""

from enum import StrEnum

import numpy as np
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from eitr.model import Vector
from eitr.server.db.tables import CandidateRow, RoundRow
from eitr.server.domain.clock import now

MOST = 5
"""So many candidates are kept: each is as large as a model, and rounds may be quarantined one after the other."""


class Decision(StrEnum):
    """What became of a quarantined round's candidate."""

    DISCARDED = "discarded"
    PUBLISHED_ANYWAY = "published anyway"
    SHORTENED = "shortened"
    """It was tried again, and as much of the step as the gate lets through was published: mostly a shorter one."""
    SUPERSEDED = "superseded"
    """Another version was published, or many later rounds were quarantined."""


def keep(session: Session, round: int, vector: Vector) -> None:
    """Keep the candidate of a round that is being quarantined; of many, the oldest is deleted."""
    session.add(CandidateRow(round=round, weights=vector.astype("<f4").tobytes()))
    session.flush()
    newest = select(CandidateRow.round).order_by(CandidateRow.round.desc()).limit(MOST)
    oldest = min(session.scalars(newest))
    for old in session.scalars(select(CandidateRow.round).where(CandidateRow.round < oldest)).all():
        remove(session, old, Decision.SUPERSEDED)


def find(session: Session, round: int) -> Vector | None:
    """Return the candidate of a round; None if it is no longer kept."""
    weights = session.scalar(select(CandidateRow.weights).where(CandidateRow.round == round))
    return None if weights is None else np.frombuffer(weights, "<f4").astype(np.float32)


def remove(session: Session, round: int, decision: Decision) -> bool:
    """Delete a candidate and note why; say whether it was there: of two who do so at once, one succeeds."""
    if session.scalar(delete(CandidateRow).where(CandidateRow.round == round).returning(CandidateRow.round)) is None:
        return False
    session.execute(update(RoundRow).where(RoundRow.id == round).values(decision=decision, decided=now()))
    return True


def supersede(session: Session) -> None:
    """Delete all candidates, because a version is published that they are not based on."""
    for round in session.scalars(select(CandidateRow.round)).all():
        remove(session, round, Decision.SUPERSEDED)
