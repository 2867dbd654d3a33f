"""The audit log is added to."""

from typing import Any

from eitr.server.db.connection import Database
from eitr.server.db.tables import Audit
from eitr.server.domain.clock import now


def note(database: Database, who: str, action: str, **detail: Any) -> None:
    """Write down what somebody did."""
    with database.writing() as session:
        session.add(Audit(at=now(), who=who, action=action, detail=detail))
