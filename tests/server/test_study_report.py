"""The report of a study: right numbers, and nothing in any file that finds a person."""

import csv
import json
import re
from dataclasses import replace
from itertools import pairwise, product

import pytest
from sqlalchemy import insert, select, text
from typer.testing import CliRunner

from eitr.cli.commands import app
from eitr.model.classifier import Classifier
from eitr.server.dashboard.study_report import write_report
from eitr.server.db.study_tables import StudyPersonRow, StudyRaterRow
from eitr.server.db.tables import ObservationRow
from eitr.server.domain.models import roll_back
from eitr.server.domain.study.analysis import FEW, FEWEST, NOT_TOLD, analysis, histogram, told_together
from eitr.server.domain.study.analysis_data import classifiers, study_data
from eitr.server.domain.study.tasks import TaskEvent
from eitr.taxonomy import NAMES
from tests.server.study_scene import SLUG, StudyScene

EMAIL = "somebody.real@mail.example"
EXPERTS = ("Ada Lovelace", "Grace Hopper", "Emmy Noether", "Lise Meitner")


@pytest.fixture
def scene(federation, tmp_path):
    """Eight people of whom seven let their labels be collected, four experts, and a round with reputations."""
    found = StudyScene(tmp_path, federation, each=8)
    for number, person in enumerate(found.add_people(7, enrol=True)):
        found.label(person, wrong=2 if number == 0 else 0)
    (silent,) = found.add_people(1, collect=False, terms=False, enrol=True)
    found.label(silent, collect=False)
    found.services.contacts.store(found.people[0], EMAIL)
    found.rate(EXPERTS)
    round = federation.rounds.open()
    with federation.database.writing() as session:
        for place, participant in enumerate(found.participants):
            values = {"weight": 1.0, "reputation": 0.55 if place else 0.05}
            session.execute(insert(ObservationRow).values(round=round, participant=participant, **values))
    roll_back(federation.database, 1, "operator")
    return found


@pytest.fixture
def found(federation, scene):
    data = study_data(federation.database, scene.services.register, SLUG)
    return analysis(data, classifiers(federation.database))


def test_the_numbers_are_those_of_the_study(found):
    assert found.experts.people == 4
    assert (found.experts.kappa, found.experts.low, found.experts.high) == (1.0, 1.0, 1.0)
    assert len(found.expert_pairs) == 6
    assert found.participants.people == 7
    assert found.participants.choices == sum(page["labels"] for page in found.pages if page["labels"] != FEW) == 52
    assert 0.5 < found.participants.kappa < 1.0
    assert found.with_truth["labels right"] == round(50 / 52, 4)
    assert found.truth["agreed by the experts"] == found.truth["judged"] == 12
    assert found.majority == 0.5
    assert [one.version for one in found.versions] == [1, 2]
    assert _fields(found.versions[0])[1:] == _fields(found.versions[1])[1:]
    assert sum(map(sum, found.details[0].confusion)) == 12
    assert found.details[0].roc[0] == (0.0, 0.0)
    assert found.details[0].roc[-1] == (1.0, 1.0)


def test_a_decision_from_before_the_experts_agreed_does_not_count(federation, scene):
    page = scene.services.pages.all(SLUG)[0]
    scene.services.raters.decide(SLUG, page.id, "religion", who="ada")
    first, *_ = study_data(federation.database, scene.services.register, SLUG).pages
    assert (first.truth, first.source) == (scene.truth[0], "agreed by the experts")


def _fields(score):
    return score.version, score.accuracy, score.balanced, score.auc


def test_the_first_version_is_judged_as_the_classifier_of_the_package(found, scene):
    shipped = Classifier.shipped()
    pages = [scene.services.pages.copy(SLUG, page.id) for page in scene.services.pages.all(SLUG)]
    from eitr.pages.extract import extract

    answers = [one.label for one in shipped.classify([extract(page) for page in pages])]
    right = sum(one == other for one, other in zip(answers, scene.truth, strict=True)) / 12
    assert found.versions[0].accuracy == round(right, 4)


def test_what_one_or_two_people_chose_for_a_page_is_not_told(found):
    few = [page for page in found.pages if page["labels"] == FEW]
    many = [page for page in found.pages if isinstance(page["labels"], int) and page["labels"]]
    assert few, "the example has such a page"
    assert many
    assert all(page[name] is None for page in few for name in NAMES)
    assert all(sum(page[name] for name in NAMES) == page["labels"] >= FEWEST for page in many)


@pytest.mark.parametrize("secret", ["health", "religion"])
def test_sums_do_not_tell_what_one_person_chose_for_a_page(federation, scene, secret):
    """Of four people one also labelled a fifth page."""
    data = study_data(federation.database, scene.services.register, SLUG)
    labels = {who: dict.fromkeys(range(1, 5), "health") for who in ("P1", "P2", "P3", "P4")}
    labels["P4"][5] = secret
    report = analysis(replace(data, labels=labels), [])
    told = [page for page in report.pages if isinstance(page["labels"], int)]
    assert report.pages[4]["labels"] == FEW
    assert report.participants.choices == report.with_truth["labels"] == sum(page["labels"] for page in told) == 16
    right = sum(page[page["truth"]] for page in told if page["labels"])
    assert report.with_truth["labels right"] == right / 16
    assert report.people == analysis(replace(data, labels=labels | {"P4": labels["P1"]}), []).people


def test_no_number_tells_what_two_people_chose_for_a_page(federation, scene):
    """A third person has another page of few labels: not only one or two people gave all of these."""
    data = study_data(federation.database, scene.services.register, SLUG)
    labels = {f"P{place}": {page: NAMES[(page + place) % 6] for page in range(1, 5)} for place in range(1, 5)}
    labels["P3"][6] = "politics"

    def told(first, second):
        chosen = labels | {"P1": labels["P1"] | {5: first}, "P2": labels["P2"] | {5: second}}
        report = analysis(replace(data, labels=chosen), [])
        assert report.pages[4]["labels"] == report.pages[5]["labels"] == FEW
        return report

    one, other = told("health", "health"), told("health", "religion")
    assert one.participants.kappa is not None
    assert (one.participants, one.people, one.with_truth) == (other.participants, other.people, other.with_truth)
    assert {"what": "pages", "how many": 2, "reason": f"have {FEW} labels: these are in no number about all pages"} in (
        one.exclusions
    )


def test_labels_of_one_or_two_people_are_not_told_as_those_of_all(federation, tmp_path):
    scene = StudyScene(tmp_path, federation)
    for person in scene.add_people(2):
        scene.label(person)
    data = study_data(federation.database, scene.services.register, SLUG)
    assert len(data.labels) == 2
    report = analysis(data, [])
    assert (report.participants, report.people, report.with_truth) == (None, [], None)
    assert all(page["labels"] == 0 for page in report.pages)


def test_one_or_two_people_are_not_counted(found):
    reasons = {one["reason"]: one["how many"] for one in found.exclusions}
    assert reasons["did not let their labels be collected"] == "fewer than 3"
    assert {(one["from"], one["participants"]) for one in found.reputations if one["participants"]} == {(0.0, "6 to 8")}


def test_differences_of_counts_tell_of_no_one_or_two_people(federation, tmp_path):
    """Of eight people one did not finish, and another one does not let labels be collected."""
    scene = StudyScene(tmp_path, federation)
    *all_of_them, unfinished = scene.add_people(7)
    for person in all_of_them:
        scene.label(person)
    for task in scene.services.tasks.all(unfinished)[:2]:
        scene.services.tasks.note(unfinished, task.id, TaskEvent.LABELLED, "health")
    (silent,) = scene.add_people(1, collect=False, terms=False)
    scene.label(silent, collect=False)
    report = analysis(study_data(federation.database, scene.services.register, SLUG), [])
    assert report.participants.people == 7
    told = [one for one in report.counts.values() if isinstance(one, int)] + [7]
    assert [(one, other) for one in told for other in told if abs(one - other) in (1, 2)] == []
    assert report.counts["finished"] == 7
    assert report.counts["consented"] == NOT_TOLD
    assert {one["how many"] for one in report.exclusions if one["what"] == "people"} == {FEW}
    assert all(one["people"] in (0, "6 to 8") for one in report.people)


def test_counts_that_are_told_never_differ_by_one_or_two():
    for counts in product(range(10), repeat=3):
        told = told_together(dict(zip("abc", counts, strict=True)))
        exact = [count for count in told.values() if isinstance(count, int)]
        assert not [1 for one in (0, *exact) for other in exact if 0 < abs(one - other) < FEWEST], counts


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        ([], [(place / 10, (place + 1) / 10, 0) for place in range(10)]),
        ([0.05], [(0.0, 1.0, FEW)]),
        ([0.05, *[0.55] * 7], [(0.0, 1.0, "6 to 8")]),
        ([0.15, *[0.95] * 5], [(0.0, 1.0, "6 to 8")]),
        ([*[0.05] * 3, 0.75, 0.95], [(0.0, 1.0, "3 to 5")]),
        ([*[0.05] * 3, *[0.85] * 2, 0.95], [(0.0, 0.2, "3 to 5"), (0.8, 1.0, "3 to 5")]),
        ([*[0.05] * 2, 0.35, *[0.65] * 2, 0.95], [(0.0, 0.5, "3 to 5"), (0.5, 1.0, "3 to 5")]),
        ([*[0.05] * 3, *[0.95] * 50], [(0.0, 0.1, "3 to 5"), (0.9, 1.0, "48 to 50")]),
    ],
)
def test_bins_grow_until_nobody_or_enough_people_are_in_them(values, bins):
    found = [tuple(one.values()) for one in histogram(values, "people")]
    assert [one for one in found if one[2] or not values] == bins
    assert (found[0][0], found[-1][1]) == (0.0, 1.0)
    assert all(one[1] == other[0] for one, other in pairwise(found))


def test_nothing_that_finds_a_person_is_in_any_file(federation, scene, found, tmp_path):
    files = write_report(found, tmp_path / "report")
    assert {file.name for file in files} >= {"report.html", "report.json", "people.csv", "pages.csv", "roc.csv"}
    written = "\n".join(file.read_text() for file in files)
    secrets = [*scene.people, *scene.participants, EMAIL, *EXPERTS, "secret-path", "news.example", "zorbavirus"]
    with federation.database.reading() as session:
        for person in session.scalars(select(StudyPersonRow)):
            secrets += [person.completion_code, person.contact, person.invitation.hex(), person.secret_hash.hex()]
        secrets += [rater.token_hash.hex() for rater in session.scalars(select(StudyRaterRow))]
    for secret in filter(None, secrets):
        assert secret not in written
        assert secret[:12] not in written
    assert not re.search(r"\d\d:\d\d", written), "a time finer than a day"
    assert not re.search(r"[0-9a-f]{24}", written), "something like an id"


def test_the_order_of_people_is_another_each_time(federation, scene):
    def orders():
        data = study_data(federation.database, scene.services.register, SLUG)
        return tuple(tuple(sorted(mine)) for mine in data.labels.values())

    assert len({orders() for _ in range(8)}) > 1


def test_the_files_can_be_read_by_machines(found, tmp_path):
    write_report(found, tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["participants"]["kappa"] == found.participants.kappa
    with (tmp_path / "people.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["people"] for row in rows} == {"0", "6 to 8"}
    page = (tmp_path / "report.html").read_text()
    assert "<script" not in page
    assert not re.search(r"(src|href)=", page), "the page needs nothing else"


def test_a_study_in_which_nothing_happened_has_a_report(federation, tmp_path):
    scene = StudyScene(tmp_path, federation)
    data = study_data(federation.database, scene.services.register, SLUG)
    found = analysis(data, classifiers(federation.database))
    assert found.experts is None
    assert found.participants is None
    page = write_report(found, tmp_path / "report")[0].read_text()
    assert "No labels were collected, or of fewer than 3 people" in page
    assert "No participant of the study has a reputation yet." in page


def test_withdrawn_labels_are_in_no_report(federation, scene):
    scene.services.people.withdraw(scene.people[0])
    data = study_data(federation.database, scene.services.register, SLUG)
    assert len(data.labels) == 6
    with federation.database.reading() as session:
        labels = session.scalar(text("SELECT count(label) FROM study_tasks"))
    assert sum(map(len, data.labels.values())) == labels


def test_the_command_writes_the_report(federation, scene, tmp_path):
    where = ["--folder", str(tmp_path), "--database", federation.settings.database_address]
    done = CliRunner().invoke(app, ["study", "report", SLUG, "--to", str(tmp_path / "out"), *where])
    assert done.exit_code == 0, done.output
    assert "7 participants who let their labels be collected" in (tmp_path / "out" / "report.html").read_text()
    unknown = CliRunner().invoke(app, ["study", "report", "other", "--to", str(tmp_path / "other"), *where])
    assert unknown.exit_code != 0
    assert not (tmp_path / "other").exists()
