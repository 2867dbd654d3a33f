"""Invitations: for whom they are, and who came with them."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.server.dashboard.queries.listing import Listing, paged
from eitr.server.db.tables import InvitationBatchRow, InvitationRow, ParticipantRow


@dataclass(frozen=True, slots=True)
class Invited:
    """One invitation as the list shows it."""

    hash: str
    note: str
    created: datetime
    revoked: datetime | None
    participant: str | None
    """Who came with it."""
    batch: int | None
    founders: bool | None
    unbounded: bool | None


def listed(session: Session, page: int = 1) -> Listing:
    """Return one page of the invitations, newest first."""
    query = (
        select(
            InvitationRow.hash,
            InvitationRow.note,
            InvitationRow.created,
            InvitationRow.revoked,
            ParticipantRow.id,
            InvitationBatchRow.id,
            InvitationBatchRow.founders,
            InvitationBatchRow.unbounded,
        )
        .outerjoin(ParticipantRow, ParticipantRow.invitation == InvitationRow.hash)
        .outerjoin(InvitationBatchRow, InvitationBatchRow.id == InvitationRow.batch)
        .order_by(InvitationRow.created.desc(), InvitationRow.hash)
    )
    found = paged(session, query, page, rows=True)
    return Listing([Invited(row[0].hex(), *row[1:]) for row in found.rows], found.page, found.total)
