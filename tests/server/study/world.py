"""A study without HTTP: pages, people with codes, and their participants."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from eitr.server.composition.wiring import prepared_database
from eitr.server.db.connection import Database
from eitr.server.domain.keys import Key
from eitr.server.domain.participants import Participants
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.register import Study
from eitr.server.domain.study.services import StudyServices
from eitr.server.domain.study.settings import checked_settings
from eitr.server.settings import ServerSettings, read_settings
from eitr.taxonomy import NAMES

SLUG = "covid"
TEXTS = {kind: f"I agree to {kind}, as explained." for kind in ConsentKind}


@dataclass(frozen=True)
class Person:
    """Somebody in a study, with their browser."""

    code: str
    id: str
    secret: str
    participant: str
    bearer: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.bearer}"}


class World:
    """The parts of a server that studies need, on one database."""

    def __init__(self, folder: Path, address: str = "", **given: Any) -> None:
        self.folder = folder
        self.settings: ServerSettings = read_settings(folder=folder, database=address, **given)
        self.database: Database = prepared_database(self.settings)[0]
        self.key = Key.of(folder)
        self.participants = Participants(self.database, self.key)
        self.studies = StudyServices.of(self.database, self.key, self.settings)

    def study(self, pages: int = 60, *, seed: int = 7, slug: str = SLUG, **settings: Any) -> Study:
        """Create and open a study."""
        register = self.studies.register
        register.create(slug, "Pages about COVID-19", checked_settings(settings), who="ada", seed=seed)
        self.studies.pages.import_file(slug, page_list(self.folder / f"{slug}.csv", pages), who="ada")
        return register.open(slug, who="ada")

    def person(self, *kinds: ConsentKind, slug: str = SLUG) -> Person:
        """Invite somebody who consents and installs the extension."""
        [code] = self.studies.register.invite(slug, 1, who="ada")
        return self.begun(code, *kinds, slug=slug)

    def begun(self, code: str, *kinds: ConsentKind, slug: str = SLUG) -> Person:
        """Let somebody with a code consent and install the extension."""
        texts = {kind: TEXTS[kind] for kind in (ConsentKind.PARTICIPATION, *kinds)}
        version = self.studies.register.get(slug).consent_version
        begun = self.studies.people.start(slug, code, "de", texts, version)
        enrolled = self.participants.enrol(code, invited_only=True)
        return Person(code, begun.person, begun.secret, enrolled.id, f"{enrolled.id}.{enrolled.secret}")

    def count(self, table: type, *conditions: Any) -> int:
        with self.database.reading() as session:
            return session.scalar(select(func.count()).select_from(table).where(*conditions)) or 0

    def close(self) -> None:
        self.database.close()


def page_list(path: Path, count: int) -> Path:
    """Write a list of pages, of all classes in turn."""
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["url", "topic", "truth"])
        for number in range(count):
            rows.writerow([f"https://pages.example/{number}", f"topic {number % 3}", NAMES[number % len(NAMES)]])
    return path
