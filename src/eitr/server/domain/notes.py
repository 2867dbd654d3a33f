"""Notes that operators write about a participant, a round or a version of the model."""

from collections.abc import Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from eitr.server.db.connection import DELETED, Database
from eitr.server.db.tables import AuditRow, ModelRow, NoteRow, ParticipantRow, RoundRow
from eitr.server.domain.clock import now

SHOWN_ID = 8
"""The audit log names participants by so many characters of their id, as the dashboard does."""


def about_participant(id: str) -> str:
    """Return the subject of notes about a participant."""
    return f"participant {id}"


def about_round(id: int) -> str:
    """Return the subject of notes about a round."""
    return f"round {id}"


def about_version(version: int) -> str:
    """Return the subject of notes about a version of the model."""
    return f"version {version}"


def notes_about(session: Session, about: str) -> Sequence[NoteRow]:
    """Return the notes about a subject, newest first."""
    return session.scalars(select(NoteRow).where(NoteRow.about == about).order_by(NoteRow.id.desc())).all()


def write_note(database: Database, about: str, text: str, who: str) -> bool:
    """Add a note; return False if its subject does not exist."""
    with database.writing() as session:
        if not _exists(session, about):
            return False
        session.add(NoteRow(about=about, text=text, who=who, at=now()))
        session.add(AuditRow(at=now(), who=who, action="wrote a note", detail={"about": _short(about)}))
        return True


def delete_note(database: Database, id: int, who: str) -> str | None:
    """Delete a note and return its subject; None if there is no such note."""
    with database.writing() as session:
        found = session.get(NoteRow, id)
        if found is None:
            return None
        detail = {"about": _short(found.about), "of": found.who}
        session.add(AuditRow(at=now(), who=who, action="deleted a note", detail=detail))
        session.delete(found)
        session.info[DELETED] = True
        return found.about


def forget_participant(session: Session, id: str) -> None:
    """Delete the notes about a participant who leaves."""
    session.execute(delete(NoteRow).where(NoteRow.about == about_participant(id)))


def _exists(session: Session, about: str) -> bool:
    kind, _, key = about.partition(" ")
    if kind == "participant":
        return session.get(ParticipantRow, key) is not None
    table, column = (RoundRow, RoundRow.id) if kind == "round" else (ModelRow, ModelRow.version)
    return session.scalar(select(func.count()).select_from(table).where(column == int(key))) == 1


def _short(about: str) -> str:
    """Return a subject as the audit log names it.

    >>> _short("participant 0123456789abcdef0123456789abcdef"), _short("round 3")
    ('participant 01234567', 'round 3')
    """
    kind, _, key = about.partition(" ")
    return f"{kind} {key[:SHOWN_ID]}"
