"""Versions of the model, without their weights: those are megabytes and no page shows them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, aliased

from eitr.server.dashboard.queries.listing import Listing, paged
from eitr.server.db.tables import ModelRow


@dataclass(frozen=True, slots=True)
class VersionSummary:
    """One version as pages show it."""

    version: int
    created: datetime
    origin: str
    round: int | None
    restored: int | None
    sha256: str
    accuracy: float | None
    class_accuracy: dict[str, float] | None
    kept: bool
    """Whether its weights are still there; without, nobody can go back to it."""
    previous: float | None
    """The accuracy of the version before."""
    newest: bool

    @property
    def change(self) -> float | None:
        """By how much the accuracy rose from the version before."""
        return None if self.accuracy is None or self.previous is None else self.accuracy - self.previous


def listed(session: Session, page: int = 1) -> Listing:
    """Return one page of the versions, newest first."""
    found = paged(session, _query().order_by(ModelRow.version.desc()), page, rows=True)
    return Listing([VersionSummary(*row) for row in found.rows], found.page, found.total)


def version(session: Session, number: int) -> VersionSummary | None:
    """Return one version; None if there is no such one."""
    row = session.execute(_query().where(ModelRow.version == number)).one_or_none()
    return None if row is None else VersionSummary(*row)


def newest(session: Session) -> VersionSummary | None:
    """Return the current version."""
    row = session.execute(_query().order_by(ModelRow.version.desc()).limit(1)).one_or_none()
    return None if row is None else VersionSummary(*row)


def latest(session: Session, most: int) -> list[VersionSummary]:
    """Return the last versions, oldest first."""
    rows = session.execute(_query().order_by(ModelRow.version.desc()).limit(most)).all()
    return [VersionSummary(*row) for row in reversed(rows)]


def _query() -> Select[Any]:
    before = aliased(ModelRow)
    highest = select(func.max(ModelRow.version)).scalar_subquery()
    return select(
        ModelRow.version,
        ModelRow.created,
        ModelRow.origin,
        ModelRow.round,
        ModelRow.restored,
        ModelRow.sha256,
        ModelRow.accuracy,
        ModelRow.class_accuracy,
        func.length(ModelRow.weights) > 0,
        before.accuracy,
        ModelRow.version == highest,
    ).outerjoin(before, before.version == ModelRow.version - 1)
