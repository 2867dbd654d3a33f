"""A study that has been run: pages with copies, people with consents, tasks and labels, and experts."""

import csv
from pathlib import Path

from eitr.pages.federated_vocabulary import report
from eitr.pages.page import Page
from eitr.pages.reading import read_body
from eitr.server.domain.keys import Key
from eitr.server.domain.participants import Participants
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.services import StudyServices
from eitr.server.domain.study.settings import checked_settings
from eitr.server.domain.study.tasks import TaskEvent

SLUG = "covid-2027"
HEALTH = (
    "The zorbavirus spreads. Doctors treat zorbavirus patients with fever in hospital, and zorbitis is its disease."
)
OTHER = "The football team won the match with two late goals, and the stadium celebrated its zorbaless season."
CONSENTS = {kind: f"I consent to {kind}." for kind in ConsentKind}


class StudyScene:
    """A study on the database of a federation; people label as `labels` says."""

    def __init__(self, folder: Path, federation, pages: int = 12, each: int = 6) -> None:
        self.folder, self.database, self.key = folder, federation.database, federation.key
        self.services = StudyServices.of(federation.database, Key.of(federation.settings.folder), federation.settings)
        settings = {
            "pages_per_person": each,
            "collect_labels": True,
            "collect_terms": True,
            "copies": "always",
            "reward": True,
        }
        self.services.register.create(SLUG, "Pages about an illness", checked_settings(settings), who="test", seed=1)
        self.truth = ["health" if place % 2 else "non-sensitive" for place in range(pages)]
        self._import_pages()
        self.services.register.open(SLUG, who="test")
        self.people: list[str] = []
        self.participants: list[str] = []

    def _import_pages(self) -> None:
        with (self.folder / "pages.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("url", "topic", "truth", "copy"))
            for place, truth in enumerate(self.truth):
                text = HEALTH if truth == "health" else OTHER
                (self.folder / f"{place}.html").write_text(f"<title>Page {place}</title><p>{text} Number {place}.")
                writer.writerow((f"https://news.example/secret-path-{place}", "illness", truth, f"{place}.html"))
        self.services.pages.import_file(SLUG, self.folder / "pages.csv", who="test", copies=self.folder)

    def add_people(self, count: int, *, collect: bool = True, terms: bool = True, enrol: bool = False) -> list[str]:
        """Let people begin; their browsers report terms if they agreed."""
        kinds = [ConsentKind.PARTICIPATION]
        kinds += [ConsentKind.COLLECTION] * collect + [ConsentKind.TERMS] * terms
        version = self.services.register.get(SLUG).consent_version
        found = []
        for code in self.services.register.invite(SLUG, count, who="test"):
            texts = {kind: CONSENTS[kind] for kind in kinds}
            person = self.services.people.start(SLUG, code, "en", texts, version).person
            if enrol:
                participants = Participants(self.database, self.key)
                self.participants.append(participants.enrol(code, invited_only=True).id)
            if terms:
                self.services.terms.store(person, report([read_body(Page(text=HEALTH)).tokens]))
            found.append(person)
        self.people += found
        return found

    def label(self, person: str, wrong: int = 0, *, collect: bool = True) -> None:
        """Let a person end all tasks; the first `wrong` labels are not the truth."""
        pages = {page.id: page.truth for page in self.services.pages.all(SLUG)}
        for place, task in enumerate(self.services.tasks.all(person)):
            truth = pages[int(task.url.rsplit("/", 1)[1])]  # the path of the copy ends with the page's number
            chosen = "politics" if place < wrong else truth
            self.services.tasks.note(person, task.id, TaskEvent.LABELLED, chosen if collect else None)

    def rate(self, names: tuple[str, ...], wrong: int = 0) -> None:
        """Let experts rate all pages; each is wrong about another few."""
        for number, name in enumerate(names):
            token = self.services.raters.add(SLUG, name, who="test")
            rater = self.services.raters.find(SLUG, token)
            assert rater is not None
            for place, page in enumerate(self.services.raters.pages(rater.id)):
                away = wrong and place % (wrong + 1) == number % (wrong + 1)
                self.services.raters.rate(rater.id, page.id, "politics" if away else self.truth[place])
