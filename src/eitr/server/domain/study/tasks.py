"""Tasks: the pages that a person was given, and what became of each."""

import secrets
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyPageRow, StudyPersonRow, StudyRow, StudyTaskRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import (
    ConsentNeededError,
    InvalidInputError,
    NoStudyError,
    StudyClosedError,
    UnknownTaskError,
)
from eitr.server.domain.study import consents
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.drawing import DEAD, replacement_page
from eitr.server.domain.study.register import Study, StudyStatus, locked_person
from eitr.server.domain.study.settings import StudySettings
from eitr.taxonomy import NAMES

CODE_BYTES = 6


class TaskState(StrEnum):
    """What became of a task."""

    OPEN = "open"
    LABELLED = "labelled"
    SKIPPED = "skipped"
    BROKEN = "broken"
    """The page could not be labelled, and there was no other one."""
    REPLACED = "replaced"
    """The page could not be labelled, and another task has taken its place."""


class TaskEvent(StrEnum):
    """What a person did with a task."""

    OPENED = "opened"
    LABELLED = "labelled"
    SKIPPED = "skipped"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """How many tasks a person has, and how many have ended."""

    tasks: int
    done: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the person sees it."""

    id: int
    position: int
    url: str
    """The page, or the path of its archived copy on this server."""
    state: TaskState


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What is told when something was done with a task."""

    counts: TaskCounts
    completion_code: str | None
    replacement: Task | None


class Tasks:
    """The tasks of all people. A person is named by their id: `People` finds it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, person: str) -> list[Task]:
        """Return a person's tasks in order, without those that were replaced."""
        with self._database.reading() as session:
            row = session.get(StudyPersonRow, person)
            if row is None:
                raise NoStudyError("You take part in no study here, or no longer.")
            study = Study.of(session.get_one(StudyRow, row.study))
            mine = (StudyTaskRow.person == person, StudyTaskRow.state != TaskState.REPLACED)
            return _tasks(session, study, *mine)

    def note(self, person: str, id: int, event: TaskEvent, label: str | None = None) -> TaskOutcome:
        """Note what a person did with a task. The same again changes nothing and gets the same answer."""
        if label is not None and (event is not TaskEvent.LABELLED or label not in NAMES):
            raise InvalidInputError(f"A label comes with the state labelled, and is one of {', '.join(NAMES)}.")
        with self._database.writing() as session:
            row = locked_person(session, person)
            study = Study.of(session.get_one(StudyRow, row.study))
            task = session.get(StudyTaskRow, id)
            if task is None or task.person != person:
                raise UnknownTaskError("There is no such task: ask for the list of tasks.")
            collects = ConsentKind.COLLECTION in consents.allowed(session, person, study.settings)
            if label is not None and not collects:
                raise ConsentNeededError("Labels are sent only after consent to their collection, which is missing.")
            if not _noted_before(task, event, label):
                if study.status != StudyStatus.OPEN:
                    raise StudyClosedError("The study is closed: nothing more is noted.")
                _apply(session, row, study, task, event, label)
            return _outcome(session, row, study, task)


def task_counts(session: Session, person: str) -> TaskCounts:
    """Return how many tasks a person has, and how many have ended."""
    query = select(StudyTaskRow.state, func.count()).where(StudyTaskRow.person == person)
    found: dict[str, int] = dict(session.execute(query.group_by(StudyTaskRow.state)).all())
    found.pop(TaskState.REPLACED, None)
    return TaskCounts(sum(found.values()), sum(found.values()) - found.get(TaskState.OPEN, 0))


def shown_url(slug: str, page: int, url: str, *, dead: bool, copied: bool, settings: StudySettings) -> str:
    """Return where a person sees a page: its own address, or the path of the archived copy."""
    return f"/study/{slug}/copies/{page}" if copied and (dead or settings.copies == "always") else url


def _tasks(session: Session, study: Study, *conditions: object) -> list[Task]:
    query = (
        select(StudyTaskRow, StudyPageRow.url, StudyPageRow.state, StudyPageRow.copy.is_not(None))
        .join(StudyPageRow, StudyPageRow.id == StudyTaskRow.page)
        .where(*conditions)  # type: ignore[arg-type]
        .order_by(StudyTaskRow.position, StudyTaskRow.id)
    )
    return [
        Task(
            task.id,
            task.position,
            shown_url(study.slug, task.page, url, dead=state == DEAD, copied=copied, settings=study.settings),
            TaskState(task.state),
        )
        for task, url, state, copied in session.execute(query)
    ]


def _noted_before(task: StudyTaskRow, event: TaskEvent, label: str | None) -> bool:
    """Say whether a task is as it would be afterwards."""
    match event:
        case TaskEvent.OPENED:
            return task.opened is not None
        case TaskEvent.LABELLED:
            return task.state == TaskState.LABELLED and task.label == label
        case TaskEvent.SKIPPED:
            return task.state == TaskState.SKIPPED
        case TaskEvent.BROKEN:
            return task.state in (TaskState.BROKEN, TaskState.REPLACED)


def _apply(
    session: Session, person: StudyPersonRow, study: Study, task: StudyTaskRow, event: TaskEvent, label: str | None
) -> None:
    moment = now()
    person.started = person.started or moment
    if event is TaskEvent.OPENED:
        task.opened = moment
        return
    if task.state == TaskState.REPLACED:
        raise UnknownTaskError("Another task has taken the place of this one: ask for the list of tasks.")
    task.state, task.ended, task.label = event.value, moment, label
    if event is TaskEvent.BROKEN and person.finished is None:
        page = replacement_page(session, person, study.settings, study.seed, task.page)
        if page is not None:
            task.state = TaskState.REPLACED
            place = {"position": task.position, "replaces": task.id}
            session.add(StudyTaskRow(person=person.id, page=page, state=TaskState.OPEN, **place))
    session.flush()
    counts = task_counts(session, person.id)
    if counts.done == counts.tasks and person.finished is None:
        person.finished, person.completion_code = moment, secrets.token_hex(CODE_BYTES).upper()


def _outcome(session: Session, person: StudyPersonRow, study: Study, task: StudyTaskRow) -> TaskOutcome:
    session.flush()
    replacement = _tasks(session, study, StudyTaskRow.replaces == task.id)
    counts = task_counts(session, person.id)
    return TaskOutcome(counts, person.completion_code, replacement[0] if replacement else None)
