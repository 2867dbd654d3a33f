"""Experts who rate the pages of a study, blind to each other, and what they agree on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.exc import IntegrityError

from eitr.server.db.connection import Database
from eitr.server.db.study_tables import (
    StudyDecisionRow,
    StudyPageRow,
    StudyRaterRow,
    StudyRatingRow,
    StudyRow,
)
from eitr.server.db.tables import AuditRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import InvalidInputError, NoStudyError
from eitr.server.domain.keys import new_secret, secret_hash
from eitr.server.domain.study.drawing import DEAD
from eitr.server.domain.study.register import Study, locked
from eitr.server.domain.study.tasks import shown_url
from eitr.taxonomy import NAMES

LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Rater:
    """An expert."""

    id: int
    study: str
    """The short name of the study."""
    name: str
    created: datetime
    rated: int
    """How many pages they have rated."""
    asked: int
    """How many pages they are asked about."""


@dataclass(frozen=True, slots=True)
class PageToRate:
    """A page as one rater sees it: nothing of what others chose."""

    id: int
    url: str
    label: str | None
    """What this rater chose."""


ASKED = or_(StudyPageRow.state != DEAD, StudyPageRow.copy.is_not(None), StudyRatingRow.label.is_not(None))
"""The pages that a rater is asked about: dead ones without a copy cannot be rated, but may have been."""


class Raters:
    """The raters of all studies."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, slug: str, name: str, *, who: str) -> str:
        """Add a rater and return their token, which is not kept."""
        name, token = name.strip(), new_secret()
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
            raise InvalidInputError(f"The name of a rater has 1 to {LONGEST_NAME} characters, on one line.")
        try:
            with self._database.writing() as session:
                study = locked(session, slug)
                row = StudyRaterRow(study=study.id, name=name, token_hash=secret_hash(token), created=now())
                session.add(row)
                session.flush()
                session.add(AuditRow(at=now(), who=who, action="added a rater", detail={"study": slug, "name": name}))
        except IntegrityError:
            raise InvalidInputError(f"The study has a rater {name!r:.60} already: choose another name.") from None
        return token

    def remove(self, slug: str, id: int, *, who: str) -> None:
        """Remove a rater with all their ratings."""
        with self._database.writing() as session:
            study = locked(session, slug)
            row = session.get(StudyRaterRow, id)
            if row is None or row.study != study.id:
                raise InvalidInputError("The study has no such rater.")
            session.delete(row)
            detail = {"study": slug, "name": row.name}
            session.add(AuditRow(at=now(), who=who, action="removed a rater", detail=detail))

    def find(self, slug: str, token: str) -> Rater | None:
        """Return the rater of a study who has this token."""
        found = self._raters(StudyRow.slug == slug, StudyRaterRow.token_hash == secret_hash(token))
        return found[0] if found else None

    def all(self, slug: str) -> list[Rater]:
        """Return the raters of a study, by name."""
        return self._raters(StudyRow.slug == slug)

    def _raters(self, *conditions: Any) -> list[Rater]:
        rated = (
            select(func.count()).where(StudyRatingRow.rater == StudyRaterRow.id).correlate(StudyRaterRow)
        ).scalar_subquery()
        asked = (
            select(func.count(StudyPageRow.id))
            .outerjoin(
                StudyRatingRow, (StudyRatingRow.page == StudyPageRow.id) & (StudyRatingRow.rater == StudyRaterRow.id)
            )
            .where(StudyPageRow.study == StudyRaterRow.study, ASKED)
            .correlate(StudyRaterRow)
        ).scalar_subquery()
        query = select(StudyRaterRow, StudyRow.slug, rated, asked).join(StudyRow, StudyRow.id == StudyRaterRow.study)
        with self._database.reading() as session:
            rows = session.execute(query.where(*conditions).order_by(StudyRaterRow.name))
            return [Rater(row.id, slug, row.name, row.created, *counts) for row, slug, *counts in rows]

    def pages(self, rater: int) -> list[PageToRate]:
        """Return the pages that a rater is asked about, with their own choices."""
        with self._database.reading() as session:
            row = session.get(StudyRaterRow, rater)
            if row is None:
                raise NoStudyError("This rater is no longer part of the study.")
            study = Study.of(session.get_one(StudyRow, row.study))
            query = (
                select(
                    StudyPageRow.id,
                    StudyPageRow.url,
                    StudyPageRow.state,
                    StudyPageRow.copy.is_not(None),
                    StudyRatingRow.label,
                )
                .outerjoin(StudyRatingRow, (StudyRatingRow.page == StudyPageRow.id) & (StudyRatingRow.rater == rater))
                .where(StudyPageRow.study == study.id, ASKED)
                .order_by(StudyPageRow.id)
            )
            return [
                PageToRate(
                    id,
                    shown_url(study.slug, id, url, dead=state == DEAD, copied=copied, settings=study.settings),
                    label,
                )
                for id, url, state, copied, label in session.execute(query)
            ]

    def rate(self, rater: int, page: int, label: str) -> None:
        """Note a rater's choice for a page, in place of an earlier one."""
        _check_label(label)
        with self._database.writing() as session:
            row = session.get(StudyRaterRow, rater, with_for_update=True)
            listed = session.get(StudyPageRow, page)
            if row is None or listed is None or listed.study != row.study:
                raise NoStudyError("The study has no such page or rater.")
            session.merge(StudyRatingRow(rater=rater, page=page, label=label, at=now()))

    def ratings(self, slug: str) -> dict[str, dict[int, str]]:
        """Return what each rater chose: by the rater's name, the class by page."""
        found: dict[str, dict[int, str]] = {rater.name: {} for rater in self.all(slug)}
        query = (
            select(StudyRaterRow.name, StudyRatingRow.page, StudyRatingRow.label)
            .join(StudyRatingRow, StudyRatingRow.rater == StudyRaterRow.id)
            .join(StudyRow, StudyRow.id == StudyRaterRow.study)
            .where(StudyRow.slug == slug)
            .order_by(StudyRatingRow.page)
        )
        with self._database.reading() as session:
            for name, page, label in session.execute(query):
                found.setdefault(name, {})[page] = label
        return found

    def decide(self, slug: str, page: int, label: str, *, who: str) -> None:
        """Decide the class of a page that raters disagree about."""
        _check_label(label)
        with self._database.writing() as session:
            study = locked(session, slug)
            listed = session.get(StudyPageRow, page)
            if listed is None or listed.study != study.id:
                raise InvalidInputError("The study has no such page.")
            session.merge(StudyDecisionRow(page=page, label=label, who=who, at=now()))
            detail = {"study": slug, "page": page, "label": label}
            session.add(AuditRow(at=now(), who=who, action="decided about a page", detail=detail))

    def decisions(self, slug: str) -> dict[int, str]:
        """Return the classes that were decided, by page."""
        query = (
            select(StudyDecisionRow.page, StudyDecisionRow.label)
            .join(StudyPageRow, StudyPageRow.id == StudyDecisionRow.page)
            .join(StudyRow, StudyRow.id == StudyPageRow.study)
            .where(StudyRow.slug == slug)
        )
        with self._database.reading() as session:
            return dict(session.execute(query).all())

    def use_as_truth(self, slug: str, labels: Mapping[int, str], *, who: str) -> int:
        """Make classes, such as those that raters agreed on, the ground truth of a study's pages."""
        for label in labels.values():
            _check_label(label)
        with self._database.writing() as session:
            study = locked(session, slug)
            pages = {row.id: row for row in session.scalars(select(StudyPageRow).where(StudyPageRow.study == study.id))}
            if not labels.keys() <= pages.keys():
                raise InvalidInputError("The study has no such page.")
            for page, label in labels.items():
                pages[page].truth = label
            detail = {"study": slug, "pages": len(labels)}
            session.add(AuditRow(at=now(), who=who, action="set the ground truth of a study", detail=detail))
        return len(labels)


def _check_label(label: str) -> None:
    if label not in NAMES:
        raise InvalidInputError(f"A label is one of {', '.join(NAMES)}.")
