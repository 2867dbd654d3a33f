"""Reminders: who has not finished, by the note of their invitation, and e-mail to those who gave an address.

An address and a note never meet: the list shows notes and no address, and e-mail is written to addresses without
anybody seeing which.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyPersonRow
from eitr.server.db.tables import InvitationRow
from eitr.server.delivery.channels import mail_to
from eitr.server.delivery.failures import DeliveryError
from eitr.server.delivery.mail import Letter
from eitr.server.domain.audit import note
from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.invitations import INVITATION
from eitr.server.domain.keys import Key
from eitr.server.domain.study.contacts import Contacts
from eitr.server.domain.study.register import Study
from eitr.server.settings import MAIL_ADDRESS, ServerSettings


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An invitation whose person has not finished."""

    note: str
    invited: datetime
    state: str
    """How far they are: invited, consented, installed or started."""


def check_note(text: str) -> None:
    """Refuse a note with an e-mail address: the dashboard shows notes beside participants and their updates."""
    if MAIL_ADDRESS.search(text):
        raise InvalidInputError("A note must not have an e-mail address in it: write a name or a number of your own.")


def note_invitations(database: Database, key: Key, codes: Sequence[str], text: str) -> None:
    """Write a note to invitations, so that the operator knows for whom they are."""
    check_note(text)
    hashes = [key.hash(INVITATION, code) for code in codes]
    with database.writing() as session:
        for hash in hashes:
            session.execute(update(InvitationRow).where(InvitationRow.hash == hash).values(note=text))


def unfinished(session: Session, study: Study) -> list[Unfinished]:
    """Return who has not finished, by note; whoever withdrew is not asked again."""
    person = StudyPersonRow
    query = (
        select(InvitationRow.note, InvitationRow.created, person.consented, person.installed, person.started)
        .outerjoin(person, person.invitation == InvitationRow.hash)
        .where(InvitationRow.batch == study.batch, InvitationRow.revoked.is_(None), person.finished.is_(None))
        .order_by(InvitationRow.note, InvitationRow.created)
    )
    return [Unfinished(text, created, _state(*when)) for text, created, *when in session.execute(query)]


def _state(consented: datetime | None, installed: datetime | None, started: datetime | None) -> str:
    return "started" if started else "installed" if installed else "consented" if consented else "invited"


def remind(
    database: Database, settings: ServerSettings, contacts: Contacts, study: Study, letter: Letter, *, who: str
) -> tuple[int, int]:
    """Write to everybody who gave an address and has not finished; return how many were sent, and how many refused."""
    if not (settings.smtp_host and settings.smtp_from):
        raise InvalidInputError("To send e-mail, set EITR_SMTP_HOST and EITR_SMTP_FROM and start the server again.")
    addresses = tuple(email for email, finished in contacts.reward_list(study.slug) if not finished)
    if not addresses:
        raise InvalidInputError("Nobody who has not finished gave an e-mail address.")
    try:
        refused = mail_to(settings, addresses).send_to_each(letter)
    except DeliveryError as error:
        raise InvalidInputError(f"The reminders were not sent, or not all of them: {error}.") from None
    sent = len(addresses) - refused
    note(database, who, "sent reminders", study=study.slug, sent=sent, refused=refused)
    return sent, refused
