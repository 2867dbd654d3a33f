"""The audit log: read, and added to."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.server.clock import now
from eitr.server.dashboard.queries.listing import Listing, paged
from eitr.server.db.connection import Database
from eitr.server.db.tables import Audit


def listed(session: Session, page: int = 1) -> Listing:
    """Return one page of the log, newest first."""
    return paged(session, select(Audit).order_by(Audit.id.desc()), page)


def note(database: Database, who: str, action: str, **detail: Any) -> None:
    """Write down what an operator did."""
    with database.writing() as session:
        session.add(Audit(at=now(), who=who, action=action, detail=detail))
