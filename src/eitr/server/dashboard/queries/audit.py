"""Reading the audit log."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.server.dashboard.queries.listing import Listing, paged
from eitr.server.db.tables import AuditRow


def listed(session: Session, page: int = 1) -> Listing:
    """Return one page of the log, newest first."""
    return paged(session, select(AuditRow).order_by(AuditRow.id.desc()), page)
