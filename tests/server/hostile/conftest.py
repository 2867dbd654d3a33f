"""A real server behind a real socket, and hostile clients."""

import base64
import contextlib
import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import func, select

from eitr.model.classifier import Classifier
from eitr.model.update_encoding import PARAMETERS
from eitr.server.db.connection import Database
from eitr.server.db.tables import RoundRow, RoundStatus, UpdateRow
from eitr.server.domain.keys import Key
from eitr.server.domain.participants import Participants
from eitr.server.domain.rounds import Rounds, ending, moved
from eitr.server.settings import read_settings
from eitr.server.web.problems import KINDS
from tests.server.conftest import new_postgres_database
from tests.server.process import Running
from tests.server.stored_updates import stored_bytes
from tests.server.waiting import LONGEST_SECONDS

PATIENT_SECONDS, HASTY_SECONDS = 600.0, 1.0
"""How long an update may take to arrive: longer than any test, or so short that tests can wait for the end of it."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
SECURITY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""What every answer carries, besides a Content-Security-Policy."""


@dataclass(frozen=True)
class Person:
    """Somebody who enrolled."""

    id: str
    secret: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.id}.{self.secret}"}


@dataclass(frozen=True)
class Answer:
    """An answer as it came over a socket."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def slug(self) -> str:
        return str(json.loads(self.body)["type"]).removeprefix("/problems/")


@dataclass(frozen=True)
class Heard:
    """Everything that came until the server closed the connection, or fell silent."""

    data: bytes
    closed: bool

    @property
    def answers(self) -> list[Answer]:
        found, rest = [], self.data
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            assert re.fullmatch(r"HTTP/1\.1 \d{3} .*", lines[0]), lines[0]
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
            status, length = int(lines[0].split()[1]), int(headers.get("content-length", "0"))
            found.append(Answer(status, headers, rest[:length]))
            rest = rest[length:]
        return found

    @property
    def statuses(self) -> list[int]:
        return [one.status for one in self.answers]


class RunningServer:
    """A running server without a worker: rounds open and end when a test says so."""

    def __init__(self, running: Running, database: Database, folder: Path) -> None:
        self.running, self.database, self.folder = running, database, folder
        # Updates of all layers are the largest: what holds for them holds for those of the last layers.
        self.rounds = Rounds(database, read_settings(folder=folder, training="paper"))
        self.participants = Participants(database, Key.of(folder))
        self.http = httpx.Client(base_url=running.address, timeout=300)
        self.port = int(running.address.rpartition(":")[2])
        self.private: set[str] = set()
        """What no log may hold."""

    def close(self) -> None:
        self.http.close()
        self.database.close()

    def enrol(self, invitation: str | None = None) -> Person:
        answer = self.http.post("/api/v2/participants", json={"invitation": invitation} if invitation else {})
        assert answer.status_code == 201, answer.text
        person = Person(**answer.json())
        self.private |= {person.id, person.secret}
        return person

    def invite(self) -> str:
        code = self.participants.invite("")
        self.private.add(code)
        return code

    def open_round(self, **changes: Any) -> int:
        """End what is under way, and open a round."""
        with self.database.writing() as session:
            for found in session.scalars(select(RoundRow).where(RoundRow.under_way.is_(True))):
                found.status = RoundStatus.ABANDONED
                for name, value in ending().items():
                    setattr(found, name, value)
        id = self.rounds.open()
        assert id is not None
        if changes:
            with self.database.writing() as session:
                for name, value in changes.items():
                    setattr(session.get_one(RoundRow, id), name, value)
        return id

    def end_round(self, id: int, status: RoundStatus) -> None:
        with self.database.writing() as session:
            assert moved(session, id, RoundStatus.OPEN, status, **(ending() if status.final else {}))

    def put(
        self,
        who: Person | None,
        round: int | str,
        data: bytes | Iterator[bytes],
        kind: str | None = PARAMETERS,
        *,
        digest: str | None = None,
        **headers: str,
    ) -> httpx.Response:
        """Send an update, with its digest unless another is given. An iterator is sent in chunks."""
        made = digest_of(data) if digest is None and isinstance(data, bytes) else digest
        sent = {**(who.headers if who else {}), **{name.replace("_", "-"): value for name, value in headers.items()}}
        if made is not None:
            sent["Content-Digest"] = made
        if kind is not None:
            sent["Content-Type"] = kind
        return self.http.put(f"/api/v2/rounds/{round}/update", content=data, headers=sent)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=300)

    def say(self, *parts: bytes, close: bool = False) -> Heard:
        """Send bytes over a connection of one's own; listen until it is closed."""
        with self.connect() as connection:
            with contextlib.suppress(ConnectionError):
                for part in parts:
                    connection.sendall(part)
                if close:
                    connection.shutdown(socket.SHUT_WR)
            return listen(connection)

    def count(self, table: Any, **where: Any) -> int:
        with self.database.reading() as session:
            query = select(func.count()).select_from(table)
            for name, value in where.items():
                query = query.where(getattr(table, name) == value)
            return session.scalar(query) or 0

    def rows(self, table: Any, **where: Any) -> list[Any]:
        with self.database.reading() as session:
            query = select(table)
            for name, value in where.items():
                query = query.where(getattr(table, name) == value)
            return list(session.scalars(query))

    def stored(self, row: UpdateRow) -> bytes:
        """Return the bytes of an update."""
        return stored_bytes(self.folder, row)

    @property
    def megabytes(self) -> float:
        """The memory that the server has in use."""
        status = Path(f"/proc/{self.running.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024

    def healthy(self) -> bool:
        return self.http.get("/healthz").status_code == 200


def digest_of(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


def listen(connection: socket.socket, seconds: float = LONGEST_SECONDS) -> Heard:
    """Read until the connection ends; silence for so long is a failure of the server."""
    connection.settimeout(seconds)
    data = b""
    while True:
        try:
            more = connection.recv(65536)
        except TimeoutError:
            return Heard(data, closed=False)
        except ConnectionError:
            return Heard(data, closed=True)
        if not more:
            return Heard(data, closed=True)
        data += more


def request(method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
    """Write a request exactly so; the connection is to be closed after it."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def update_head(person: Person, round: int, data: bytes, *more: str) -> bytes:
    """Write the head of a request that sends an update; its framing is a length unless `more` names another."""
    framing = (
        ()
        if any(one.startswith(("Content-Length", "Transfer-Encoding")) for one in more)
        else (f"Content-Length: {len(data)}",)
    )
    return request(
        "PUT",
        f"/api/v2/rounds/{round}/update",
        f"Authorization: {person.headers['Authorization']}",
        f"Content-Type: {PARAMETERS}",
        f"Content-Digest: {digest_of(data)}",
        *more,
        *framing,
    )


def begin_update(
    server: RunningServer, person: Person, round: int, data: bytes, *, missing: int, close: bool = True
) -> socket.socket:
    """Send all of an update but its end, and wait until the server reads it."""
    connection = server.connect()
    head = update_head(person, round, data, "Expect: 100-continue")
    connection.sendall(head if close else head.replace(b"Connection: close\r\n", b""))
    assert connection.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
    connection.sendall(data[:-missing])
    return connection


def problem(answer: httpx.Response | Answer) -> str:
    """Return the slug of a problem document, after checking its shape."""
    status = answer.status_code if isinstance(answer, httpx.Response) else answer.status
    content = answer.content if isinstance(answer, httpx.Response) else answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    document = json.loads(content)
    slug = document["type"].removeprefix("/problems/")
    kind = KINDS[slug]
    assert (document["type"], document["title"], document["status"]) == (f"/problems/{slug}", kind.title, status)
    assert kind.status == status
    assert set(document) <= {"type", "title", "status", "detail"}
    return str(slug)


def is_guarded(headers: Any) -> bool:
    """Say whether an answer carries all headers of security."""
    policy = headers.get("content-security-policy", "")
    return "default-src 'none'" in policy and all(headers.get(name) == value for name, value in SECURITY.items())


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make calls at the same moment, each in a thread of its own; return what they return."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def base_vector() -> np.ndarray:
    """The parameters of the first model."""
    return Classifier.shipped().model.vector


def sound(number: int = 0) -> bytes:
    """An update that nothing is wrong with."""
    return (base_vector() + np.float32(1e-4) * (number + 1)).astype("<f4").tobytes()


@dataclass
class ServerStarter:
    """Starts servers; stops them all, and looks at what they logged."""

    folder: Path

    @contextlib.contextmanager
    def open(
        self, name: str, *arguments: str, database: str = "", errors_expected: bool = False, **settings: object
    ) -> Iterator[RunningServer]:
        folder = self.folder / name
        folder.mkdir(mode=0o700, exist_ok=True)
        given: dict[str, Any] = {"upload_seconds": PATIENT_SECONDS, **settings}
        given |= {"database": database} if database else {}
        with Running("serve", folder, "--no-worker", *arguments, **given) as running:
            running.ready()
            server = RunningServer(running, Database(database or f"sqlite:///{folder / 'eitr.db'}"), folder)
            try:
                yield server
            finally:
                server.close()
            status = running.stop()
            log = logged(running.log)
            assert told(log) == [], "the server logs who does what"
            for word in server.private:
                assert word not in log, "the server logs something private"
            if not errors_expected:
                assert [line for line in log.splitlines() if '"level": "error"' in line] == []
                assert "Traceback" not in log
            assert status == 0, f"the server ended with status {status}"


def logged(log: str) -> str:
    """Return what was logged after the start, whose lines say where the server is."""
    lines = log.splitlines()
    first = json.loads(lines[0])
    assert (first["logger"], first["message"][:20]) == ("eitr.start", "EITR runs at http://")
    return "\n".join(line for line in lines if json.loads(line)["logger"] != "eitr.start")


def told(log: str) -> list[str]:
    """Return addresses, ids and secrets in a log: it may hold none."""
    private = re.compile(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|[0-9a-f]{32}|Bearer|[A-Za-z0-9_-]{43}")
    return [found[0] for line in log.splitlines() if (found := private.search(line))]


@pytest.fixture(scope="session")
def starter(tmp_path_factory: pytest.TempPathFactory) -> ServerStarter:
    """Where servers are started."""
    return ServerStarter(tmp_path_factory.mktemp("starter"))


@pytest.fixture(scope="session")
def server(starter: ServerStarter) -> Iterator[RunningServer]:
    """The server of most tests, with high limits."""
    with starter.open("common") as found:
        yield found


@pytest.fixture(scope="session")
def strict(starter: ServerStarter) -> Iterator[RunningServer]:
    """A server for the invited only, that receives two updates at a time and logs all it can."""
    with starter.open("strict", enrolment="invitation", uploads_at_once=2, log_level="debug") as found:
        yield found


@pytest.fixture(scope="session")
def hasty(starter: ServerStarter) -> Iterator[RunningServer]:
    """A server that waits one second for an update."""
    with starter.open("hasty", upload_seconds=HASTY_SECONDS) as found:
        yield found


@pytest.fixture(scope="session")
def postgres_server(starter: ServerStarter, postgres: str) -> Iterator[RunningServer]:
    """A server on PostgreSQL."""
    with starter.open("postgres", database=new_postgres_database(postgres)) as found:
        yield found


@pytest.fixture(params=["server", "postgres_server"])
def any_server(request: pytest.FixtureRequest) -> RunningServer:
    """A server on each kind of database."""
    found: RunningServer = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def person(server: RunningServer) -> Person:
    """Somebody new."""
    return server.enrol()
