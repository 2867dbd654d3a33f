"""Nobody learns what the server thinks of them: not from an answer, not from its headers, not from its length."""

import json
import re
from typing import Any

import httpx
import numpy as np
import pytest

from eitr.datasets.validation import ValidationSet
from eitr.server.db.tables import Memory, Observation, Refusal, State
from eitr.server.domain.metrics import Metrics
from eitr.server.domain.worker import Worker
from eitr.server.settings import read_settings
from tests.server.hostile.conftest import Door, Doors, Person, base_vector, sound

OPINIONS = re.compile(
    r"reputation|opinion|\"weight\"|trust|belief|observation|refus|suspic|malicious|attacker|positive|negative|quarantin",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def judging(doors: Doors, door: Door) -> tuple[Door, Person, Person]:
    """A server after two rounds, with one participant of good name and one of bad."""
    people = [door.enrol() for _ in range(8)]
    good, bad = people[0], people[-1]
    settings = read_settings(folder=doors.folder / "common", rule="reputation", automatic_rounds=False)
    worker = Worker(door.database, settings, ValidationSet(None), Metrics())
    rng = np.random.default_rng(1)
    for number in range(2):
        round = door.open_round()
        common = rng.normal(0, 0.01, base_vector().size)
        if number:
            assert door.put(bad, round, b"rubbish").status_code == 422
        for person in people:
            step = rng.normal(0, 0.005, common.size) + common * (-30 if person is bad else 1)
            data = (base_vector() + step).astype("<f4").tobytes()
            assert door.put(person, round, data).status_code == 202
        door.end_round(round, State.CLOSING)
        assert worker.step()
    return door, good, bad


def test_the_server_thinks_better_of_one_than_of_the_other(judging: tuple[Door, Person, Person]) -> None:
    """Otherwise the other tests here would show nothing."""
    door, good, bad = judging
    (one, other) = (door.rows(Observation, participant=person.id)[-1] for person in (good, bad))
    assert one.reputation > 2 * other.reputation
    assert one.weight > other.weight
    assert door.count(Refusal, participant=bad.id) == 1
    assert door.count(Memory, participant=bad.id) == 1


def _shape(answer: httpx.Response) -> tuple[Any, ...]:
    headers = {name: value for name, value in answer.headers.items() if name != "date"}
    return answer.status_code, headers, len(answer.content), set(answer.json())


def test_a_sound_update_is_answered_alike_whoever_sends_it(judging: tuple[Door, Person, Person]) -> None:
    door, good, bad = judging
    round = door.open_round()
    new = door.enrol()
    answers = [door.put(person, round, sound()) for person in (good, bad, new)]
    assert {answer.status_code for answer in answers} == {202}
    assert _shape(answers[0]) == _shape(answers[1]) == _shape(answers[2])
    assert answers[0].content == answers[1].content
    assert set(answers[0].json()) == {"round", "sha256"}


@pytest.mark.parametrize("data", [b"rubbish", sound()[:-4] + np.float32(np.nan).tobytes()])
def test_rubbish_is_answered_alike_whoever_sends_it(judging: tuple[Door, Person, Person], data: bytes) -> None:
    door, good, bad = judging
    round = door.open_round()
    answers = [door.put(person, round, data) for person in (good, bad)]
    assert _shape(answers[0]) == _shape(answers[1])
    assert answers[0].content == answers[1].content


def test_an_export_holds_what_was_sent_and_no_opinion(judging: tuple[Door, Person, Person]) -> None:
    door, good, bad = judging
    exports = [door.http.get("/api/v1/me/export", headers=person.headers).json() for person in (good, bad)]
    for export in exports:
        assert set(export) == {"participant", "enrolled", "seen", "invited", "updates"}
        for update in export["updates"]:
            assert set(update) == {"round", "received", "sha256", "bytes", "encoding"}
        assert not OPINIONS.search(json.dumps(export))
    assert len(exports[0]["updates"]) == len(exports[1]["updates"])


def test_no_address_that_needs_no_operator_shows_an_opinion(judging: tuple[Door, Person, Person]) -> None:
    """All of the API, as a participant of bad name; and everything else that could be there."""
    door, _, bad = judging
    round = door.open_round()
    document = door.http.get("/api/v1/openapi.json").json()
    walked = 0
    for path, operations in document["paths"].items():
        if not path.startswith("/api/"):
            continue
        for method in operations:
            if (method, path) == ("delete", "/api/v1/me"):
                continue
            address = path.replace("{version}", "1").replace("{id}", str(round))
            answer = door.http.request(method.upper(), address, headers={**bad.headers, "Content-Digest": "x"})
            assert answer.status_code < 500, path
            if "vocabulary" not in path:  # words of web pages
                assert not OPINIONS.search(answer.content.decode("latin-1")), path
            walked += 1
    assert walked >= 9
    for path in ("/observations", "/participants", "/rounds", "/reputation", "/me", "/admin", "/studies", "/metrics"):
        for prefix in ("", "/api/v1", "/dashboard", "/operator"):
            answer = door.http.get(f"{prefix}{path}", headers=bad.headers)
            if answer.status_code == 200:
                assert path == "/metrics"
            assert bad.id not in answer.text


def test_the_numbers_for_monitoring_name_nobody(judging: tuple[Door, Person, Person]) -> None:
    door, good, bad = judging
    text = door.http.get("/metrics").text
    assert "eitr_requests_total" in text
    assert not re.search(r"[0-9a-f]{32}", text)
    assert not re.search(r"reputation|opinion", text)
    for person in (good, bad):
        assert person.id not in text
        assert person.secret not in text


def test_a_strange_method_or_path_makes_no_new_series(judging: tuple[Door, Person, Person]) -> None:
    """Or anybody could fill the memory of server and monitor."""
    door, _, _ = judging
    for number in range(20):
        door.http.get(f"/nowhere/{number}")
        door.http.get(f"/api/v1/models/{number + 1}/weights")
    text = door.http.get("/metrics").text
    assert "nowhere" not in text
    assert "/models/1/" not in text
