"""The study over HTTP: what the extension and the Python participant see, on a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from eitr.client import Participant, ServerError
from eitr.pages.federated_vocabulary import report
from eitr.server.db.study_tables import StudyPersonRow, StudyTaskRow, StudyTermsRow, StudyWithdrawalRow
from eitr.server.db.tables import ParticipantRow
from eitr.server.domain.study.consents import ConsentKind
from tests.server.process import Running
from tests.server.study.world import SLUG, Person, World

COLLECTION, TERMS = ConsentKind.COLLECTION, ConsentKind.TERMS
EMAIL = "ann.the.first@mail.example"
LABEL = "sexual-orientation"


class Served(World):
    """A world with a server in front of it."""

    def __init__(self, folder: Path, running: Running) -> None:
        super().__init__(folder)
        self.running = running
        self.http = httpx.Client(base_url=running.address, timeout=120)

    def participant(self, person: Person) -> Participant:
        id, _, secret = person.bearer.partition(".")
        return Participant(self.running.address, id=id, secret=secret)

    def put(self, person: Person, task: int, **wish: Any) -> httpx.Response:
        return self.http.put(f"/api/v2/tasks/{task}", json=wish, headers=person.headers)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served") / "server"
    with Running("serve", folder, "--no-worker", log_level="debug").ready() as running:
        found = Served(folder, running)
        found.study(collect_labels=True, collect_terms=True, reward=True, pages_per_person=5)
        yield found
        found.close()


def slug_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, str(answer.json()["type"]).removeprefix("/problems/")


def test_a_participant_labels_to_the_end_and_gets_the_code(served: Served) -> None:
    ann = served.person(COLLECTION)
    with served.participant(ann) as me:
        study = me.study()
        assert study is not None
        assert (study.study, study.status, study.page) == (SLUG, "open", f"/study/{SLUG}/me")
        assert (study.collect, study.terms, study.hide_prediction, study.uses_per_page) == (True, False, True, 2)
        assert (study.tasks, study.done, study.completion_code) == (5, 0, None)
        tasks = me.tasks()
        assert [task.position for task in tasks] == [1, 2, 3, 4, 5]
        broken = me.end_task(tasks[0].id, "broken")
        assert broken.replacement is not None
        assert broken.replacement.position == 1
        assert broken.replacement.url not in [task.url for task in tasks]
        assert me.end_task(tasks[0].id, "broken") == broken
        for task in me.tasks():
            me.end_task(task.id, "opened")
            told = me.end_task(task.id, "labelled", LABEL)
        assert told.done == 5
        assert told.completion_code is not None
        study = me.study()
        assert study is not None
        assert study.completion_code == told.completion_code
        assert {task.state for task in me.tasks()} == {"labelled"}
    with served.database.reading() as session:
        person = session.get_one(StudyPersonRow, ann.id)
    assert person.installed is not None
    assert person.installed <= person.started <= person.finished


def test_a_label_without_consent_is_refused_and_is_in_no_file_and_no_log(served: Served) -> None:
    bob = served.person()
    task = served.studies.tasks.all(bob.id)[0]
    answer = served.put(bob, task.id, state="labelled", label="ethnicity")
    assert slug_of(answer) == (403, "consent-needed")
    assert "ethnicity" not in answer.text
    assert served.put(bob, task.id, state="labelled").json()["done"] == 1
    assert served.count(StudyTaskRow, StudyTaskRow.label == "ethnicity") == 0
    assert "ethnicity" not in served.running.log
    answer = served.http.put("/api/v2/study/terms", json={"samples": 1}, headers=bob.headers)
    assert slug_of(answer) == (403, "consent-needed")


def test_another_label_replaces_the_first_and_the_same_again_gets_the_same_answer(served: Served) -> None:
    ann = served.person(COLLECTION)
    task = served.studies.tasks.all(ann.id)[0]
    first = served.put(ann, task.id, state="labelled", label="health")
    assert served.put(ann, task.id, state="labelled", label="health").content == first.content
    assert served.put(ann, task.id, state="labelled", label="politics").content == first.content
    with served.database.reading() as session:
        assert session.get_one(StudyTaskRow, task.id).label == "politics"


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"state": "open"},
        {"state": "replaced"},
        {"state": "labelled", "label": "sport"},
        {"state": "skipped", "label": "health"},
        {"state": "labelled", "label": 3},
        {"state": "labelled", "email": EMAIL},
    ],
)
def test_what_makes_no_sense_is_a_malformed_request_and_is_not_repeated(served: Served, wish: dict[str, Any]) -> None:
    ann = served.person(COLLECTION)
    answer = served.put(ann, served.studies.tasks.all(ann.id)[0].id, **wish)
    assert slug_of(answer) == (400, "malformed-request")
    assert EMAIL not in answer.text


def test_nobody_reaches_the_study_of_others(served: Served) -> None:
    ann, bob = served.person(COLLECTION), served.person(COLLECTION)
    task = served.studies.tasks.all(bob.id)[0]
    for id in (task.id, 10**15):
        assert slug_of(served.put(ann, id, state="skipped")) == (404, "unknown-task")
    with Participant(served.running.address) as stranger:
        stranger.enrol()
        assert stranger.study() is None
        with pytest.raises(ServerError) as refused:
            stranger.tasks()
        assert refused.value.slug == "no-study"
    assert served.http.get("/api/v2/study").status_code == 401
    [code] = served.studies.register.invite(SLUG, 1, who="ada")
    with Participant(served.running.address) as early:
        early.enrol(code)
        assert early.study() is None, "who has not consented is in no study"


def test_terms_are_taken_with_consent_and_within_bounds(served: Served) -> None:
    ann = served.person(TERMS)
    words = [
        f"word{'abcdefghij'[number % 10]}{chr(97 + number // 10 % 26)}{chr(97 + number // 260)}"
        for number in range(2000)
    ]
    mine = report([words, words[:50]], limit=2000)
    with served.participant(ann) as me:
        me.send_terms(mine)
        me.send_terms(mine)
    with served.database.reading() as session:
        stored = session.get_one(StudyTermsRow, ann.id).report
    assert stored["weights"] == mine.weights
    for body in (b"{}", b"nonsense", json.dumps({"samples": 1, "weights": {"a b": 1.0}, "documents": {"a b": 1}})):
        answer = served.http.put("/api/v2/study/terms", content=body, headers=ann.headers)
        assert slug_of(answer) == (400, "malformed-request")
        assert "a b" not in answer.text
    answer = served.http.put("/api/v2/study/terms", content=b"x" * 600_000, headers=ann.headers)
    assert slug_of(answer) == (413, "too-large")


def test_an_export_has_the_study_but_not_the_address(served: Served) -> None:
    ann = served.person(COLLECTION, TERMS)
    served.studies.contacts.store(ann.id, EMAIL)
    task = served.studies.tasks.all(ann.id)[0]
    with served.participant(ann) as me:
        me.end_task(task.id, "labelled", "health")
        told = me.export()
    study = told["study"]
    assert study["study"] == SLUG
    assert study["email_stored"] is True
    assert [one["label"] for one in study["tasks"]] == ["health", None, None, None, None]
    assert {one["kind"] for one in study["consents"]} == set(ConsentKind)
    assert all(len(one["text_sha256"]) == 64 and one["version"] == 1 for one in study["consents"])
    assert "@" not in json.dumps(told)


def test_leaving_by_the_extension_withdraws_from_the_study(served: Served) -> None:
    ann = served.person(COLLECTION)
    before = served.count(StudyWithdrawalRow)
    with served.participant(ann) as me:
        me.erase()
    assert served.count(StudyPersonRow, StudyPersonRow.id == ann.id) == 0
    assert served.count(ParticipantRow, ParticipantRow.id == ann.participant) == 0
    assert served.count(StudyWithdrawalRow) == before + 1
    with Participant(served.running.address) as again, pytest.raises(ServerError) as refused:
        again.enrol(ann.code)
    assert refused.value.slug == "invitation-needed"


def test_a_closed_study_takes_nothing_more(served: Served) -> None:
    served.study(slug="short", pages_per_person=3)
    ann = served.person(slug="short")
    task = served.studies.tasks.all(ann.id)[0]
    served.studies.register.close("short", who="ada")
    assert slug_of(served.put(ann, task.id, state="skipped")) == (409, "study-closed")
    with served.participant(ann) as me:
        study = me.study()
        assert study is not None
        assert study.status == "closed"


def test_no_answer_log_line_or_metric_joins_an_address_to_a_label_or_an_update(served: Served) -> None:
    """Everything that a server tells is searched for the address, for its identifier, and for ids next to labels."""
    ann = served.person(COLLECTION, TERMS)
    served.studies.contacts.store(ann.id, EMAIL)
    heard: list[str] = []

    def ask(method: str, path: str, **options: Any) -> None:
        answer = served.http.request(method, path, **{"headers": ann.headers, **options})
        heard.append(f"{answer.headers} {answer.text}")

    for task in served.studies.tasks.all(ann.id):
        ask("PUT", f"/api/v2/tasks/{task.id}", json={"state": "labelled", "label": LABEL})
    for path in ("study", "tasks", "me/export", "me/rounds", "model", "rounds/current", "openapi.json"):
        ask("GET", f"/api/v2/{path}")
    ask("PUT", "/api/v2/tasks/0", json={"state": "labelled", "label": EMAIL})
    ask("GET", "/metrics")
    ask("GET", "/readyz")
    rewards = served.studies.contacts.reward_list(SLUG)
    with served.database.reading() as session:
        contact = session.get_one(StudyPersonRow, ann.id).contact
    assert contact is not None
    assert all(EMAIL not in text and contact not in text for text in heard)
    assert (EMAIL, True) in rewards
    said = repr(rewards)
    assert all(trace not in said for trace in (LABEL, ann.id, ann.participant, contact, "202"))
    log = served.running.log
    assert log.count("\n") >= 1
    for trace in (EMAIL, contact, ann.id, ann.participant, ann.code, ann.secret, ann.bearer, LABEL):
        assert trace not in log
    assert not any(LABEL in text for text in heard[-2:]), "neither in the metrics"
