"""Invitation codes: made, and checked. Only their keyed hashes are kept."""

from sqlalchemy.orm import Session

from eitr.server.db.tables import InvitationRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import InvitationNeededError
from eitr.server.domain.keys import Key, new_secret

INVITATION = "invitation"
"""The purpose of the keyed hash of a code."""


def new_codes(session: Session, key: Key, count: int, note: str, batch: int) -> list[str]:
    """Add invitations to a batch, within a transaction, and return their codes, which are not kept."""
    codes, moment = [new_secret()[:24] for _ in range(count)], now()
    session.add_all(
        InvitationRow(hash=key.hash(INVITATION, code), note=note, created=moment, batch=batch) for code in codes
    )
    return codes


def valid_invitation(session: Session, hash: bytes) -> InvitationRow:
    """Return an invitation; refuse one that is unknown or was revoked.

    It is locked: whoever withdraws with it at this moment waits, and then finds what was made with it.
    """
    found = session.get(InvitationRow, hash, with_for_update=True)
    if found is None or found.revoked is not None:
        raise InvitationNeededError("The invitation is unknown or was revoked; ask for a new one.")
    return found
