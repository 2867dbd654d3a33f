"""What the report of a study is computed from, without anything that names or finds a person.

Ids, codes, addresses and times stay in the database: a person is a row of labels under a random name, which is another
one in every report.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from eitr.model import Network
from eitr.model.classifier import Classifier
from eitr.model.files import Model
from eitr.pages.extract import extract
from eitr.pages.page import Page
from eitr.pages.vocabulary import Vocabulary
from eitr.server.db.connection import Database
from eitr.server.db.study_tables import (
    StudyConsentRow,
    StudyPageRow,
    StudyPersonRow,
    StudyRow,
    StudyTaskRow,
)
from eitr.server.db.tables import ModelRow, ObservationRow, ParticipantRow, VocabularyRow
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.monitor import Monitor, StudyMonitor
from eitr.server.domain.study.raters import Raters
from eitr.server.domain.study.register import Study, StudyRegister
from eitr.statistics.agreement import NOT_AGREED, agreed_labels
from eitr.taxonomy import NAMES

SOURCES = ("agreed by the experts", "adjudicated", "given by the operator")
"""Where the ground truth of a page comes from: the first that there is, so a decision where experts disagree."""


@dataclass(frozen=True, slots=True)
class StudiedPage:
    """A page by its place in the operator's list."""

    number: int
    truth: str | None
    source: str | None
    """One of `SOURCES`; None without truth."""
    content: Page | None
    """What is archived of it; only such pages can be classified."""


@dataclass(frozen=True, slots=True)
class StudyData:
    """A study without names."""

    study: Study
    monitor: StudyMonitor
    pages: list[StudiedPage]
    labels: dict[str, dict[int, str]]
    """By random name of a person: the class they chose, by number of the page. Collected ones alone."""
    unfinished: int
    """Of those who take part, so many have not ended all tasks."""
    without_collection: int
    """... and so many do not let their labels be collected."""
    ratings: dict[str, dict[int, str]]
    """The same of experts."""
    reputations: list[float]
    """The last reputation of each participant of the study, in ascending order."""
    muted: int
    banned: int
    """How many of their participants the operator has muted or banned."""


def study_data(database: Database, register: StudyRegister, slug: str) -> StudyData:
    """Read a study."""
    study = register.get(slug)
    ratings, decisions = Raters(database).ratings(slug), Raters(database).decisions(slug)
    with database.reading() as session:
        query = select(StudyPageRow).where(StudyPageRow.study == study.id).order_by(StudyPageRow.id)
        rows = session.scalars(query.options(undefer(StudyPageRow.copy))).all()
        numbers = {row.id: number for number, row in enumerate(rows, 1)}
        rated = {name: {numbers[page]: label for page, label in mine.items()} for name, mine in ratings.items()}
        agreed = agreed_classes(rated, len(rows))
        pages = []
        for number, row in enumerate(rows, 1):
            found = (agreed.get(number), decisions.get(row.id), row.truth)
            truth, source = next(((one, name) for one, name in zip(found, SOURCES, strict=True) if one), (None, None))
            pages.append(StudiedPage(number, truth, source, _content(row.copy)))
        people, unfinished, silent = _people(session, study, numbers)
        reputations, muted, banned = _participants(session, study)
    return StudyData(
        study=study,
        monitor=Monitor(database).of(study),
        pages=pages,
        labels=renamed(people, "P"),
        unfinished=unfinished,
        without_collection=silent,
        ratings=renamed([mine for mine in rated.values() if mine], "E"),
        reputations=reputations,
        muted=muted,
        banned=banned,
    )


def classifiers(database: Database) -> list[tuple[int, Classifier]]:
    """Return all versions whose weights are kept, the first one first."""
    found, vocabularies = [], {}
    with database.reading() as session:
        for row in session.scalars(select(ModelRow).order_by(ModelRow.version)):
            if not row.weights:
                continue
            if row.vocabulary not in vocabularies:
                content = session.get_one(VocabularyRow, row.vocabulary).content
                vocabularies[row.vocabulary] = Vocabulary.from_json(content.decode())
            vector = np.frombuffer(row.weights, "<f4").astype(np.float32)
            model = Model(Network(tuple(row.layers)), vector)
            found.append((row.version, Classifier(model, vocabularies[row.vocabulary])))
    return found


def agreed_classes(ratings: dict[str, dict[int, str]], pages: int) -> dict[int, str]:
    """Return the class that raters agree on, by number of the page."""
    if not ratings or not pages:
        return {}
    labels = agreed_labels(counts(list(ratings.values()), pages))
    return {number: NAMES[label] for number, label in enumerate(labels, 1) if label != NOT_AGREED}


def counts(choices: Sequence[dict[int, str]], pages: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    """Return how many chose each class for each page (pages, classes)."""
    table = np.zeros((pages, len(NAMES)), np.int64)
    for mine in choices:
        for number, label in mine.items():
            table[number - 1, NAMES.index(label)] += 1
    return table


def renamed(people: Sequence[dict[int, str]], letter: str) -> dict[str, dict[int, str]]:
    """Give people random names: P01, P02, ..., in an order that tells nothing."""
    order = list(people)
    secrets.SystemRandom().shuffle(order)
    return {f"{letter}{number:02d}": mine for number, mine in enumerate(order, 1)}


def _content(copy: bytes | None) -> Page | None:
    return None if copy is None else extract(copy, content_type="text/html; charset=utf-8")


def _people(session: Session, study: Study, numbers: dict[int, int]) -> tuple[list[dict[int, str]], int, int]:
    """Return the collected labels of each person, and how many have not finished or do not let them be collected."""
    mine = StudyPersonRow.study == study.id
    everyone = session.execute(select(StudyPersonRow.id, StudyPersonRow.finished).where(mine)).all()
    collecting = set(
        session.scalars(
            select(StudyConsentRow.person)
            .join(StudyPersonRow, StudyPersonRow.id == StudyConsentRow.person)
            .where(mine, StudyConsentRow.kind == ConsentKind.COLLECTION, StudyConsentRow.in_force.is_(True))
        )
    )
    chosen: dict[str, dict[int, str]] = {}
    query = (
        select(StudyTaskRow.person, StudyTaskRow.page, StudyTaskRow.label)
        .join(StudyPersonRow, StudyPersonRow.id == StudyTaskRow.person)
        .where(mine, StudyTaskRow.label.is_not(None))
    )
    for person, page, label in session.execute(query):
        if person in collecting:
            chosen.setdefault(person, {})[numbers[page]] = str(label)
    unfinished = sum(finished is None for _, finished in everyone)
    return list(chosen.values()), unfinished, len(everyone) - len(collecting)


def _participants(session: Session, study: Study) -> tuple[list[float], int, int]:
    """Return the last reputations of the study's participants, and how many are muted or banned."""
    query = (
        select(ParticipantRow.id, ParticipantRow.muted, ParticipantRow.banned)
        .join(StudyRow, StudyRow.id == study.id)
        .join(
            StudyPersonRow,
            (StudyPersonRow.study == StudyRow.id) & (StudyPersonRow.invitation == ParticipantRow.invitation),
        )
    )
    rows = session.execute(query).all()
    last: dict[str, tuple[int, float]] = {}
    observed = select(ObservationRow.participant, ObservationRow.round, ObservationRow.reputation).where(
        ObservationRow.participant.in_([id for id, _, _ in rows]), ObservationRow.reputation.is_not(None)
    )
    for participant, round, reputation in session.execute(observed):
        if participant not in last or round > last[participant][0]:
            last[participant] = (round, float(reputation or 0.0))
    muted = sum(row[1] is not None for row in rows)
    return sorted(value for _, value in last.values()), muted, sum(row[2] is not None for row in rows)
