"""Every answer carries the headers of security, also that of a server in trouble; and logs stay private."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator

import httpx
import pytest

from eitr.model.update_encoding import PARAMETERS
from tests.server.hostile.conftest import (
    Person,
    RunningServer,
    ServerStarter,
    digest_of,
    is_guarded,
    logged,
    problem,
    sound,
    told,
)


def _answers(server: RunningServer, person: Person) -> dict[str, httpx.Response]:
    round = server.open_round()
    ask = server.http.request
    return {
        "200": ask("GET", "/api/v2/model"),
        "200 bytes": ask("GET", "/api/v2/models/1/weights"),
        "200 plain": ask("GET", "/healthz"),
        "200 metrics": ask("GET", "/metrics"),
        "200 openapi": ask("GET", "/api/v2/openapi.json"),
        "201": ask("POST", "/api/v2/participants"),
        "202": server.put(person, round, sound()),
        "304": ask("GET", "/api/v2/model", headers={"If-None-Match": "*"}),
        "400": ask("POST", "/api/v2/participants", content=b"{"),
        "401": ask("GET", "/api/v2/me/export"),
        "403": ask("POST", "/api/v2/participants", json={"invitation": "unknown"}),
        "404": ask("GET", "/nothing"),
        "404 round": server.put(person, 2**31 - 1, b""),
        "405": ask("DELETE", "/api/v2/model"),
        "409": server.put(person, round, sound(1)),
        "413": ask("POST", "/api/v2/participants", content=bytes(70_000)),
        "415": server.put(person, round, b"", "text/html"),
        "422": server.put(person, round, b""),
        "204": ask("DELETE", "/api/v2/me", headers=person.headers),
    }


def test_every_answer_carries_the_headers_of_security(server: RunningServer, person: Person) -> None:
    for name, answer in _answers(server, person).items():
        assert answer.status_code == int(name[:3]), answer.text
        assert is_guarded(answer.headers), name
        assert "server" not in answer.headers
        if answer.status_code >= 400:
            problem(answer)


def test_what_is_private_is_not_kept_by_caches(server: RunningServer, person: Person) -> None:
    private = [
        server.http.get("/api/v2/me/export", headers=person.headers),
        server.http.get("/api/v2/me/rounds", headers=person.headers),
        server.http.post("/api/v2/participants", json={}),
    ]
    for answer in private:
        assert answer.headers.get("Cache-Control") == "no-store"


@pytest.fixture(scope="module")
def broken(starter: ServerStarter) -> Iterator[tuple[RunningServer, Person]]:
    """A server that some of its tables are gone from, and that has invalid values in another."""
    with starter.open("broken", errors_expected=True) as server:
        person = server.enrol()
        server.open_round()
        with contextlib.closing(sqlite3.connect(starter.folder / "broken" / "eitr.db")) as connection:
            for table in ("updates", "vocabularies", "limits"):
                connection.execute(f"DROP TABLE {table}")
            connection.execute("UPDATE rounds SET deadline = 'garbage'")
            connection.commit()
        yield server, person


FAILING = [
    ("GET", "/api/v2/me/export"),
    ("GET", "/api/v2/me/rounds"),
    ("GET", "/api/v2/models/1/vocabulary"),
    ("GET", "/api/v2/rounds/current"),
    ("POST", "/api/v2/participants"),
    ("PUT", "/api/v2/rounds/1/update"),
    ("DELETE", "/api/v2/me"),
]


def fail(server: RunningServer, person: Person, method: str, path: str) -> httpx.Response:
    """Ask for what cannot be answered."""
    headers = {**person.headers, "Content-Digest": digest_of(sound()), "Content-Type": PARAMETERS}
    return server.http.request(method, path, headers={} if method == "POST" else headers)


@pytest.mark.parametrize(("method", "path"), FAILING)
def test_a_failure_is_told_by_a_guarded_problem_that_gives_nothing_away(
    broken: tuple[RunningServer, Person], method: str, path: str
) -> None:
    server, person = broken
    answer = fail(server, person, method, path)
    assert problem(answer) in ("failed", "busy")
    assert is_guarded(answer.headers)
    for word in ("sqlite", "Traceback", "SELECT", "no such table", person.id, "src/eitr"):
        assert word not in answer.text


def test_what_nobody_foresaw_is_a_failure_of_the_server(broken: tuple[RunningServer, Person]) -> None:
    answer = fail(*broken, "GET", "/api/v2/rounds/current")
    assert problem(answer) == "failed"
    assert is_guarded(answer.headers)


@pytest.mark.parametrize(("method", "path"), FAILING)
def test_a_failure_is_logged_once_and_names_nobody(
    broken: tuple[RunningServer, Person], method: str, path: str
) -> None:
    server, person = broken
    before = len(logged(server.running.log).splitlines())
    assert fail(server, person, method, path).status_code in (500, 503)
    assert server.healthy()
    new = logged(server.running.log).splitlines()[before:]
    assert told("\n".join(new)) == []
    assert [json.loads(line)["message"] for line in new] in (["a request failed"], ["the database failed"])


def test_logs_are_lines_of_json_without_anybody_in_them(strict: RunningServer) -> None:
    code = strict.invite()
    person = strict.enrol(code)
    private = ["198.51.100.77", "private", code, person.id, person.secret]
    strict.http.get("/api/v2/model", headers={"X-Forwarded-For": private[0], "User-Agent": "private agent"})
    strict.say(b"GET /private-\xff HTTP/1.1\r\n\r\n")
    assert strict.put(person, strict.open_round(), sound()).status_code == 202
    assert strict.http.get("/private").status_code == 404
    log = logged(strict.running.log)
    lines = [json.loads(line) for line in log.splitlines()]
    assert lines
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    for word in private:
        assert word not in log
