"""Whoever takes for ever is given up; others do not wait for them."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

import pytest
import uvicorn

from eitr.model.update_encoding import PARAMETERS
from eitr.server.db.tables import RefusalRow, UpdateBytesRow, UpdateRow
from eitr.server.web import http_protocol
from tests.server.hostile.conftest import (
    UPLOAD_SECONDS,
    Person,
    RunningServer,
    digest_of,
    listen,
    problem,
    request,
    sound,
)


def _begun(
    server: RunningServer, person: Person, round: int, data: bytes, missing: int = 1, *, close: bool = True
) -> socket.socket:
    """Send all of an update but its end; the connection is to be closed after it."""
    connection = server.connect()
    head = request(
        "PUT",
        f"/api/v1/rounds/{round}/update",
        f"Authorization: {person.headers['Authorization']}",
        f"Content-Type: {PARAMETERS}",
        f"Content-Digest: {digest_of(data)}",
        f"Content-Length: {len(data)}",
    )
    if not close:
        head = head.replace(b"Connection: close\r\n", b"")
    connection.sendall(head + data[:-missing])
    return connection


def test_a_body_that_does_not_end_is_given_up_and_is_no_evidence(server: RunningServer, person: Person) -> None:
    round = server.open_round()
    with _begun(server, person, round, sound()) as connection:
        heard = listen(connection)
    assert [problem(one) for one in heard.answers] == ["slow"]
    assert heard.closed
    assert server.count(RefusalRow, participant=person.id) == server.count(UpdateRow, participant=person.id) == 0
    assert server.put(person, round, sound()).status_code == 202


def test_one_octet_now_and_then_does_not_buy_more_time(server: RunningServer, person: Person) -> None:
    start, answer = time.monotonic(), b""
    with _begun(server, person, server.open_round(), sound(), missing=1000) as connection:
        connection.settimeout(0.1)
        while not answer and time.monotonic() < start + 10 * UPLOAD_SECONDS:
            connection.sendall(b"a")
            with suppress(TimeoutError):
                answer = connection.recv(1000)
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_what_comes_after_the_answer_is_dropped_and_the_next_request_answered(
    server: RunningServer, person: Person
) -> None:
    data = sound()
    with _begun(server, person, server.open_round(), data, missing=300_000, close=False) as connection:
        connection.settimeout(10 * UPLOAD_SECONDS)
        assert connection.recv(12) == b"HTTP/1.1 408"
        connection.sendall(data[-300_000:] + request("GET", "/healthz"))
        heard = listen(connection)
    assert heard.data.endswith(b"ok\n")
    assert server.count(UpdateRow, participant=person.id) == 0


def test_an_update_in_little_pieces_arrives(server: RunningServer, person: Person) -> None:
    data = sound()
    with _begun(server, person, server.open_round(), data, missing=400_000) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for place in range(len(data) - 400_000, len(data), 100):
            connection.sendall(data[place : place + 100])
        heard = listen(connection)
    assert heard.statuses == [202]
    assert server.rows(UpdateBytesRow, update=server.rows(UpdateRow, participant=person.id)[0].id)[0].data == data


def test_others_are_served_while_many_are_slow(server: RunningServer) -> None:
    round = server.open_round()
    slow, quick = server.enrol(), server.enrol()
    with ExitStack() as open:
        waiting = [open.enter_context(_begun(server, slow, round, sound(number))) for number in range(20)]
        idle = [open.enter_context(server.connect()) for _ in range(50)]
        for connection in idle[::2]:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        assert server.put(quick, round, sound()).status_code == 202
        assert server.healthy()
        waiting[0].setblocking(False)
        with pytest.raises(BlockingIOError):  # the slow ones are still waited for
            waiting[0].recv(1)


def test_one_participant_does_not_take_all_places(strict: RunningServer) -> None:
    """However many updates one participant begins, another one's is received meanwhile."""
    round = strict.open_round()
    greedy, other = (strict.enrol(strict.invite()) for _ in range(2))
    with ExitStack() as open:
        waiting = [open.enter_context(_begun(strict, greedy, round, sound(number))) for number in range(6)]
        time.sleep(0.3)
        assert strict.put(other, round, sound()).status_code == 202
        waiting[0].setblocking(False)
        with pytest.raises(BlockingIOError):  # it did not have to wait for these to be given up
            waiting[0].recv(1)


@pytest.mark.parametrize("framing", ["Content-Length: 100", "Transfer-Encoding: chunked"])
def test_a_wish_to_enrol_that_does_not_end_is_given_up(server: RunningServer, framing: str) -> None:
    heard = server.say(request("POST", "/api/v1/participants", "Content-Type: application/json", framing), seconds=12)
    assert heard.closed
    assert heard.statuses in ([408], [])


@pytest.mark.long
@pytest.mark.parametrize("said", [b"", b"GET", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"])
def test_a_connection_without_a_request_is_closed_after_ten_seconds(server: RunningServer, said: bytes) -> None:
    heard = server.say(said, seconds=15)
    assert (heard.closed, heard.data) == (True, b"")


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Answer without reading the request."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def impatient(monkeypatch: pytest.MonkeyPatch, between: int = 1) -> AsyncIterator[int]:
    """A server in this process that waits three tenths of a second for a head, and longer for the next request."""
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.3)
    config = uvicorn.Config(
        _app, http=http_protocol.Guarded, lifespan="off", log_config=None, access_log=False, timeout_keep_alive=between
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        task = asyncio.create_task(server._serve(sockets=[listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await task


WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("first", "drop"),
    [
        (b"", b""),
        (b"\r\n", b"\r\n"),
        (b"G", b""),
        (b"GET / HTTP/1.1\r\nX: ", b"a"),
        (b"GET /", b"a"),
        (WHOLE, b""),
        (WHOLE, b"\r\n"),
        (WHOLE + b"GET / HTTP/1.1\r\nX: ", b"a"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n", b"a"),
        (CHUNKED, b"1\r\na\r\n"),
        (CHUNKED + b"0\r\nX: ", b"a"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"a"),
    ],
    ids=[
        "silence",
        "empty lines",
        "half a method",
        "header",
        "address",
        "one request",
        "request then empty lines",
        "request then header",
        "body",
        "chunks",
        "trailer",
        "another protocol",
    ],
)
def test_drop_by_drop_no_connection_lives_for_ever(monkeypatch: pytest.MonkeyPatch, first: bytes, drop: bytes) -> None:
    """Whatever comes in drops: after a few times the longest wait, the connection is closed."""

    async def ended() -> bool:
        async with impatient(monkeypatch) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(first)
            end = time.monotonic() + 4
            try:
                while time.monotonic() < end:
                    if drop:
                        writer.write(drop)
                    try:
                        if not await asyncio.wait_for(reader.read(1000), 0.1):
                            return True
                    except TimeoutError:
                        continue
            except ConnectionError:
                return True
            finally:
                writer.close()
            return False

    assert asyncio.run(ended())


def test_a_request_in_time_is_answered_and_so_is_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async def heard() -> bytes:
        async with impatient(monkeypatch, between=20) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(3):
                writer.write(WHOLE)
                await asyncio.sleep(0.4)
            writer.write(WHOLE.replace(b"Host", b"Connection: close\r\nHost"))
            data = await reader.read()
            writer.close()
            return data

    assert asyncio.run(heard()).count(b"HTTP/1.1 200 OK") == 4
