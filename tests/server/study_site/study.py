"""A study on a server: pages, people who were invited, raters."""

from pathlib import Path
from typing import Any

from eitr.server.domain.services import Services
from eitr.server.domain.study.settings import StudySettings
from eitr.server.domain.study.tasks import TaskEvent

SLUG, TITLE = "covid", "Which pages are sensitive?"
PAGES = 12
EACH = 4
TRUTHS = ("health", "politics", "religion", "non-sensitive")


class ExampleStudy:
    """A study with pages; what tests do to it besides using its pages."""

    def __init__(self, services: Services, folder: Path, *, opened: bool = True, **settings: Any) -> None:
        self.services, self._parts = services, services.studies
        given = {
            "pages_per_person": EACH,
            "collect_labels": True,
            "collect_terms": True,
            "reward": True,
            "group": "Example University, Web Privacy Group",
            "contact": "study@example.org",
            "purpose": "We want to know how people judge pages about the pandemic.",
            **settings,
        }
        self._parts.register.create(SLUG, TITLE, StudySettings(**given), who="ada", seed=7, unbounded=True)
        listed = folder / "pages.csv"
        lines = (f"https://page{n}.example/covid-{n},topic {n % 3},{TRUTHS[n % 4]}" for n in range(PAGES))
        listed.write_text("\n".join(["url,topic,truth", *lines]))
        self._parts.pages.import_file(SLUG, listed, who="ada")
        if opened:
            self._parts.register.open(SLUG, who="ada")

    def invite(self, count: int = 1) -> list[str]:
        return self._parts.register.invite(SLUG, count, who="ada")

    def rater(self, name: str) -> str:
        """Return the token of a new rater."""
        return self._parts.raters.add(SLUG, name, who="ada")

    def label(self, person: str, count: int) -> None:
        """Let somebody's extension label some tasks, and skip nothing."""
        self._parts.people.note_installed(person)
        for task in self._parts.tasks.all(person)[:count]:
            self._parts.tasks.note(person, task.id, TaskEvent.LABELLED)
