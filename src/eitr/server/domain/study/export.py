"""Everything that is kept about a person of a study, for them to read."""

from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.server.db.study_tables import (
    StudyConsentRow,
    StudyPageRow,
    StudyPersonRow,
    StudyRow,
    StudyTaskRow,
    StudyTermsRow,
)


def study_part(session: Session, invitation: bytes) -> dict[str, Any] | None:
    """Return what the study keeps about the person with this invitation; None if there is none.

    The e-mail address is not part of it, only whether there is one: no document has an address and labels in it. The
    person's page in the study shows the address.
    """
    query = select(StudyPersonRow, StudyRow.slug).join(StudyRow, StudyRow.id == StudyPersonRow.study)
    found = session.execute(query.where(StudyPersonRow.invitation == invitation)).one_or_none()
    if found is None:
        return None
    person, slug = found
    terms = session.get(StudyTermsRow, person.id)
    return {
        "study": slug,
        "language": person.language,
        **{name: _time(getattr(person, name)) for name in ("consented", "installed", "started", "finished")},
        "completion_code": person.completion_code,
        "email_stored": person.contact is not None,
        "consents": _consents(session, person.id),
        "tasks": _tasks(session, person.id),
        "terms": None if terms is None else terms.report,
    }


def _consents(session: Session, person: str) -> list[dict[str, Any]]:
    rows = session.scalars(select(StudyConsentRow).where(StudyConsentRow.person == person).order_by(StudyConsentRow.id))
    return [
        {
            "kind": row.kind,
            "version": row.version,
            "text_sha256": row.text_hash,
            "given": row.given.isoformat(),
            "withdrawn": _time(row.withdrawn),
            "in_force": row.in_force is True,
        }
        for row in rows
    ]


def _tasks(session: Session, person: str) -> list[dict[str, Any]]:
    query = select(StudyTaskRow, StudyPageRow.url).join(StudyPageRow, StudyPageRow.id == StudyTaskRow.page)
    return [
        {
            "id": row.id,
            "position": row.position,
            "url": url,
            "state": row.state,
            "opened": _time(row.opened),
            "ended": _time(row.ended),
            "label": row.label,
        }
        for row, url in session.execute(query.where(StudyTaskRow.person == person).order_by(StudyTaskRow.id))
    ]


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
