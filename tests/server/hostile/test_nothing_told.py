"""Nobody learns what the server thinks of them: not from an answer, not from its headers, not from its length."""

import json
import re
from typing import Any

import httpx
import numpy as np
import pytest

from eitr.datasets.validation import ValidationSet
from eitr.server.composition.wiring import update_bytes
from eitr.server.db.tables import ObservationRow, RefusalRow, RoundStatus, RuleStateRow, UpdateRow
from eitr.server.domain.keys import Key
from eitr.server.domain.metrics import Metrics
from eitr.server.domain.worker import Worker
from eitr.server.settings import read_settings
from tests.server.hostile.conftest import Person, RunningServer, ServerStarter, base_vector, sound

OPINIONS = re.compile(
    r"reputation|opinion|\"weight\"|trust|belief|observation|refus|suspic|malicious|attacker|positive|negative|quarantin",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def judging(starter: ServerStarter, server: RunningServer) -> tuple[RunningServer, Person, Person]:
    """A server after two rounds, with one participant of good name and one of bad."""
    people = [server.enrol() for _ in range(8)]
    good, bad = people[0], people[-1]
    settings = read_settings(folder=starter.folder / "common", rule="reputation", automatic_rounds=False)
    updates = update_bytes(server.database, settings, Key.of(settings.folder))
    worker = Worker(server.database, updates, settings, ValidationSet(None), Metrics())
    rng = np.random.default_rng(1)
    for number in range(2):
        round = server.open_round()
        common = rng.normal(0, 0.01, base_vector().size)
        if number:
            assert server.put(bad, round, b"invalid").status_code == 422
        for person in people:
            step = rng.normal(0, 0.005, common.size) + common * (-30 if person is bad else 1)
            data = (base_vector() + step).astype("<f4").tobytes()
            assert server.put(person, round, data).status_code == 202
        server.end_round(round, RoundStatus.CLOSING)
        assert worker.step()
    return server, good, bad


def test_the_server_thinks_better_of_one_than_of_the_other(judging: tuple[RunningServer, Person, Person]) -> None:
    """Otherwise the other tests here would show nothing."""
    server, good, bad = judging
    (one, other) = (server.rows(ObservationRow, participant=person.id)[-1] for person in (good, bad))
    assert one.reputation > 2 * other.reputation
    assert one.weight > other.weight
    assert server.count(RefusalRow, participant=bad.id) == 1
    assert server.count(RuleStateRow, participant=bad.id) == 1


def _shape(answer: httpx.Response) -> tuple[Any, ...]:
    headers = {name: value for name, value in answer.headers.items() if name != "date"}
    return answer.status_code, headers, len(answer.content), set(answer.json())


def test_a_sound_update_is_answered_alike_whoever_sends_it(judging: tuple[RunningServer, Person, Person]) -> None:
    server, good, bad = judging
    round = server.open_round()
    new = server.enrol()
    answers = [server.put(person, round, sound()) for person in (good, bad, new)]
    assert {answer.status_code for answer in answers} == {202}
    assert _shape(answers[0]) == _shape(answers[1]) == _shape(answers[2])
    assert answers[0].content == answers[1].content
    assert set(answers[0].json()) == {"round", "sha256"}


def test_nobody_is_told_that_they_are_established_or_bounded_or_from_where_they_came(starter: ServerStarter) -> None:
    with starter.open("bounded", bounds="true", enrolment="open") as server:
        [code] = server.participants.invite_batch(1, "", who="ada", founders=True, unbounded=True)
        founder, crowd, round = server.enrol(code), [server.enrol() for _ in range(8)], server.open_round(maximum=16)
        networks = {person.id: {"X_Forwarded_For": f"198.51.100.{place}"} for place, person in enumerate(crowd)}
        networks[founder.id] = {"X_Forwarded_For": "2001:db8:7:1::1"}
        server.private |= {"198.51.100", "2001:db8:7"}
        answers = [server.put(person, round, sound(), **networks[person.id]) for person in [founder, *crowd]]
        # A network has a quarter of the places. Who finds none is told what everybody is told when a round is full.
        assert [answer.status_code for answer in answers] == [202] * 5 + [409] * 4
        assert len({str(_shape(answer)) for answer in answers[:5]}) == 1
        full = server.open_round(received=16, maximum=16)
        closed = server.put(founder, full, sound())
        assert {str((_shape(answer), answer.json())) for answer in [*answers[5:], closed]} == {
            str((_shape(closed), closed.json()))
        }
        kept = [row.network for row in server.rows(UpdateRow, round=round)]
        assert all(isinstance(one, bytes) and len(one) == 32 for one in kept)
        assert len(set(kept)) == 2
        exports = [server.http.get("/api/v2/me/export", headers=one.headers).json() for one in (founder, crowd[0])]
        assert set(exports[0]) == set(exports[1])
        assert set(exports[0]["updates"][0]) == set(exports[1]["updates"][0])
        assert not re.search("establish|founder|bound|network|drawn", json.dumps(exports))


@pytest.mark.parametrize("data", [b"invalid", sound()[:-4] + np.float32(np.nan).tobytes()])
def test_an_invalid_update_is_answered_alike_whoever_sends_it(
    judging: tuple[RunningServer, Person, Person], data: bytes
) -> None:
    server, good, bad = judging
    round = server.open_round()
    answers = [server.put(person, round, data) for person in (good, bad)]
    assert _shape(answers[0]) == _shape(answers[1])
    assert answers[0].content == answers[1].content


def test_an_export_holds_what_was_sent_and_no_opinion(judging: tuple[RunningServer, Person, Person]) -> None:
    server, good, bad = judging
    exports = [server.http.get("/api/v2/me/export", headers=person.headers).json() for person in (good, bad)]
    for export in exports:
        assert set(export) == {"participant", "enrolled", "seen", "invited", "updates", "study"}
        assert export["study"] is None
        for update in export["updates"]:
            assert set(update) == {"round", "received", "sha256", "bytes", "encoding"}
        assert not OPINIONS.search(json.dumps(export))
    assert len(exports[0]["updates"]) == len(exports[1]["updates"])


def test_what_became_of_rounds_is_told_alike_to_all_who_sent(judging: tuple[RunningServer, Person, Person]) -> None:
    server, good, bad = judging
    answers = [server.http.get("/api/v2/me/rounds", headers=person.headers) for person in (good, bad)]
    assert _shape(answers[0]) == _shape(answers[1])
    assert answers[0].content == answers[1].content
    told = answers[0].json()["rounds"]
    assert {"published"} <= {one["outcome"] for one in told}
    assert {frozenset(one) for one in told} == {frozenset({"round", "outcome", "version"})}
    seen = {"If-None-Match": answers[0].headers["ETag"]}
    again = server.http.get("/api/v2/me/rounds", headers={**bad.headers, **seen})
    assert (again.status_code, again.content) == (304, b"")


def test_no_address_that_needs_no_operator_shows_an_opinion(judging: tuple[RunningServer, Person, Person]) -> None:
    """All of the API, as a participant of bad name; and everything else that could be there."""
    server, _, bad = judging
    round = server.open_round()
    document = server.http.get("/api/v2/openapi.json").json()
    walked = 0
    for path, operations in document["paths"].items():
        if not path.startswith("/api/"):
            continue
        for method in operations:
            if (method, path) == ("delete", "/api/v2/me"):
                continue
            address = path.replace("{version}", "1").replace("{id}", str(round))
            answer = server.http.request(method.upper(), address, headers={**bad.headers, "Content-Digest": "x"})
            assert answer.status_code < 500, path
            if "vocabulary" not in path:  # words of web pages
                assert not OPINIONS.search(answer.content.decode("latin-1")), path
            walked += 1
    assert walked >= 9
    for path in ("/observations", "/participants", "/rounds", "/reputation", "/me", "/admin", "/studies", "/metrics"):
        for prefix in ("", "/api/v2", "/dashboard", "/operator"):
            answer = server.http.get(f"{prefix}{path}", headers=bad.headers)
            if answer.status_code == 200:
                assert path == "/metrics"
            assert bad.id not in answer.text


def test_no_stranger_sees_how_many_updates_the_open_round_has(judging: tuple[RunningServer, Person, Person]) -> None:
    server, good, _ = judging
    round = server.open_round(received=7919, quorum=8719, maximum=9871)
    # Not as a part of a hash or of a time.
    numbers = re.compile(r"(?<![0-9a-f])(7919|8719|9871)(?![0-9a-f])")
    assert numbers.search(server.http.get("/metrics").text), "whoever watches over the server sees it"
    paths = [path for path, known in server.http.get("/api/v2/openapi.json").json()["paths"].items() if "get" in known]
    paths += ["/", "/live", "/rounds", f"/rounds/{round}", "/login", "/extension", "/healthz", "/readyz", "/metrics"]
    assert len(paths) > 15
    for path in paths:
        if "vocabulary" in path or "weights" in path or "safetensors" in path or "tfjs" in path:
            continue
        for headers in ({}, good.headers):
            from_elsewhere = {**headers, "X-Forwarded-For": "198.51.100.9"}
            answer = server.http.get(path.replace("{id}", str(round)), headers=from_elsewhere)
            assert not numbers.search(answer.text), path
    assert not numbers.search(server.put(good, round, sound()).text)


def test_the_numbers_for_monitoring_name_nobody(judging: tuple[RunningServer, Person, Person]) -> None:
    server, good, bad = judging
    text = server.http.get("/metrics").text
    assert "eitr_requests_total" in text
    assert not re.search(r"[0-9a-f]{32}", text)
    assert not re.search(r"reputation|opinion", text)
    for person in (good, bad):
        assert person.id not in text
        assert person.secret not in text


def test_a_strange_method_or_path_makes_no_new_series(judging: tuple[RunningServer, Person, Person]) -> None:
    """Or anybody could fill the memory of server and monitor."""
    server, _, _ = judging
    for number in range(20):
        server.http.get(f"/nowhere/{number}")
        server.http.get(f"/api/v2/models/{number + 1}/weights")
    text = server.http.get("/metrics").text
    assert "nowhere" not in text
    assert 'route="/api/v2/models/{version}/weights"' in text
    assert "/models/1/" not in text
