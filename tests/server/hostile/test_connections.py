"""One address opens more connections than a server has descriptors: everybody else is still answered."""

import contextlib
import resource
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from eitr.server.web.connections import ConnectionLimit, for_descriptors, raise_descriptor_limit
from tests.server.hostile.conftest import Heard, ServerStarter, listen, problem
from tests.server.process import Running

DESCRIPTORS = 256
FLOOD = 400
REQUESTS = 58
HALF_A_HEAD = b"GET /api/v2/model HTTP/1.1\r\nX-Slow: "
FLOODING, OTHER = "127.0.0.2", "127.0.0.3"
"""Addresses of this machine, neither of which is that of a reverse proxy."""


@pytest.fixture(scope="module")
def few_descriptors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that cannot have more than a few descriptors; the test itself may have as many as it can."""
    folder = tmp_path_factory.mktemp("few")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nulimit -n {DESCRIPTORS}\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    raise_descriptor_limit()
    with Running("serve", folder / "server", "--no-worker", python=str(python)).ready() as running:
        yield running
        assert running.stop() == 0
        assert "Too many open files" not in running.log
        assert '"level": "error"' not in running.log
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connect(server: Running, source: str) -> socket.socket:
    host, port = server.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60, source_address=(source, 0))


@contextlib.contextmanager
def flooded(server: Running, source: str, sent: bytes) -> Iterator[list[socket.socket]]:
    """Hold many connections, and replace those that the server closes, until the end of a `with` block."""
    over, connections = threading.Event(), [connect(server, source) for _ in range(FLOOD)]
    for connection in connections:
        with contextlib.suppress(OSError):
            connection.sendall(sent)

    def go_on() -> None:
        place = 0
        while not over.is_set():
            connections[place].close()
            with contextlib.suppress(OSError):
                connections[place] = connect(server, source)
                connections[place].sendall(sent)
            place = (place + 1) % FLOOD

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield connections
    finally:
        over.set()
        thread.join()
        for connection in connections:
            connection.close()


@pytest.mark.parametrize("source", [FLOODING, pytest.param("127.0.0.1", marks=pytest.mark.long)])
@pytest.mark.parametrize("sent", [b"", pytest.param(HALF_A_HEAD, marks=pytest.mark.long)])
def test_others_are_answered_while_one_address_floods(few_descriptors: Running, source: str, sent: bytes) -> None:
    # The second address is that of a proxy, whose connections are not counted by themselves.
    with flooded(few_descriptors, source, sent):
        for number in range(REQUESTS):
            transport = httpx.HTTPTransport(local_address=OTHER)
            with httpx.Client(base_url=few_descriptors.address, transport=transport, timeout=60) as http:
                answer = http.post("/api/v2/participants") if number % 2 else http.get("/api/v2/model")
            assert answer.status_code == (201 if number % 2 else 200)


def test_who_has_too_many_connections_is_told(few_descriptors: Running) -> None:
    most = for_descriptors(DESCRIPTORS, "").of_address

    def told() -> list[Any]:
        with contextlib.ExitStack() as stack:
            held = [stack.enter_context(connect(few_descriptors, FLOODING)) for _ in range(most + 1)]
            return list(listen(held[-1]).answers)

    # On a busy machine the first ones may be closed as idle before the last one comes.
    answer = next(filter(None, (told() for _ in range(5))))[0]
    assert (answer.status, problem(answer)) == (429, "too-many-requests")
    with connect(few_descriptors, FLOODING) as again:
        again.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        heard: Heard = listen(again)
        assert heard.statuses in ([200], [429])  # the server may not have noticed yet that the others are closed


def test_the_limit_of_descriptors_is_raised_at_the_start(starter: ServerStarter) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    try:
        with starter.open("few") as server:
            limits = Path(f"/proc/{server.running.process.pid}/limits").read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    found = next(line.split() for line in limits.splitlines() if line.startswith("Max open files"))
    assert found[3] == str(min(hard, 65536)) or hard == resource.RLIM_INFINITY


class Idle:
    """A connection that notes whether it was closed."""

    closed = False

    def drop(self) -> None:
        self.closed = True


def test_proxies_have_no_limit_of_their_own() -> None:
    limit = ConnectionLimit(100, 2, 16, "10.0.0.0/8, ::1, proxy.local")
    for address in ("10.1.2.3", "::1"):
        assert [limit.opened(address) for _ in range(4)] == [True] * 4
    assert [limit.opened("192.0.2.1") for _ in range(4)] == [True, True, False, False]
    assert all(ConnectionLimit(100, 1, 16, "*").opened("192.0.2.1") for _ in range(4))


def test_who_waited_longest_gives_way_and_who_is_being_answered_does_not() -> None:
    limit = ConnectionLimit(3, 3, 16)
    busy, first, second = Idle(), Idle(), Idle()
    for number, connection in enumerate((busy, first, second)):
        assert limit.opened(f"192.0.2.{number}")
        limit.waits(connection)
    limit.works(busy)
    assert limit.opened("192.0.2.9")
    assert (busy.closed, first.closed, second.closed) == (False, True, False)
    limit.closed("192.0.2.1", first)
    assert limit.opened("192.0.2.10")
    assert second.closed
    limit.closed("192.0.2.2", second)
    assert not limit.opened("192.0.2.11")  # everybody else is being answered
