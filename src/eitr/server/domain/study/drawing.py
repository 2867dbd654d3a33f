"""Which pages a person of a study gets."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from eitr.datasets.task_draw import draw_person, draw_replacement
from eitr.server.db.study_tables import StudyPageRow, StudyPersonRow, StudyTaskRow
from eitr.server.domain.study.settings import StudySettings

DEAD = "dead"
REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """What the draw must know of a page."""

    id: int
    topic: str
    truth: str
    usable: bool
    """Whether it is not dead, or has an archived copy."""


def available_pages(session: Session, study: int) -> list[DrawnPage]:
    """Return all pages of a study, in the order of the draw."""
    query = select(
        StudyPageRow.id, StudyPageRow.topic, StudyPageRow.truth, StudyPageRow.state, StudyPageRow.copy.is_not(None)
    )
    rows = session.execute(query.where(StudyPageRow.study == study).order_by(StudyPageRow.id))
    return [
        DrawnPage(id, topic or "", truth or "", state != DEAD or copied) for id, topic, truth, state, copied in rows
    ]


def drawn_pages(session: Session, study: int, settings: StudySettings, seed: int, number: int) -> list[int]:
    """Return the ids of the pages that the person of this number gets."""
    pages = available_pages(session, study)
    counts = None
    if settings.least_ratings:
        query = select(StudyTaskRow.page, func.count()).join(StudyPersonRow, StudyPersonRow.id == StudyTaskRow.person)
        given = query.where(StudyPersonRow.study == study, StudyTaskRow.state != REPLACED).group_by(StudyTaskRow.page)
        found = Counter(dict(session.execute(given).all()))
        counts = [found[page.id] for page in pages]
    chosen = draw_person(
        _groups(pages, settings),
        settings.pages_per_person,
        settings.alpha,
        seed,
        number,
        counts,
        least_ratings=settings.least_ratings,
        excluded=[place for place, page in enumerate(pages) if not page.usable],
    )
    return [pages[place].id for place in chosen]


def replacement_page(
    session: Session, person: StudyPersonRow, settings: StudySettings, seed: int, broken: int
) -> int | None:
    """Return the id of a page that a person never had, in place of one that is broken; None if there is none left."""
    pages = available_pages(session, person.study)
    places = {page.id: place for place, page in enumerate(pages)}
    had = session.scalars(select(StudyTaskRow.page).where(StudyTaskRow.person == person.id)).all()
    found = draw_replacement(
        _groups(pages, settings),
        places[broken],
        [places[page] for page in had],
        settings.alpha,
        seed,
        person.number,
        excluded=[place for place, page in enumerate(pages) if not page.usable],
    )
    return None if found is None else pages[found].id


def _groups(pages: list[DrawnPage], settings: StudySettings) -> list[str]:
    return [page.truth if settings.spread_over == "truth" else page.topic for page in pages]
