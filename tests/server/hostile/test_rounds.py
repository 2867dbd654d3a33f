"""An update counts once, in the round it was sent to, and only while that round is open."""

import socket
import time
from datetime import timedelta
from functools import partial

import httpx
import pytest

from eitr.model.update_encoding import DIFFERENCE, PARAMETERS
from eitr.server.db.tables import Octets, Participant, Refusal, Round, State, Update
from eitr.server.domain.clock import now
from tests.server.hostile.conftest import Door, Doors, Person, at_once, digest_of, listen, problem, request, sound

ENDED = [State.CLOSING, State.AGGREGATING, State.PUBLISHED, State.QUARANTINED, State.ABANDONED]


def nothing_of(door: Door, person: Person) -> bool:
    """Say whether no trace of an update is there."""
    return door.count(Update, participant=person.id) == door.count(Refusal, participant=person.id) == 0


def test_there_is_no_round_to_send_to_when_none_is_open(door: Door) -> None:
    round = door.open_round()
    door.end_round(round, State.ABANDONED)
    answer = door.http.get("/api/v1/rounds/current")
    assert problem(answer) == "no-round"
    assert int(answer.headers["Retry-After"]) > 0


def test_a_round_that_does_not_exist_is_unknown(door: Door, person: Person) -> None:
    assert problem(door.put(person, door.open_round() + 1000, sound())) == "unknown-round"
    assert nothing_of(door, person)


@pytest.mark.parametrize("state", ENDED)
def test_a_round_that_is_no_longer_open_takes_nothing(door: Door, person: Person, state: State) -> None:
    round = door.open_round()
    door.end_round(round, state)
    time.sleep(0.25)  # what was known of a round may be remembered for a moment
    for data in (sound(), b"rubbish"):
        assert problem(door.put(person, round, data)) == "round-closed"
    assert nothing_of(door, person)


def test_an_update_after_the_deadline_is_late_although_the_round_was_not_closed_yet(door: Door, person: Person) -> None:
    round = door.open_round(deadline=now() - timedelta(seconds=1))
    assert problem(door.put(person, round, sound())) == "round-closed"
    assert problem(door.http.get("/api/v1/rounds/current")) == "no-round"
    assert nothing_of(door, person)


def test_an_update_to_the_last_round_is_stale(door: Door, person: Person) -> None:
    last = door.open_round()
    current = door.open_round()
    time.sleep(0.25)
    assert problem(door.put(person, last, sound())) == "round-closed"
    assert door.put(person, current, sound()).status_code == 202
    assert [one.round for one in door.rows(Update, participant=person.id)] == [current]


def test_a_round_that_is_full_takes_no_more(door: Door) -> None:
    round = door.open_round(minimum=1, quorum=1, maximum=2)
    people = [door.enrol() for _ in range(3)]
    statuses = [door.put(person, round, sound()).status_code for person in people]
    assert statuses == [202, 202, 409]
    assert nothing_of(door, people[2])


def test_many_at_once_do_not_overfill_a_round(any_door: Door) -> None:
    round = any_door.open_round(minimum=1, quorum=1, maximum=3)
    people = [any_door.enrol() for _ in range(8)]
    answers = at_once([partial(any_door.put, person, round, sound()) for person in people])
    assert sorted(answer.status_code for answer in answers) == [202] * 3 + [409] * 5
    assert {problem(answer) for answer in answers if answer.status_code == 409} == {"round-closed"}
    assert any_door.count(Update, round=round) == any_door.rows(Round, id=round)[0].received == 3


def _begun(door: Door, person: Person, round: int, data: bytes) -> socket.socket:
    connection = door.connect()
    head = request(
        "PUT",
        f"/api/v1/rounds/{round}/update",
        f"Authorization: {person.headers['Authorization']}",
        f"Content-Type: {PARAMETERS}",
        f"Content-Digest: {digest_of(data)}",
        f"Content-Length: {len(data)}",
    )
    connection.sendall(head + data[:1000])
    time.sleep(0.2)  # it is being received
    return connection


@pytest.mark.parametrize("state", [State.CLOSING, State.PUBLISHED])
def test_a_round_that_closes_while_an_update_arrives_does_not_get_it(any_door: Door, state: State) -> None:
    round, person, data = any_door.open_round(), any_door.enrol(), sound()
    with _begun(any_door, person, round, data) as connection:
        any_door.end_round(round, state)
        connection.sendall(data[1000:])
        heard = listen(connection)
    assert [problem(one) for one in heard.answers] == ["round-closed"]
    assert nothing_of(any_door, person)
    assert any_door.rows(Round, id=round)[0].received == 0


def test_whoever_leaves_while_their_update_arrives_leaves_nothing_behind(any_door: Door) -> None:
    round, person, data = any_door.open_round(), any_door.enrol(), sound()
    with _begun(any_door, person, round, data) as connection:
        assert any_door.http.delete("/api/v1/me", headers=person.headers).status_code == 204
        connection.sendall(data[1000:])
        heard = listen(connection)
    assert [problem(one) for one in heard.answers] == ["not-enrolled"]
    assert nothing_of(any_door, person)
    assert any_door.rows(Round, id=round)[0].received == 0


def test_the_same_update_again_is_answered_alike_and_counts_once(any_door: Door) -> None:
    round, person = any_door.open_round(), any_door.enrol()
    first, second = (any_door.put(person, round, sound()) for _ in range(2))
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert first.status_code == 202
    assert any_door.count(Update, round=round) == any_door.rows(Round, id=round)[0].received == 1


def test_the_same_update_again_is_answered_alike_even_after_the_round_ended(any_door: Door) -> None:
    round, person = any_door.open_round(), any_door.enrol()
    assert any_door.put(person, round, sound()).status_code == 202
    any_door.end_round(round, State.PUBLISHED)
    time.sleep(0.25)
    assert any_door.put(person, round, sound()).status_code == 202
    assert problem(any_door.put(person, round, sound(1))) == "round-closed"
    assert any_door.count(Update, round=round) == 1


def test_the_same_update_many_times_at_once_counts_once(any_door: Door) -> None:
    round, person = any_door.open_round(), any_door.enrol()
    answers = at_once([partial(any_door.put, person, round, sound())] * 16)
    assert [answer.status_code for answer in answers] == [202] * 16
    assert len({answer.content for answer in answers}) == 1
    [kept] = any_door.rows(Update, round=round)
    assert any_door.count(Octets, update=kept.id) == any_door.rows(Round, id=round)[0].received == 1


def test_of_different_updates_at_once_one_is_received(any_door: Door) -> None:
    round, person = any_door.open_round(), any_door.enrol()
    answers = at_once([partial(any_door.put, person, round, sound(number)) for number in range(8)])
    received = [answer for answer in answers if answer.status_code == 202]
    assert len(received) == 1
    assert {problem(answer) for answer in answers if answer.status_code != 202} == {"already-sent"}
    [kept] = any_door.rows(Update, round=round)
    assert kept.sha256.hex() == received[0].json()["sha256"]


def test_another_update_in_the_same_round_is_refused_and_the_first_kept(door: Door, person: Person) -> None:
    round = door.open_round()
    assert door.put(person, round, sound(1)).status_code == 202
    assert problem(door.put(person, round, sound(2))) == "already-sent"
    # Half the octets of the same step are another update, too.
    assert problem(door.put(person, round, sound(1)[: len(sound()) // 2], DIFFERENCE)) in ("already-sent", "not-finite")
    [kept] = door.rows(Update, participant=person.id)
    assert digest_of(door.rows(Octets, update=kept.id)[0].data) == digest_of(sound(1))


def test_a_participant_may_send_to_each_of_two_rounds(door: Door, person: Person) -> None:
    rounds = []
    for _ in range(2):
        rounds.append(door.open_round())
        assert door.put(person, rounds[-1], sound()).status_code == 202
    assert [one.round for one in door.rows(Update, participant=person.id)] == rounds


def test_rubbish_many_times_at_once_is_noted_once(any_door: Door) -> None:
    round, person = any_door.open_round(), any_door.enrol()
    for _ in range(3):
        answers = at_once([partial(any_door.put, person, round, b"rubbish")] * 12)
        assert [problem(answer) for answer in answers] == ["wrong-length"] * 12
        assert any_door.count(Refusal, round=round, participant=person.id) == 1
        round = any_door.open_round()


def test_many_may_enrol_at_once_the_very_first_time(any_door: Door) -> None:
    """Where nobody from this address has been counted before."""
    before = any_door.count(Participant)
    for number in range(4):
        headers = {"X-Forwarded-For": f"198.51.100.{number}"}
        wish = partial(any_door.http.post, "/api/v1/participants", json={}, headers=headers)
        answers = at_once([wish] * 10)
        assert [answer.status_code for answer in answers] == [201] * 10
    assert any_door.count(Participant) == before + 40


def test_one_invitation_used_many_times_at_once_is_one_participant(any_door: Door) -> None:
    code = any_door.invite()
    wish = partial(any_door.http.post, "/api/v1/participants", json={"invitation": code})
    answers: list[httpx.Response] = at_once([wish] * 8)
    assert {answer.status_code for answer in answers} <= {201, 503}
    people = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    assert len(people) == 1
    assert any_door.count(Participant, id=people.pop()) == 1


def test_leaving_while_asking_is_no_failure(any_door: Door) -> None:
    """Whatever comes first, the other is answered in order."""
    for _ in range(5):
        person = any_door.enrol()
        ask = partial(any_door.http.get, "/api/v1/me/export", headers=person.headers)
        leave = partial(any_door.http.delete, "/api/v1/me", headers=person.headers)
        answers = at_once([ask, leave] * 4)
        assert {answer.status_code for answer in answers} <= {200, 204, 401}
        assert any_door.count(Participant, id=person.id) == 0


def test_whoever_left_at_one_server_is_a_stranger_at_its_twin(doors: Doors, door: Door) -> None:
    """Two processes on one database: what one of them remembers of a moment ago is no failure."""
    (doors.folder / "twin").symlink_to(doors.folder / "common")
    with doors.open("twin") as twin:
        person, round = door.enrol(), door.open_round()
        assert door.http.get("/api/v1/me/export", headers=person.headers).status_code == 200
        assert twin.http.delete("/api/v1/me", headers=person.headers).status_code == 204
        assert problem(door.http.get("/api/v1/me/export", headers=person.headers)) == "not-enrolled"
        assert problem(door.put(person, round, sound())) == "not-enrolled"
        assert door.put(person, round, b"rubbish").status_code in (401, 422)
        assert door.http.delete("/api/v1/me", headers=person.headers).status_code in (204, 401)
        assert nothing_of(door, person)
