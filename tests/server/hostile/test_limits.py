"""How often one address may ask, and who says which address it is."""

from collections.abc import Callable, Iterator
from functools import partial

import httpx
import pytest

from eitr.server.db.tables import LimitRow, ParticipantRow
from eitr.server.domain.limits import WRONG_CODES
from tests.server.cases import naming
from tests.server.hostile.conftest import RunningServer, ServerStarter, problem

ENROLMENTS, REQUESTS = 3, 30


@pytest.fixture(scope="module")
def limited(starter: ServerStarter) -> Iterator[RunningServer]:
    """A server with low limits, behind a proxy on this machine."""
    with starter.open("limited", requests_per_minute=REQUESTS, enrolments_per_hour=ENROLMENTS) as found:
        yield found


@pytest.fixture(scope="module")
def unbelieving(starter: ServerStarter) -> Iterator[RunningServer]:
    """A server whose proxy is elsewhere."""
    with starter.open("unbelieving", requests_per_minute=REQUESTS, proxies="192.0.2.1") as found:
        yield found


def test_enrolments_from_one_address_are_limited_and_others_are_not_affected(limited: RunningServer) -> None:
    def enrol(address: str) -> tuple[int, str | None]:
        answer = limited.http.post("/api/v2/participants", json={}, headers={"X-Forwarded-For": address})
        if answer.status_code == 429:
            assert problem(answer) == "too-many-requests"
        return answer.status_code, answer.headers.get("Retry-After")

    limited.private |= {"198.51.100.1", "198.51.100.2"}
    before = limited.count(ParticipantRow)
    answers = [enrol("198.51.100.1") for _ in range(ENROLMENTS + 2)]
    assert [status for status, _ in answers] == [201] * ENROLMENTS + [429] * 2
    assert all(wait is not None and 0 < int(wait) <= 3600 for _, wait in answers[ENROLMENTS:])
    assert enrol("198.51.100.2")[0] == 201
    assert limited.count(ParticipantRow) == before + ENROLMENTS + 1


def test_one_household_is_one_address_in_the_new_internet(limited: RunningServer) -> None:
    statuses = [
        limited.http.post(
            "/api/v2/participants", json={}, headers={"X-Forwarded-For": f"2001:db8:1:1::{number}"}
        ).status_code
        for number in range(ENROLMENTS + 1)
    ]
    assert statuses == [201] * ENROLMENTS + [429]
    mapped = {"X-Forwarded-For": "2001:db8:1:2::1"}
    assert limited.http.post("/api/v2/participants", json={}, headers=mapped).status_code == 201


def test_addresses_are_kept_as_keyed_hashes(limited: RunningServer) -> None:
    limited.http.post("/api/v2/participants", json={}, headers={"X-Forwarded-For": "198.51.100.3"})
    kept = limited.rows(LimitRow)
    assert kept
    assert all(len(one.key) == 32 and b"198.51" not in one.key for one in kept)


def test_thirty_invited_people_behind_one_address_enrol_though_somebody_there_types_nonsense(
    strict: RunningServer,
) -> None:
    headers = {"X-Forwarded-For": "198.51.100.4"}
    strict.private.add("198.51.100.4")

    def enrol(code: str) -> httpx.Response:
        return strict.http.post("/api/v2/participants", json={"invitation": code}, headers=headers)

    slugs = [problem(enrol(f"guess {number}")) for number in range(WRONG_CODES + 5)]
    assert slugs == ["invitation-needed"] * WRONG_CODES + ["too-many-requests"] * 5
    codes = [strict.invite() for _ in range(30)]
    people = [enrol(code) for code in codes]
    assert {answer.status_code for answer in people} == {201}
    strict.private |= {answer.json()["secret"] for answer in people}
    assert enrol("guess").headers["Retry-After"]
    elsewhere = strict.http.post("/api/v2/participants", json={"invitation": "guess"})
    assert problem(elsewhere) == "invitation-needed"


def test_an_invitation_does_not_count_against_open_enrolment(limited: RunningServer) -> None:
    headers = {"X-Forwarded-For": "198.51.100.14"}
    for code in [limited.invite() for _ in range(ENROLMENTS + 1)]:
        answer = limited.http.post("/api/v2/participants", json={"invitation": code}, headers=headers)
        assert answer.status_code == 201
    assert limited.http.post("/api/v2/participants", json={}, headers=headers).status_code == 201


def refused_after(ask: Callable[[int], httpx.Response]) -> tuple[int, httpx.Response]:
    """Ask until a request is refused; return how many were answered before, and the refusal.

    On a slow machine more than the limit are answered, because the limit is refilled while the test runs.
    """
    for number in range(50 * REQUESTS):
        answer = ask(number)
        if answer.status_code == 429:
            return number, answer
    raise AssertionError("no request was refused")


def test_requests_from_one_address_are_limited_before_anything_is_looked_at(limited: RunningServer) -> None:
    def ask(path: str, _number: int) -> httpx.Response:
        return limited.http.get(path, headers={"X-Forwarded-For": "198.51.100.5"})

    for path in ("/api/v2/model", "/nothing", "/api/v2/me/export"):
        answered, refusal = refused_after(partial(ask, path))
        assert answered >= REQUESTS or path != "/api/v2/model"
        assert problem(refusal) == "too-many-requests"
        assert int(refusal.headers["Retry-After"]) > 0
    elsewhere = {"X-Forwarded-For": "198.51.100.6"}
    assert limited.http.get("/api/v2/model", headers=elsewhere).status_code == 200


def test_the_address_that_the_proxy_saw_counts_and_not_what_the_client_made_up(limited: RunningServer) -> None:
    def ask(number: int) -> httpx.Response:
        claimed = f"203.0.113.{number % 256}, 198.51.100.7"
        return limited.http.get("/api/v2/model", headers={"X-Forwarded-For": claimed})

    assert refused_after(ask)[0] >= REQUESTS


def test_those_who_watch_over_the_server_are_not_limited(limited: RunningServer) -> None:
    proxied = {"X-Forwarded-For": "198.51.100.8"}
    for path, headers in (("/healthz", proxied), ("/readyz", proxied), ("/metrics", {})):
        assert {limited.http.get(path, headers=headers).status_code for _ in range(REQUESTS + 10)} == {200}


def test_an_odd_address_is_no_failure(limited: RunningServer) -> None:
    for address in ["", "?", "no address", "1.2.3.4.5", "::", "a" * 5000, "127.0.0.1", ",,,"]:
        with naming(address):
            answer = limited.http.get("/api/v2/model", headers={"X-Forwarded-For": address})
            assert answer.status_code in (200, 429)


def test_only_the_configured_proxy_says_where_a_request_comes_from(unbelieving: RunningServer) -> None:
    def ask(number: int) -> httpx.Response:
        return unbelieving.http.get("/api/v2/model", headers={"X-Forwarded-For": f"198.51.100.{number % 256}"})

    assert refused_after(ask)[0] >= REQUESTS


def test_without_an_invitation_nobody_takes_part_where_one_is_needed(strict: RunningServer) -> None:
    before, code = strict.count(ParticipantRow), strict.invite()
    for wish in ({}, None, {"invitation": None}, {"invitation": "wrong"}, {"invitation": code.swapcase()}):
        assert problem(strict.http.post("/api/v2/participants", json=wish)) == "invitation-needed"
    assert strict.count(ParticipantRow) == before
    assert strict.enrol(code).id
    assert strict.count(ParticipantRow) == before + 1
