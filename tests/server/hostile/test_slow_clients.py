"""Clients that are too slow are given up; others do not wait for them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from eitr.errors import InputError
from eitr.server.db.tables import RefusalRow, UpdateRow
from eitr.server.web import http_protocol
from tests.server.hostile.conftest import (
    Person,
    RunningServer,
    begin_update,
    listen,
    problem,
    request,
    sound,
    update_head,
)
from tests.server.waiting import LONGEST_SECONDS, until

DROP_SECONDS = 0.1


def test_a_body_that_does_not_end_is_given_up_and_is_no_evidence(hasty: RunningServer) -> None:
    round, person = hasty.open_round(), hasty.enrol()
    with begin_update(hasty, person, round, sound(), missing=1) as connection:
        heard = listen(connection)
    assert [problem(one) for one in heard.answers] == ["slow"]
    assert heard.closed
    assert hasty.count(RefusalRow, participant=person.id) == hasty.count(UpdateRow, participant=person.id) == 0
    until(lambda: hasty.put(person, round, sound()).status_code == 202)  # a busy machine may be too slow, too


def test_one_byte_now_and_then_does_not_buy_more_time(hasty: RunningServer) -> None:
    answer = b""
    with begin_update(hasty, hasty.enrol(), hasty.open_round(), sound(), missing=1000) as connection:
        connection.settimeout(DROP_SECONDS)
        for _ in range(999):  # more than a minute, and never a whole update
            connection.sendall(b"a")
            with suppress(TimeoutError):
                answer = connection.recv(1000)
                break
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_what_comes_after_the_answer_is_dropped_and_the_next_request_answered(hasty: RunningServer) -> None:
    data, person = sound(), hasty.enrol()
    with begin_update(hasty, person, hasty.open_round(), data, missing=300_000, close=False) as connection:
        assert connection.recv(12) == b"HTTP/1.1 408"
        connection.sendall(data[-300_000:] + request("GET", "/healthz"))
        heard = listen(connection)
    assert heard.data.endswith(b"ok\n")
    assert hasty.count(UpdateRow, participant=person.id) == 0


@pytest.mark.parametrize("framing", ["Content-Length: 100", "Transfer-Encoding: chunked"])
def test_a_request_to_enrol_that_does_not_end_is_given_up(hasty: RunningServer, framing: str) -> None:
    heard = hasty.say(request("POST", "/api/v2/participants", "Content-Type: application/json", framing))
    assert heard.closed
    assert heard.statuses in ([408], [])


def test_an_update_in_little_pieces_arrives(server: RunningServer, person: Person) -> None:
    data = sound()
    with begin_update(server, person, server.open_round(), data, missing=400_000) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for place in range(len(data) - 400_000, len(data), 100):
            connection.sendall(data[place : place + 100])
        heard = listen(connection)
    assert heard.statuses == [202]
    assert server.stored(server.rows(UpdateRow, participant=person.id)[0]) == data


def still_waited_for(connection: socket.socket) -> bool:
    """Say whether the server has not answered on a connection."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except BlockingIOError:
        return True
    return False


def test_others_are_served_while_many_are_slow(server: RunningServer) -> None:
    round, quick = server.open_round(), server.enrol()
    with ExitStack() as open:
        waiting = [
            open.enter_context(begin_update(server, server.enrol(), round, sound(), missing=1)) for _ in range(20)
        ]
        idle = [open.enter_context(server.connect()) for _ in range(50)]
        for connection in idle[::2]:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        assert server.put(quick, round, sound()).status_code == 202
        assert server.healthy()
        assert all(still_waited_for(connection) for connection in waiting)


def test_one_participant_does_not_take_all_places(strict: RunningServer) -> None:
    """Two updates are received at a time, but only one of each participant."""
    round = strict.open_round()
    greedy, other = (strict.enrol(strict.invite()) for _ in range(2))
    with ExitStack() as open:
        first = open.enter_context(begin_update(strict, greedy, round, sound(), missing=1))
        data = sound(1)
        for _ in range(5):
            connection = open.enter_context(strict.connect())
            connection.sendall(update_head(greedy, round, data) + data[:-1])
        assert strict.healthy()  # asked after these, so that they are waiting now
        assert strict.put(other, round, sound()).status_code == 202
        assert still_waited_for(first)


@pytest.mark.long
def test_a_connection_without_a_request_is_closed_after_ten_seconds(server: RunningServer) -> None:
    beginnings = (b"", b"GET", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
    with ExitStack() as open:
        connections = [open.enter_context(server.connect()) for _ in beginnings]
        for connection, beginning in zip(connections, beginnings, strict=True):
            connection.sendall(beginning)
        for connection, beginning in zip(connections, beginnings, strict=True):
            heard = listen(connection)
            assert (heard.closed, heard.data) == (True, b""), beginning


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
        _app,
        http=http_protocol.GuardedHttpProtocol,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=between,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        task = asyncio.create_task(server._serve(sockets=[listening]))
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await task


WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
DROPS = {
    "silence": (b"", b""),
    "empty lines": (b"\r\n", b"\r\n"),
    "half a method": (b"G", b""),
    "header": (b"GET / HTTP/1.1\r\nX: ", b"a"),
    "address": (b"GET /", b"a"),
    "one request": (WHOLE, b""),
    "request then empty lines": (WHOLE, b"\r\n"),
    "request then header": (WHOLE + b"GET / HTTP/1.1\r\nX: ", b"a"),
    "body": (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n", b"a"),
    "chunks": (CHUNKED, b"1\r\na\r\n"),
    "trailer": (CHUNKED + b"0\r\nX: ", b"a"),
    "another protocol": (b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"a"),
}
"""What a client sends first, and then again and again."""


async def drip(port: int, first: bytes, drop: bytes) -> None:
    """Send something bit by bit until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first)
    try:
        while True:
            writer.write(drop)
            with suppress(TimeoutError):
                if not await asyncio.wait_for(reader.read(1000), DROP_SECONDS):
                    return
    except ConnectionError:
        return
    finally:
        writer.close()


def test_drop_by_drop_no_connection_lives_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    async def still_open() -> list[str]:
        async with impatient(monkeypatch) as port:
            tasks = {name: asyncio.create_task(drip(port, *sent)) for name, sent in DROPS.items()}
            await asyncio.wait(tasks.values(), timeout=LONGEST_SECONDS)
            found = [name for name, task in tasks.items() if not task.done()]
            for task in tasks.values():
                task.cancel()
            return found

    assert asyncio.run(still_open()) == []


def test_a_request_in_time_is_answered_and_so_is_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two requests a connection may be silent for longer than within the head of one."""

    async def heard() -> bytes:
        async with impatient(monkeypatch, between=600) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            data = b""
            for _ in range(3):
                writer.write(WHOLE)
                data += await reader.readuntil(b"ok")
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(reader.read(1), 2 * http_protocol.HEAD_SECONDS)
            writer.write(WHOLE.replace(b"Host", b"Connection: close\r\nHost"))
            data += await reader.read()
            writer.close()
            return data

    assert asyncio.run(heard()).count(b"HTTP/1.1 200 OK") == 4


def test_another_version_of_uvicorn_is_refused_if_it_would_ignore_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    http_protocol.check_uvicorn()
    assert {"on_header", "data_received", "send_400_response"} <= set(http_protocol.OVERRIDDEN)
    monkeypatch.delattr(HttpToolsProtocol, "send_400_response")
    with pytest.raises(InputError, match="has no send_400_response"):
        http_protocol.check_uvicorn()
