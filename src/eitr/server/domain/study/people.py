"""The people of a study: they begin with a code and their consent, and may withdraw at any time."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyPersonRow, StudyRow, StudyTaskRow
from eitr.server.db.tables import InvitationRow, ParticipantRow
from eitr.server.domain import participants
from eitr.server.domain.clock import now
from eitr.server.domain.errors import (
    InvalidInputError,
    InvitationNeededError,
    NoStudyError,
    StudyClosedError,
    TextsChangedError,
)
from eitr.server.domain.invitations import INVITATION, valid_invitation
from eitr.server.domain.keys import Key, new_secret, secret_hash
from eitr.server.domain.study import consents, erasure
from eitr.server.domain.study.consents import Consent, ConsentKind
from eitr.server.domain.study.drawing import drawn_pages
from eitr.server.domain.study.export import study_part
from eitr.server.domain.study.register import Study, StudyStatus, locked, locked_person
from eitr.server.domain.study.tasks import TaskCounts, TaskState, task_counts


@dataclass(frozen=True, slots=True)
class Begun:
    """A person who begins or comes back, and the secret of their cookie, told only once."""

    person: str
    secret: str


@dataclass(frozen=True, slots=True)
class CheckedCode:
    """What is said of a completion code that somebody gave to the operator."""

    code: str
    valid: bool
    times: int
    """How often it was given: it may have been passed on."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a person is."""

    person: str
    study: Study
    language: str
    counts: TaskCounts
    completion_code: str | None
    consents: dict[ConsentKind, Consent]
    has_contact: bool
    """Whether there is an e-mail address of theirs."""
    installed: datetime | None
    started: datetime | None
    finished: datetime | None

    def allows(self, kind: ConsentKind) -> bool:
        """Say whether a consent is asked for by the study and in force."""
        return kind in self.consents and kind in consents.offered(self.study.settings)


class People:
    """The people of all studies."""

    def __init__(self, database: Database, key: Key) -> None:
        self._database, self._key = database, key

    def start(self, slug: str, code: str, language: str, texts: Mapping[ConsentKind, str], version: int) -> Begun:
        """Begin with a code and consents: `texts` has, for each consent given, the text that was shown.

        Whoever begins again with the same code is the same person, with the same pages and a new secret. What they
        agree to is what they said last: a consent that is not given again ends. `version` is that of the texts that
        were shown; if they have changed since, they must be read again.
        """
        if ConsentKind.PARTICIPATION not in texts:
            raise InvalidInputError("Nobody takes part without consent.")
        secret = new_secret()
        with self._database.writing() as session:
            # Locked: of two requests with one code, the second one finds the person whom the first one made.
            study = locked(session, slug)
            _check_texts(study, texts, version)
            invitation = self._invitation(session, study, code)
            person = session.scalar(select(StudyPersonRow).where(StudyPersonRow.invitation == invitation))
            if person is None:
                if study.status != StudyStatus.OPEN:
                    raise StudyClosedError("The study is not open: nobody can begin.")
                person = _new_person(session, study, invitation, language, secret)
            person.secret_hash, person.language = secret_hash(secret), _known_language(study, language)
            for kind, text in texts.items():
                consents.give(session, person, kind, text, version)
            # What the form did not ask about stays as it is.
            asked = consents.offered(Study.of(study).settings)
            for kind in (consents.in_force(session, person.id).keys() & asked) - texts.keys():
                consents.take_back(session, person, kind)
            return Begun(person.id, secret)

    def come_back(self, slug: str, code: str) -> Begun:
        """Give somebody who takes part a new secret, by their code alone; consents and everything else stay.

        They can do so when the study is closed or their invitation was revoked, too: to see their data and to withdraw.
        """
        secret = new_secret()
        with self._database.writing() as session:
            study = locked(session, slug)
            mine = (StudyPersonRow.study == study.id, StudyPersonRow.invitation == self._key.hash(INVITATION, code))
            person = session.scalar(select(StudyPersonRow).where(*mine).with_for_update())
            if person is None:
                raise InvitationNeededError("Nobody takes part in this study with this code.")
            person.secret_hash = secret_hash(secret)
            return Begun(person.id, secret)

    def _invitation(self, session: Session, study: StudyRow, code: str) -> bytes:
        """Return the hash of a code that invites to this study."""
        hash = self._key.hash(INVITATION, code)
        if valid_invitation(session, hash).batch != study.batch:
            raise InvitationNeededError("The code does not belong to this study; ask for a new one.")
        return hash

    def find(self, slug: str, secret: str) -> str | None:
        """Return the person of a study whose cookie has this secret; None if there is none."""
        query = select(StudyPersonRow.id).join(StudyRow, StudyRow.id == StudyPersonRow.study)
        mine = (StudyRow.slug == slug, StudyPersonRow.secret_hash == secret_hash(secret))
        with self._database.reading() as session:
            return session.scalar(query.where(*mine))

    def check_codes(self, slug: str, codes: Sequence[str]) -> list[CheckedCode]:
        """Say of completion codes whether somebody in a study has them; not who, nor anything else."""
        written = Counter(code.strip().upper() for code in codes)
        query = select(StudyPersonRow.completion_code).join(StudyRow, StudyRow.id == StudyPersonRow.study)
        with self._database.reading() as session:
            known = set(
                session.scalars(query.where(StudyRow.slug == slug, StudyPersonRow.completion_code.in_(written)))
            )
        return [CheckedCode(code, code in known, times) for code, times in written.items()]

    def of_participant(self, participant: str) -> str | None:
        """Return the person to whom a participant's browser belongs; None if they are in no study."""
        with self._database.reading() as session:
            found: str | None = session.scalar(_person_of(participant))
            return found

    def note_installed(self, person: str) -> None:
        """Note that a person's extension asked for the study; the first time counts."""
        first = (StudyPersonRow.id == person, StudyPersonRow.installed.is_(None))
        with self._database.writing() as session:
            session.execute(update(StudyPersonRow).where(*first).values(installed=now()))

    def progress(self, person: str) -> Progress:
        """Return how far a person is."""
        with self._database.reading() as session:
            row = session.get(StudyPersonRow, person)
            if row is None:
                raise NoStudyError("You take part in no study here, or no longer.")
            return Progress(
                person=row.id,
                study=Study.of(session.get_one(StudyRow, row.study)),
                language=row.language,
                counts=task_counts(session, row.id),
                completion_code=row.completion_code,
                consents=consents.in_force(session, row.id),
                has_contact=row.contact is not None,
                installed=row.installed,
                started=row.started,
                finished=row.finished,
            )

    def give_consent(self, person: str, kind: ConsentKind, text: str, version: int) -> None:
        """Note a further consent, or the same one to a newer text."""
        with self._database.writing() as session:
            row = locked_person(session, person)
            _check_texts(session.get_one(StudyRow, row.study), {kind: text}, version)
            consents.give(session, row, kind, text, version)

    def take_back_consent(self, person: str, kind: ConsentKind) -> None:
        """End a consent to collection or to terms; what was collected because of it is deleted."""
        with self._database.writing() as session:
            consents.take_back(session, locked_person(session, person), kind)

    def export(self, person: str) -> dict[str, Any]:
        """Return everything that the study keeps about a person but the e-mail address, which `Contacts` shows."""
        with self._database.reading() as session:
            row = session.get(StudyPersonRow, person)
            found = None if row is None else study_part(session, row.invitation)
            if found is None:
                raise NoStudyError("You take part in no study here, or no longer.")
            return found

    def withdraw(self, person: str) -> None:
        """Delete everything about a person and their participant but the keyed hash of the code; again does nothing."""
        with self._database.writing() as session:
            invitation = session.scalar(select(StudyPersonRow.invitation).where(StudyPersonRow.id == person))
            if invitation is None:
                return
            # Locked before the participant is looked for: nobody enrols with the code in between.
            session.get(InvitationRow, invitation, with_for_update=True)
            participant = session.scalar(select(ParticipantRow.id).where(ParticipantRow.invitation == invitation))
            if participant is None:
                erasure.forget_person(session, invitation)
            else:
                participants.erase(session, participant)


def _person_of(participant: str) -> Select[Any]:
    return (
        select(StudyPersonRow.id)
        .join(ParticipantRow, ParticipantRow.invitation == StudyPersonRow.invitation)
        .where(ParticipantRow.id == participant)
    )


def _check_texts(study: StudyRow, texts: Mapping[ConsentKind, str], version: int) -> None:
    now_study = Study.of(study)
    if version != study.consent_version:
        raise TextsChangedError("The texts of the study have changed meanwhile: read them again.")
    if not set(texts) <= consents.offered(now_study.settings):
        raise InvalidInputError("The study does not ask for this consent.")


def _known_language(study: StudyRow, language: str) -> str:
    languages: tuple[str, ...] = Study.of(study).settings.languages
    return language if language in languages else languages[0]


def _new_person(session: Session, study: StudyRow, invitation: bytes, language: str, secret: str) -> StudyPersonRow:
    """Add a person and draw their pages."""
    moment, number = now(), study.arrived
    study.arrived += 1
    person = StudyPersonRow(
        id=uuid.uuid4().hex,
        study=study.id,
        number=number,
        invitation=invitation,
        secret_hash=secret_hash(secret),
        language=_known_language(study, language),
        created=moment,
        consented=moment,
    )
    session.add(person)
    session.flush()
    pages = drawn_pages(session, study.id, Study.of(study).settings, study.seed, number)
    if not pages:  # all are dead: whoever began now would never finish
        raise StudyClosedError("No page of the study can be labelled at the moment: try again later.")
    session.add_all(
        StudyTaskRow(person=person.id, page=page, position=position, state=TaskState.OPEN)
        for position, page in enumerate(pages, start=1)
    )
    return person
