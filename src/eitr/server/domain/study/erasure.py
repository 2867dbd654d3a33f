"""What withdrawal deletes: everything about a person of a study but the keyed hash of their invitation code."""

from collections.abc import Iterable

from sqlalchemy import delete, select, update
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

OWN_TABLES = (StudyConsentRow, StudyTaskRow, StudyTermsRow)
STUDY_TABLES = (*OWN_TABLES, StudyPersonRow, StudyContactRow)
PARTICIPANT_TABLES = (
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


def delete_people(session: Session, people: Iterable[StudyPersonRow]) -> None:
    """Delete people with all they left in a study, within a transaction."""
    for person in people:
        if person.contact is not None:
            session.execute(delete(StudyContactRow).where(StudyContactRow.id == person.contact))
        for table in OWN_TABLES:
            session.execute(delete(table).where(table.person == person.id))
        session.execute(delete(StudyPersonRow).where(StudyPersonRow.id == person.id))
        session.expunge(person)
    rewrite_later(session, STUDY_TABLES)
