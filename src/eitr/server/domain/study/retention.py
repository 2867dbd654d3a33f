"""Old data of studies: deleted some time after a study was closed."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.server.db.study_tables import StudyPersonRow, StudyRow
from eitr.server.domain.study.contacts import delete_contacts
from eitr.server.domain.study.erasure import delete_people
from eitr.server.settings import ServerSettings


def old_study_data(session: Session, moment: datetime, settings: ServerSettings) -> Counter[str]:
    """Delete the e-mail addresses and the people of studies that were closed long ago; return how much of what.

    The study itself, its pages and what raters said of them stay: they are about nobody who took part.
    """
    deleted: Counter[str] = Counter()
    for study in _closed_before(session, moment - timedelta(days=settings.keep_contacts_days)):
        deleted["study_contacts"] += delete_contacts(session, study)
    for study in _closed_before(session, moment - timedelta(days=settings.keep_study_days)):
        people = session.scalars(select(StudyPersonRow).where(StudyPersonRow.study == study)).all()
        if people:
            delete_people(session, people)
        deleted["study_people"] += len(people)
    return deleted


def _closed_before(session: Session, moment: datetime) -> Sequence[int]:
    return session.scalars(select(StudyRow.id).where(StudyRow.closed < moment)).all()
