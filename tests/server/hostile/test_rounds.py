"""An update counts once, in the round it was sent to, and only while that round is open."""

from datetime import timedelta
from functools import partial

import httpx
import pytest

from eitr.model.update_encoding import DIFFERENCE
from eitr.server.db.tables import ParticipantRow, RefusalRow, RoundRow, RoundStatus, UpdateRow
from eitr.server.domain.clock import now
from tests.server.hostile.conftest import (
    Person,
    RunningServer,
    ServerStarter,
    at_once,
    begin_update,
    digest_of,
    listen,
    problem,
    sound,
)
from tests.server.waiting import until

ENDED = [
    RoundStatus.CLOSING,
    RoundStatus.AGGREGATING,
    RoundStatus.PUBLISHED,
    RoundStatus.QUARANTINED,
    RoundStatus.ABANDONED,
]


def nothing_of(server: RunningServer, person: Person) -> bool:
    """Say whether no trace of an update is there."""
    return server.count(UpdateRow, participant=person.id) == server.count(RefusalRow, participant=person.id) == 0


def test_there_is_no_round_to_send_to_when_none_is_open(server: RunningServer) -> None:
    round = server.open_round()
    server.end_round(round, RoundStatus.ABANDONED)
    answer = server.http.get("/api/v2/rounds/current")
    assert problem(answer) == "no-round"
    assert int(answer.headers["Retry-After"]) > 0


def test_a_round_that_does_not_exist_is_unknown(server: RunningServer, person: Person) -> None:
    assert problem(server.put(person, server.open_round() + 1000, sound())) == "unknown-round"
    assert nothing_of(server, person)


@pytest.mark.parametrize("status", ENDED)
def test_a_round_that_is_no_longer_open_takes_nothing(
    server: RunningServer, person: Person, status: RoundStatus
) -> None:
    round = server.open_round()
    server.end_round(round, status)
    assert problem(server.put(person, round, sound())) == "round-closed"
    # For a moment the server may remember that the round was open; then it looks at the length first.
    until(lambda: problem(server.put(person, round, b"invalid")) == "round-closed")
    assert nothing_of(server, person)


def test_an_update_after_the_deadline_is_late_although_the_round_was_not_closed_yet(
    server: RunningServer, person: Person
) -> None:
    round = server.open_round(deadline=now() - timedelta(seconds=1))
    assert problem(server.put(person, round, sound())) == "round-closed"
    assert problem(server.http.get("/api/v2/rounds/current")) == "no-round"
    assert nothing_of(server, person)


def test_an_update_to_the_last_round_is_stale(server: RunningServer, person: Person) -> None:
    last = server.open_round()
    current = server.open_round()
    assert problem(server.put(person, last, sound())) == "round-closed"
    assert server.put(person, current, sound()).status_code == 202
    assert [one.round for one in server.rows(UpdateRow, participant=person.id)] == [current]


def test_a_round_that_is_full_takes_no_more(server: RunningServer) -> None:
    round = server.open_round(minimum=1, quorum=1, maximum=2)
    people = [server.enrol() for _ in range(3)]
    statuses = [server.put(person, round, sound()).status_code for person in people]
    assert statuses == [202, 202, 409]
    assert nothing_of(server, people[2])


def test_many_at_once_do_not_overfill_a_round(any_server: RunningServer) -> None:
    round = any_server.open_round(minimum=1, quorum=1, maximum=3)
    people = [any_server.enrol() for _ in range(8)]
    answers = at_once([partial(any_server.put, person, round, sound()) for person in people])
    assert sorted(answer.status_code for answer in answers) == [202] * 3 + [409] * 5
    assert {problem(answer) for answer in answers if answer.status_code == 409} == {"round-closed"}
    assert any_server.count(UpdateRow, round=round) == any_server.rows(RoundRow, id=round)[0].received == 3


@pytest.mark.parametrize("status", [RoundStatus.CLOSING, RoundStatus.PUBLISHED])
def test_a_round_that_closes_while_an_update_arrives_does_not_get_it(
    any_server: RunningServer, status: RoundStatus
) -> None:
    round, person, data = any_server.open_round(), any_server.enrol(), sound()
    with begin_update(any_server, person, round, data, missing=1000) as connection:
        any_server.end_round(round, status)
        connection.sendall(data[-1000:])
        heard = listen(connection)
    assert [problem(one) for one in heard.answers] == ["round-closed"]
    assert nothing_of(any_server, person)
    assert any_server.rows(RoundRow, id=round)[0].received == 0


def test_whoever_leaves_while_their_update_arrives_leaves_nothing_behind(any_server: RunningServer) -> None:
    round, person, data = any_server.open_round(), any_server.enrol(), sound()
    with begin_update(any_server, person, round, data, missing=1000) as connection:
        assert any_server.http.delete("/api/v2/me", headers=person.headers).status_code == 204
        connection.sendall(data[-1000:])
        heard = listen(connection)
    assert [problem(one) for one in heard.answers] == ["not-enrolled"]
    assert nothing_of(any_server, person)
    assert any_server.rows(RoundRow, id=round)[0].received == 0


def test_the_same_update_again_is_answered_alike_and_counts_once(any_server: RunningServer) -> None:
    round, person = any_server.open_round(), any_server.enrol()
    first, second = (any_server.put(person, round, sound()) for _ in range(2))
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert first.status_code == 202
    assert any_server.count(UpdateRow, round=round) == any_server.rows(RoundRow, id=round)[0].received == 1


def test_the_same_update_again_is_answered_alike_even_after_the_round_ended(any_server: RunningServer) -> None:
    round, person = any_server.open_round(), any_server.enrol()
    assert any_server.put(person, round, sound()).status_code == 202
    any_server.end_round(round, RoundStatus.PUBLISHED)
    assert any_server.put(person, round, sound()).status_code == 202
    # For a moment the server may remember that the round was open.
    until(lambda: problem(any_server.put(person, round, sound(1))) == "round-closed")
    assert any_server.put(person, round, sound()).status_code == 202
    assert any_server.count(UpdateRow, round=round) == 1


def test_the_same_update_many_times_at_once_counts_once(any_server: RunningServer) -> None:
    round, person = any_server.open_round(), any_server.enrol()
    answers = at_once([partial(any_server.put, person, round, sound())] * 16)
    assert [answer.status_code for answer in answers] == [202] * 16
    assert len({answer.content for answer in answers}) == 1
    [kept] = any_server.rows(UpdateRow, round=round)
    assert any_server.rows(RoundRow, id=round)[0].received == 1
    assert any_server.stored(kept) == sound()


def test_of_different_updates_at_once_one_is_received(any_server: RunningServer) -> None:
    round, person = any_server.open_round(), any_server.enrol()
    answers = at_once([partial(any_server.put, person, round, sound(number)) for number in range(8)])
    received = [answer for answer in answers if answer.status_code == 202]
    assert len(received) == 1
    assert {problem(answer) for answer in answers if answer.status_code != 202} == {"already-sent"}
    [kept] = any_server.rows(UpdateRow, round=round)
    assert kept.sha256.hex() == received[0].json()["sha256"]


def test_another_update_in_the_same_round_is_refused_and_the_first_kept(server: RunningServer, person: Person) -> None:
    round = server.open_round()
    assert server.put(person, round, sound(1)).status_code == 202
    assert problem(server.put(person, round, sound(2))) == "already-sent"
    # Half the bytes of the same step are another update, too.
    assert problem(server.put(person, round, sound(1)[: len(sound()) // 2], DIFFERENCE)) in (
        "already-sent",
        "not-finite",
    )
    [kept] = server.rows(UpdateRow, participant=person.id)
    assert digest_of(server.stored(kept)) == digest_of(sound(1))


def test_a_participant_may_send_to_each_of_two_rounds(server: RunningServer, person: Person) -> None:
    rounds = []
    for _ in range(2):
        rounds.append(server.open_round())
        assert server.put(person, rounds[-1], sound()).status_code == 202
    assert [one.round for one in server.rows(UpdateRow, participant=person.id)] == rounds


def test_invalid_updates_many_times_at_once_are_noted_once(any_server: RunningServer) -> None:
    round, person = any_server.open_round(), any_server.enrol()
    for _ in range(3):
        answers = at_once([partial(any_server.put, person, round, b"invalid")] * 12)
        assert [problem(answer) for answer in answers] == ["wrong-length"] * 12
        assert any_server.count(RefusalRow, round=round, participant=person.id) == 1
        round = any_server.open_round()


def test_many_may_enrol_at_once_the_very_first_time(any_server: RunningServer) -> None:
    """Where nobody from this address has been counted before."""
    before = any_server.count(ParticipantRow)
    for number in range(4):
        headers = {"X-Forwarded-For": f"198.51.100.{number}"}
        wish = partial(any_server.http.post, "/api/v2/participants", json={}, headers=headers)
        answers = at_once([wish] * 10)
        assert [answer.status_code for answer in answers] == [201] * 10
    assert any_server.count(ParticipantRow) == before + 40


def test_one_invitation_used_many_times_at_once_is_one_participant(any_server: RunningServer) -> None:
    code = any_server.invite()
    wish = partial(any_server.http.post, "/api/v2/participants", json={"invitation": code})
    answers: list[httpx.Response] = at_once([wish] * 8)
    assert {answer.status_code for answer in answers} <= {201, 503}
    people = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    assert len(people) == 1
    assert any_server.count(ParticipantRow, id=people.pop()) == 1


def test_leaving_while_asking_is_no_failure(any_server: RunningServer) -> None:
    """Whatever comes first, the other is answered in order."""
    for _ in range(5):
        person = any_server.enrol()
        ask = partial(any_server.http.get, "/api/v2/me/export", headers=person.headers)
        leave = partial(any_server.http.delete, "/api/v2/me", headers=person.headers)
        answers = at_once([ask, leave] * 4)
        assert {answer.status_code for answer in answers} <= {200, 204, 401}
        assert any_server.count(ParticipantRow, id=person.id) == 0


def test_whoever_left_at_one_server_is_a_stranger_at_its_twin(starter: ServerStarter, server: RunningServer) -> None:
    """Two processes on one database: what one of them remembers of a moment ago is no failure."""
    (starter.folder / "twin").symlink_to(starter.folder / "common")
    with starter.open("twin") as twin:
        person, round = server.enrol(), server.open_round()
        assert server.http.get("/api/v2/me/export", headers=person.headers).status_code == 200
        assert twin.http.delete("/api/v2/me", headers=person.headers).status_code == 204
        assert problem(server.http.get("/api/v2/me/export", headers=person.headers)) == "not-enrolled"
        assert problem(server.put(person, round, sound())) == "not-enrolled"
        assert server.put(person, round, b"invalid").status_code in (401, 422)
        assert server.http.delete("/api/v2/me", headers=person.headers).status_code in (204, 401)
        assert nothing_of(server, person)
