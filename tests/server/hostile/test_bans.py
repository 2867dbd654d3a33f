"""Somebody whom the operator has banned or muted, at a real server."""

import pytest

from eitr.client import Participant, ServerError
from eitr.server.db.tables import RefusalRow, UpdateRow
from eitr.server.domain import moderation
from eitr.server.domain.moderation import Measure
from tests.server.hostile.conftest import RunningServer, problem, sound


def test_a_ban_is_told_and_leaves_a_person_their_data(any_server: RunningServer) -> None:
    server = any_server
    person, round = server.enrol(), server.open_round()
    assert moderation.take(server.database, person.id, Measure.BANNED, "ada", "x")
    assert problem(server.put(person, round, sound())) == "banned"
    assert problem(server.put(person, round, b"invalid")) == "banned"
    assert server.count(UpdateRow, participant=person.id) == server.count(RefusalRow, participant=person.id) == 0
    exported = server.http.get("/api/v2/me/export", headers=person.headers)
    assert exported.status_code == 200
    assert server.http.delete("/api/v2/me", headers=person.headers).status_code == 204


def test_the_python_client_says_what_the_server_said(server: RunningServer) -> None:
    person, round = server.enrol(), server.open_round()
    moderation.take(server.database, person.id, Measure.BANNED, "ada", "x")
    with Participant(server.running.address, id=person.id, secret=person.secret) as client:
        with pytest.raises(ServerError, match="takes no more updates from this participant") as refusal:
            client.send_bytes(round, sound())
        assert (refusal.value.status, refusal.value.slug) == (403, "banned")
        moderation.lift(server.database, person.id, Measure.BANNED, "ada", "a mistake")
        client.send_bytes(round, sound())
    assert server.count(UpdateRow, participant=person.id) == 1


def test_a_muted_person_gets_the_answers_of_everybody(any_server: RunningServer) -> None:
    server = any_server
    muted, other, round = server.enrol(), server.enrol(), server.open_round()
    moderation.take(server.database, muted.id, Measure.MUTED, "ada", "x")
    answers = []
    for person in (muted, other):
        sent = server.put(person, round, sound())
        data = server.http.get("/api/v2/me/export", headers=person.headers)
        told = {**data.json(), "participant": "", "enrolled": "", "seen": ""}
        told["updates"] = [{**one, "received": ""} for one in told["updates"]]
        answers.append((sent.status_code, sent.json(), sorted(sent.headers), data.status_code, told))
    assert answers[0] == answers[1]
