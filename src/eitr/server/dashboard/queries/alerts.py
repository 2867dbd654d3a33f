"""Alerts, and what became of their messages."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.server.dashboard.queries.listing import Listing, paged
from eitr.server.db.tables import AlertRow


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message of an alert on one channel."""

    channel: str
    event: str
    """`raised` or `ended`."""
    at: datetime | None
    """When it was delivered; None if it was not."""
    error: str
    attempts: int


@dataclass(frozen=True, slots=True)
class AlertSummary:
    """An alert as the list shows it."""

    text: str
    raised: datetime
    ended: datetime | None
    deliveries: list[Delivery]


def listed(session: Session, page: int = 1) -> Listing:
    """Return one page of the alerts, newest first."""
    found = paged(session, select(AlertRow).order_by(AlertRow.id.desc()), page)
    shown = [AlertSummary(row.text, row.raised, row.ended, _deliveries(row.delivered)) for row in found.rows]
    return Listing(shown, found.page, found.total)


def _deliveries(delivered: dict[str, Any]) -> list[Delivery]:
    return [
        Delivery(
            channel,
            event,
            datetime.fromisoformat(entry["at"]) if "at" in entry else None,
            entry.get("error", ""),
            entry["attempts"],
        )
        for channel, events in sorted(delivered.items())
        for event, entry in sorted(events.items(), reverse=True)
    ]
