"""Nobody passes for somebody else: forged, stolen, stale and odd secrets."""

import hmac
import inspect
from typing import Any

import pytest

from eitr.server.api import authentication
from eitr.server.db.tables import ParticipantRow, RefusalRow, UpdateRow
from eitr.server.domain import keys
from eitr.server.domain.participants import Participants
from tests.server.cases import naming
from tests.server.hostile.conftest import Person, RunningServer, problem, sound


def export(server: RunningServer, authorization: str | bytes) -> str:
    """Ask for one's own data; return "ok" or the kind of problem."""
    headers: Any = [("Authorization", authorization)]
    answer = server.http.get("/api/v2/me/export", headers=headers)
    if answer.status_code == 200:
        return "ok"
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    return problem(answer)


@pytest.fixture(scope="module")
def victim(server: RunningServer) -> Person:
    """Somebody who was there a moment ago."""
    person = server.enrol()
    assert export(server, f"Bearer {person.id}.{person.secret}") == "ok"
    return person


FORGERIES = {
    "another's secret": "Bearer {victim.id}.{mine.secret}",
    "another's id": "Bearer {mine.id}.{victim.secret}",
    "no secret": "Bearer {victim.id}.",
    "no dot": "Bearer {victim.id}{victim.secret}",
    "no id": "Bearer .{victim.secret}",
    "id alone": "Bearer {victim.id}",
    "nothing": "Bearer",
    "a dot": "Bearer .",
    "truncated": "Bearer {victim.id}.{short}",
    "longer": "Bearer {victim.id}.{victim.secret}A",
    "case of the secret": "Bearer {victim.id}.{swapped}",
    "case of the id": "Bearer {upper}.{victim.secret}",
    "id twice": "Bearer {victim.id}.{victim.id}.{victim.secret}",
    "quoted": 'Bearer "{victim.id}.{victim.secret}"',
    "list": "Bearer {victim.id}.{victim.secret},{mine.id}.{mine.secret}",
    "padded": "Bearer {victim.id}.{victim.secret}=",
    "basic": "Basic {victim.id}.{victim.secret}",
    "no scheme": "{victim.id}.{victim.secret}",
    "very long": "Bearer {victim.id}.{long}",
    "short id": "Bearer a.{victim.secret}",
    "id with dashes": "Bearer {dashes}.{victim.secret}",
    "pattern": "Bearer %.{victim.secret}",
    "pattern of the id's length": "Bearer {pattern}.{victim.secret}",
    "sql in the id": "Bearer ' OR '1'='1.{victim.secret}",
    "sql in the secret": "Bearer {victim.id}.' OR '1'='1",
    "template": "Bearer {{{{7*7}}}}.{victim.secret}",
    "null": "Bearer null.null",
    "hash": "Bearer {victim.id}.{hash}",
}


def test_a_forged_secret_opens_nothing(server: RunningServer, victim: Person) -> None:
    for forged in FORGERIES.values():
        with naming(forged):
            person = server.enrol()
            authorization = forged.format(
                victim=victim,
                mine=person,
                short=victim.secret[:-1],
                swapped=victim.secret.swapcase(),
                upper=victim.id.upper(),
                long="A" * 8000,
                dashes=f"{victim.id[:8]}-{victim.id[8:12]}-{victim.id[12:16]}-{victim.id[16:20]}-{victim.id[20:]}",
                pattern="_" * 32,
                hash=keys.secret_hash(victim.secret).hex(),
            )
            assert export(server, authorization) == "not-enrolled"


def test_a_secret_of_strange_letters_opens_nothing(server: RunningServer, victim: Person) -> None:
    for secret in ["ä", "\u0130", "４２", "\x80\xff"]:
        with naming(secret):
            assert export(server, f"Bearer {victim.id}.{secret}".encode()) == "not-enrolled"
            assert export(server, f"Bearer {victim.id}.{victim.secret}{secret}".encode()) == "not-enrolled"


def test_no_secret_at_all_opens_nothing_and_says_what_is_wanted(server: RunningServer) -> None:
    paths = (
        ("GET", "/api/v2/me/export"),
        ("GET", "/api/v2/me/rounds"),
        ("DELETE", "/api/v2/me"),
        ("PUT", "/api/v2/rounds/1/update"),
    )
    for method, path in paths:
        answer = server.http.request(method, path, headers={"Content-Digest": "x"})
        assert problem(answer) == "not-enrolled"
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_the_answer_does_not_tell_whether_a_participant_exists(server: RunningServer, victim: Person) -> None:
    answers = [
        server.http.get("/api/v2/me/export", headers={"Authorization": f"Bearer {id}.{'A' * 43}"})
        for id in (victim.id, "0" * 32)
    ]
    one, other = (({**answer.headers, "date": ""}, answer.status_code, answer.content) for answer in answers)
    assert one == other


def test_of_two_authorizations_the_second_does_not_help(server: RunningServer, victim: Person, person: Person) -> None:
    wrong = ("Authorization", f"Bearer {victim.id}.{person.secret}")
    right = ("Authorization", person.headers["Authorization"])
    answer = server.http.get("/api/v2/me/export", headers=[wrong, right])
    assert answer.status_code == 401 or answer.json()["participant"] == person.id


def test_an_update_with_a_forged_secret_is_neither_stored_nor_held_against_its_owner(
    server: RunningServer, victim: Person, person: Person
) -> None:
    round = server.open_round()
    forged = Person(victim.id, person.secret)
    assert problem(server.put(forged, round, sound())) == "not-enrolled"
    assert problem(server.put(forged, round, b"invalid")) == "not-enrolled"
    assert server.count(UpdateRow, round=round) == server.count(RefusalRow, round=round) == 0


def test_coming_back_with_the_same_invitation_ends_the_old_secret(server: RunningServer) -> None:
    code = server.invite()
    before = server.enrol(code)
    assert export(server, before.headers["Authorization"]) == "ok"
    after = server.enrol(code)
    assert after.id == before.id
    assert after.secret != before.secret
    assert export(server, after.headers["Authorization"]) == "ok"
    assert export(server, before.headers["Authorization"]) == "not-enrolled"


def test_whoever_left_is_a_stranger_at_once(server: RunningServer, person: Person) -> None:
    round = server.open_round()
    assert server.put(person, round, sound()).status_code == 202
    assert server.http.delete("/api/v2/me", headers=person.headers).status_code == 204
    assert export(server, person.headers["Authorization"]) == "not-enrolled"
    assert problem(server.put(person, round, sound())) == "not-enrolled"
    assert problem(server.http.delete("/api/v2/me", headers=person.headers)) == "not-enrolled"
    assert server.count(ParticipantRow, id=person.id) == server.count(UpdateRow, participant=person.id) == 0


def test_a_wrong_secret_does_not_become_right_by_asking_often(
    server: RunningServer, victim: Person, person: Person
) -> None:
    wrong = f"Bearer {victim.id}.{person.secret}"
    right = victim.headers["Authorization"]
    assert [export(server, one) for one in [wrong, right] * 10] == ["not-enrolled", "ok"] * 10


def test_only_a_hash_of_a_secret_is_kept(server: RunningServer, person: Person) -> None:
    [kept] = server.rows(ParticipantRow, id=person.id)
    assert kept.secret_hash == keys.secret_hash(person.secret)
    assert person.secret.encode() not in kept.secret_hash


def test_secrets_are_compared_in_constant_time_wherever_they_are(
    server: RunningServer, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every comparison goes through `hmac.compare_digest`, of hashes of one length, also for nobody's id."""
    compared: list[tuple[int, int]] = []

    def spied(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", spied)
    participants: Participants = server.participants
    assert participants.known(person.id, person.secret)
    assert not participants.known(person.id, "wrong")
    assert not participants.known("0" * 32, person.secret)
    assert not participants.known("0" * 32, "")
    assert compared == [(32, 32)] * 4
    for source in (inspect.getsource(authentication), inspect.getsource(Participants.known)):
        assert "secret ==" not in source
        assert "== secret" not in source
        assert "secret_hash ==" not in source
