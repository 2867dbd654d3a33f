"""The studies of a server: create, change, open and close them, and invite people."""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyPersonRow, StudyRow
from eitr.server.db.tables import AuditRow, InvitationBatchRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import InvalidInputError, NoStudyError
from eitr.server.domain.invitations import new_codes
from eitr.server.domain.keys import Key
from eitr.server.domain.study.drawing import available_pages
from eitr.server.domain.study.settings import CONSENTED_TO, StudySettings, checked_settings

SLUG = re.compile(r"[a-z0-9-]{1,40}")
LONGEST_TITLE = 200
MOST_INVITATIONS = 100_000
HIGHEST_SEED = 2**62


class StudyStatus(StrEnum):
    """Where a study stands: draft -> open <-> closed."""

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Study:
    """A study as it is now."""

    id: int
    slug: str
    title: str
    status: StudyStatus
    created: datetime
    closed: datetime | None
    seed: int
    settings: StudySettings
    batch: int
    consent_version: int

    @classmethod
    def of(cls, row: StudyRow) -> "Study":
        """Read it from its row."""
        return cls(
            row.id,
            row.slug,
            row.title,
            StudyStatus(row.status),
            row.created,
            row.closed,
            row.seed,
            checked_settings(row.settings),
            row.batch,
            row.consent_version,
        )


class StudyRegister:
    """All studies of a server."""

    def __init__(self, database: Database, key: Key) -> None:
        self._database, self._key = database, key

    def create(
        self,
        slug: str,
        title: str,
        settings: StudySettings | None = None,
        *,
        who: str,
        seed: int | None = None,
        founders: bool = False,
        unbounded: bool = False,
    ) -> Study:
        """Create a study as a draft. `founders` and `unbounded` are as for invitations."""
        if not SLUG.fullmatch(slug):
            raise InvalidInputError("The short name of a study has 1 to 40 letters a-z, digits and hyphens.")
        seed = secrets.randbelow(2**31) if seed is None else seed
        if not 0 <= seed < HIGHEST_SEED:
            raise InvalidInputError("A seed is a whole number from 0 on.")
        moment = now()
        note = f"study {slug}"
        batch = InvitationBatchRow(note=note, created=moment, who=who, founders=founders, unbounded=unbounded)
        try:
            with self._database.writing() as session:
                session.add(batch)
                session.flush()
                row = StudyRow(
                    slug=slug,
                    title=_checked_title(title),
                    status=StudyStatus.DRAFT,
                    created=moment,
                    closed=None,
                    seed=seed,
                    settings=(settings or StudySettings()).model_dump(mode="json"),
                    batch=batch.id,
                    consent_version=1,
                    arrived=0,
                )
                session.add(row)
                session.flush()
                _audit(session, who, "created a study", slug)
        except IntegrityError:
            raise InvalidInputError(f"There is a study {slug} already: choose another short name.") from None
        return Study.of(row)

    def find(self, slug: str) -> Study | None:
        """Return a study; None if there is none of this short name."""
        with self._database.reading() as session:
            row = session.scalar(select(StudyRow).where(StudyRow.slug == slug))
            return None if row is None else Study.of(row)

    def get(self, slug: str) -> Study:
        """Return a study; refuse a short name that none has."""
        found = self.find(slug)
        if found is None:
            raise NoStudyError(f"There is no study {slug!r:.60}.")
        return found

    def all(self) -> list[Study]:
        """Return all studies, newest first."""
        with self._database.reading() as session:
            return [Study.of(row) for row in session.scalars(select(StudyRow).order_by(StudyRow.id.desc()))]

    def change(self, slug: str, *, who: str, title: str | None = None, **settings: Any) -> Study:
        """Change the title or some settings. People who began keep their pages.

        Where this changes what people consent to, the version of the texts grows. A page is never used in more rounds
        than the people who began agreed to.
        """
        with self._database.writing() as session:
            row = locked(session, slug)
            before = checked_settings(row.settings)
            after = checked_settings({**before.model_dump(), **settings})
            if row.arrived and after.uses_per_page > before.uses_per_page:
                raise InvalidInputError(
                    f"People have agreed that a page is used in at most {before.uses_per_page} rounds: this can be "
                    "lowered, not raised. Create another study."
                )
            if title is not None:
                row.title = _checked_title(title)
            row.settings = after.model_dump(mode="json")
            if any(getattr(before, name) != getattr(after, name) for name in CONSENTED_TO):
                row.consent_version += 1
            _audit(session, who, "changed a study", slug, settings=sorted(settings))
            return Study.of(row)

    def texts_changed(self, slug: str, *, who: str) -> Study:
        """Count a new version of the texts that people consent to, as after a change of the group's templates."""
        with self._database.writing() as session:
            row = locked(session, slug)
            row.consent_version += 1
            _audit(session, who, "changed the texts of a study", slug, version=row.consent_version)
            return Study.of(row)

    def open(self, slug: str, *, who: str) -> Study:
        """Let people begin and label."""
        with self._database.writing() as session:
            row = locked(session, slug)
            if not any(page.usable for page in available_pages(session, row.id)):
                raise InvalidInputError("The study has no page that can be labelled: import some first.")
            if row.status != StudyStatus.OPEN:
                row.status, row.closed = StudyStatus.OPEN, None
                _audit(session, who, "opened a study", slug)
            return Study.of(row)

    def close(self, slug: str, *, who: str) -> Study:
        """End a study: nobody begins or labels any more."""
        with self._database.writing() as session:
            row = locked(session, slug)
            if row.status != StudyStatus.CLOSED:
                row.status, row.closed = StudyStatus.CLOSED, now()
                _audit(session, who, "closed a study", slug)
            return Study.of(row)

    def invite(self, slug: str, count: int, *, who: str) -> list[str]:
        """Make invitations to a study and return their codes, which are not kept."""
        if not 1 <= count <= MOST_INVITATIONS:
            raise InvalidInputError(f"Make 1 to {MOST_INVITATIONS} invitations at a time.")
        with self._database.writing() as session:
            row = locked(session, slug)
            if row.status == StudyStatus.CLOSED:
                raise InvalidInputError("The study is closed: open it again first.")
            _audit(session, who, "invited people to a study", slug, count=count)
            return new_codes(session, self._key, count, f"study {slug}", row.batch)


def locked_person(session: Session, person: str) -> StudyPersonRow:
    """Return a person; whatever else changes something of theirs waits."""
    row = session.get(StudyPersonRow, person, with_for_update=True)
    if row is None:
        raise NoStudyError("You take part in no study here, or no longer.")
    return row


def locked(session: Session, slug: str) -> StudyRow:
    """Return a study's row; whoever else wants to change it waits."""
    row = session.scalar(select(StudyRow).where(StudyRow.slug == slug).with_for_update())
    if row is None:
        raise NoStudyError(f"There is no study {slug!r:.60}.")
    return row


def _checked_title(title: str) -> str:
    title = title.strip()
    if not 1 <= len(title) <= LONGEST_TITLE or not title.isprintable():
        raise InvalidInputError(f"The title of a study has 1 to {LONGEST_TITLE} characters, on one line.")
    return title


def _audit(session: Session, who: str, action: str, slug: str, **detail: Any) -> None:
    session.add(AuditRow(at=now(), who=who, action=action, detail={"study": slug, **detail}))
