"""What became of the rounds that a participant sent to.

The answer depends on the round alone: it is the same for everybody who sent to it, whatever the rule and the operator
made of their update.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.tables import ModelRow, RoundRow, RoundStatus, UpdateRow

MOST_ROUNDS = 50


class RoundOutcome(StrEnum):
    """What participants are told about a round. Why a round was not published is not among it."""

    OPEN = "open"
    AGGREGATING = "aggregating"
    PUBLISHED = "published"
    ROLLED_BACK = "rolled-back"
    NOT_PUBLISHED = "not-published"


@dataclass(frozen=True, slots=True)
class SentRound:
    """A round that a participant sent to."""

    round: int
    outcome: RoundOutcome
    version: int | None
    """The version that was published, also if it was rolled back later."""


@dataclass(frozen=True, slots=True)
class History:
    """Which round led to which version, and which rounds the newest version builds on."""

    newest: int
    versions: Mapping[int, int]
    included: frozenset[int]


class RoundOutcomes:
    """Answers what became of rounds; remembers the history of versions until a new one is published."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: History | None = None

    def of(self, participant: str) -> list[SentRound]:
        """Return the last rounds that a participant sent to, newest first."""
        query = (
            select(UpdateRow.round, RoundRow.status)
            .join(RoundRow, RoundRow.id == UpdateRow.round)
            .where(UpdateRow.participant == participant)
            .order_by(UpdateRow.round.desc())
            .limit(MOST_ROUNDS)
        )
        with self._database.reading() as session:
            # Statuses first: a round that ends between the two queries is then published, not without a version.
            sent = session.execute(query).all()
            history = self._history(session)
        return [_sent_round(round, RoundStatus(status), history) for round, status in sent]

    def _history(self, session: Session) -> History:
        newest = session.scalars(select(func.max(ModelRow.version))).one()
        known = self._known
        if known is None or known.newest != newest:
            known = self._known = _read_history(session, newest)
        return known


def _sent_round(round: int, status: RoundStatus, history: History) -> SentRound:
    version = history.versions.get(round)
    if version is not None:
        current = round in history.included
        return SentRound(round, RoundOutcome.PUBLISHED if current else RoundOutcome.ROLLED_BACK, version)
    if status is RoundStatus.OPEN:
        return SentRound(round, RoundOutcome.OPEN, None)
    return SentRound(round, RoundOutcome.NOT_PUBLISHED if status.final else RoundOutcome.AGGREGATING, None)


def _read_history(session: Session, newest: int) -> History:
    query = (
        select(ModelRow.version, ModelRow.round, ModelRow.restored, RoundRow.base)
        .outerjoin(RoundRow, RoundRow.id == ModelRow.round)
        .where(ModelRow.version <= newest)
    )
    rows = {row.version: row for row in session.execute(query)}
    included: set[int] = set()
    version: int | None = newest
    # Every version was made from an earlier one, so this ends: at the shipped model.
    while version is not None:
        row = rows[version]
        if row.round is not None:
            included.add(row.round)
        version = row.base if row.restored is None else row.restored
    versions = {row.round: row.version for row in rows.values() if row.round is not None}
    return History(newest, versions, frozenset(included))
