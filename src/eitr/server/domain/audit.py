"""Writing to the audit log."""

from typing import Any

from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow
from eitr.server.domain.clock import now


def note(database: Database, who: str, action: str, **detail: Any) -> None:
    """Add an entry: who did what."""
    with database.writing() as session:
        session.add(AuditRow(at=now(), who=who, action=action, detail=detail))
