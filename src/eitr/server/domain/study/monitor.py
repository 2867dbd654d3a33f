"""How a study goes: counts, and how long people take; nothing about anybody by name."""

from dataclasses import dataclass
from statistics import median

from sqlalchemy import func, select

from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyPageRow, StudyPersonRow, StudyTaskRow, StudyWithdrawalRow
from eitr.server.db.tables import InvitationRow
from eitr.server.domain.study.register import Study


@dataclass(frozen=True, slots=True)
class StudyMonitor:
    """The counts of a study."""

    invited: int
    consented: int
    """How many take part now; whoever withdrew is counted there alone."""
    installed: int
    started: int
    finished: int
    withdrawn: int
    median_minutes: float | None
    """From the first task to the last, of those who finished."""
    tasks: dict[str, int]
    """By state."""
    pages: dict[str, int]
    """By state."""


class Monitor:
    """Counts what happens in studies."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, study: Study) -> StudyMonitor:
        """Return the counts of a study."""
        person, mine = StudyPersonRow, StudyPersonRow.study == study.id
        with self._database.reading() as session:
            people = session.execute(
                select(
                    func.count(), func.count(person.installed), func.count(person.started), func.count(person.finished)
                ).where(mine)
            ).one()
            times = session.execute(select(person.started, person.finished).where(mine, person.finished.is_not(None)))
            minutes = [(end - start).total_seconds() / 60 for start, end in times if start and end]
            invited = session.scalar(select(func.count()).where(InvitationRow.batch == study.batch))
            withdrawn = session.scalar(select(func.count()).where(StudyWithdrawalRow.study == study.id))
            tasks = select(StudyTaskRow.state, func.count()).join(person, person.id == StudyTaskRow.person).where(mine)
            pages = select(StudyPageRow.state, func.count()).where(StudyPageRow.study == study.id)
            return StudyMonitor(
                invited or 0,
                *people,
                withdrawn or 0,
                median(minutes) if minutes else None,
                dict(session.execute(tasks.group_by(StudyTaskRow.state)).all()),
                dict(session.execute(pages.group_by(StudyPageRow.state)).all()),
            )
