"""What withdrawal deletes: everything about a person of a study but the keyed hash of their invitation code."""

from collections.abc import Iterable

from sqlalchemy import String, cast, delete, select, update
from sqlalchemy.orm import Session

from eitr.server.db.connection import rewrite_later
from eitr.server.db.study_tables import (
    StudyConsentRow,
    StudyContactRow,
    StudyPersonRow,
    StudyTaskRow,
    StudyTermsRow,
    StudyWithdrawalRow,
)
from eitr.server.db.tables import (
    AuditRow,
    InvitationRow,
    KeptReputationRow,
    NoteRow,
    ObservationRow,
    ParticipantRow,
    RefusalRow,
    RuleStateRow,
    UpdateRow,
)
from eitr.server.domain.clock import now
from eitr.server.domain.notes import SHOWN_ID

OWN_TABLES = (StudyConsentRow, StudyTaskRow, StudyTermsRow)
STUDY_TABLES = (*OWN_TABLES, StudyPersonRow, StudyContactRow, InvitationRow)
WITHDRAWN = "withdrawn"
"""What the audit log names a participant who withdrew."""
PARTICIPANT_TABLES = (
    AuditRow,
    KeptReputationRow,
    NoteRow,
    ObservationRow,
    ParticipantRow,
    RefusalRow,
    RuleStateRow,
    UpdateRow,
)


def forget_person(session: Session, invitation: bytes) -> bool:
    """Delete the study's part of somebody who withdraws, within a transaction; say whether they were in a study.

    Their code stays known as a keyed hash, so that nobody takes part with it again. Nothing is kept for their return:
    neither a reputation nor a ban.
    """
    # The invitation before the person, as whoever begins does: neither waits for the other for ever.
    session.get(InvitationRow, invitation, with_for_update=True)
    person = session.scalar(
        select(StudyPersonRow).where(StudyPersonRow.invitation == invitation).with_for_update(of=StudyPersonRow)
    )
    if person is None:
        return False
    moment = now()
    session.add(StudyWithdrawalRow(study=person.study, hash=invitation, at=moment))
    session.execute(update(InvitationRow).where(InvitationRow.hash == invitation).values(revoked=moment))
    session.execute(delete(KeptReputationRow).where(KeptReputationRow.invitation == invitation))
    delete_people(session, [person])
    rewrite_later(session, PARTICIPANT_TABLES)
    return True


def forget_actions(session: Session, participant: str) -> None:
    """Take a participant who withdraws out of the audit log, within a transaction.

    That an operator did something stays; about whom and for which reason does not.
    """
    name = participant[:SHOWN_ID]
    for row in session.scalars(select(AuditRow).where(cast(AuditRow.detail, String).contains(name))):
        if row.detail.get("participant") == name:
            row.detail = {"participant": WITHDRAWN}
        elif row.detail.get("about") == f"participant {name}":
            row.detail = {**row.detail, "about": f"participant {WITHDRAWN}"}


def delete_people(session: Session, people: Iterable[StudyPersonRow]) -> None:
    """Delete people with all they left in a study, within a transaction.

    The note of an invitation says for whom it was, so it goes, too; the operator's note of the batch stays.
    """
    for person in people:
        session.execute(update(InvitationRow).where(InvitationRow.hash == person.invitation).values(note=""))
        if person.contact is not None:
            session.execute(delete(StudyContactRow).where(StudyContactRow.id == person.contact))
        for table in OWN_TABLES:
            session.execute(delete(table).where(table.person == person.id))
        session.execute(delete(StudyPersonRow).where(StudyPersonRow.id == person.id))
        session.expunge(person)
    rewrite_later(session, STUDY_TABLES)
