"""The parts of studies that a running server uses."""

from dataclasses import dataclass

from eitr.server.db.connection import Database
from eitr.server.domain.keys import Key
from eitr.server.domain.study.contacts import Contacts
from eitr.server.domain.study.live_check import LiveCheck
from eitr.server.domain.study.monitor import Monitor
from eitr.server.domain.study.pages_list import StudyPages
from eitr.server.domain.study.people import People
from eitr.server.domain.study.raters import Raters
from eitr.server.domain.study.register import StudyRegister
from eitr.server.domain.study.tasks import Tasks
from eitr.server.domain.study.terms import StudyTerms
from eitr.server.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class StudyServices:
    """All parts."""

    register: StudyRegister
    pages: StudyPages
    people: People
    tasks: Tasks
    contacts: Contacts
    terms: StudyTerms
    raters: Raters
    monitor: Monitor

    @classmethod
    def of(cls, database: Database, key: Key, settings: ServerSettings) -> "StudyServices":
        """Return the parts for a server's database, key and settings."""
        return cls(
            StudyRegister(database, key),
            StudyPages(database, LiveCheck(allow_private=settings.study_private_pages)),
            People(database, key),
            Tasks(database),
            Contacts(database, settings.folder),
            StudyTerms(database),
            Raters(database),
            Monitor(database),
        )
