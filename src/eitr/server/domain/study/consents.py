"""Consents: given to a version of a text, with the time and the hash of the text, and taken back at any time."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from eitr.server.db.connection import rewrite_later
from eitr.server.db.study_tables import StudyConsentRow, StudyPersonRow, StudyTaskRow, StudyTermsRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.study.settings import StudySettings

LONGEST_TEXT = 200_000


class ConsentKind(StrEnum):
    """What people are asked for, each by itself."""

    PARTICIPATION = "participation"
    """To take part: without it there is no person."""
    COLLECTION = "collection"
    """That the server gets the labels of task pages."""
    TERMS = "terms"
    """That the server gets the terms of task pages, for a new vocabulary."""


@dataclass(frozen=True, slots=True)
class Consent:
    """A consent in force."""

    kind: ConsentKind
    version: int
    text_hash: str
    given: datetime


def text_hash(text: str) -> str:
    """Return the hash of a text that was shown, as it is kept with the consent to it."""
    return hashlib.sha256(text.encode()).hexdigest()


def offered(settings: StudySettings) -> frozenset[ConsentKind]:
    """Return which consents a study asks for."""
    wanted = {ConsentKind.COLLECTION: settings.collect_labels, ConsentKind.TERMS: settings.collect_terms}
    return frozenset({ConsentKind.PARTICIPATION, *(kind for kind, asked in wanted.items() if asked)})


def in_force(session: Session, person: str) -> dict[ConsentKind, Consent]:
    """Return a person's consents in force, by kind."""
    rows = session.scalars(
        select(StudyConsentRow).where(StudyConsentRow.person == person, StudyConsentRow.in_force.is_(True))
    )
    return {
        ConsentKind(row.kind): Consent(ConsentKind(row.kind), row.version, row.text_hash, row.given) for row in rows
    }


def allowed(session: Session, person: str, settings: StudySettings) -> frozenset[ConsentKind]:
    """Return what the server may do: what the study asks for and the person consents to."""
    return frozenset(in_force(session, person)) & offered(settings)


def give(session: Session, person: StudyPersonRow, kind: ConsentKind, text: str, version: int) -> None:
    """Note a consent to a text, within a transaction that has locked the person. The same again is noted once."""
    if not 0 < len(text) <= LONGEST_TEXT:
        raise InvalidInputError("The text that is consented to is missing.")
    shown = text_hash(text)
    before = in_force(session, person.id).get(kind)
    if before is not None:
        if (before.version, before.text_hash) == (version, shown):
            return
        _end(session, person.id, kind)
    row = StudyConsentRow(person=person.id, kind=kind, version=version, text_hash=shown, given=now(), in_force=True)
    session.add(row)
    session.flush()


def take_back(session: Session, person: StudyPersonRow, kind: ConsentKind) -> None:
    """End a consent to collection or to terms, and delete what was collected because of it."""
    if kind is ConsentKind.PARTICIPATION:
        raise InvalidInputError("Whoever takes back this consent leaves the study: withdraw from it.")
    _end(session, person.id, kind, withdrawn=now())
    if kind is ConsentKind.COLLECTION:
        session.execute(update(StudyTaskRow).where(StudyTaskRow.person == person.id).values(label=None))
        rewrite_later(session, [StudyTaskRow])
    else:
        session.execute(delete(StudyTermsRow).where(StudyTermsRow.person == person.id))
        rewrite_later(session, [StudyTermsRow])


def _end(session: Session, person: str, kind: ConsentKind, withdrawn: datetime | None = None) -> None:
    """End a consent; one that another one replaces is not withdrawn."""
    current = (StudyConsentRow.person == person, StudyConsentRow.kind == kind, StudyConsentRow.in_force.is_(True))
    session.execute(update(StudyConsentRow).where(*current).values(in_force=None, withdrawn=withdrawn))
