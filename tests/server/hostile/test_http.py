"""HTTP that no honest client would send: it is refused, it costs nothing, and nobody else notices."""

import contextlib
from functools import partial

import pytest

from eitr.model.update_encoding import PARAMETERS
from eitr.server.db.tables import ParticipantRow, UpdateRow
from tests.server.cases import naming
from tests.server.hostile.conftest import (
    Heard,
    Person,
    RunningServer,
    at_once,
    is_guarded,
    listen,
    problem,
    request,
    sound,
    update_head,
)

JSON = "Content-Type: application/json"
HEALTH = request("GET", "/healthz")


def assert_malformed(heard: Heard) -> None:
    """It was answered by a problem document, and the connection is closed."""
    assert heard.closed
    assert [problem(one) for one in heard.answers] == ["malformed-request"]


SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Smuggled: yes\r\n\r\n"


def test_a_request_that_two_servers_could_read_differently_is_refused(server: RunningServer) -> None:
    for headers in [
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 5"),
        ("Content-Length: 2", "Content-Length: 3"),
        ("Content-Length: 2", "Content-Length: 2"),
        ("Content-Length: 2, 2",),
        ("Content-Length: +2",),
        ("Content-Length: -2",),
        ("Content-Length: 0x2",),
        ("Content-Length: 2.0",),
        ("Content-Length: two",),
        ("Content-Length: 18446744073709551616",),
        ("Content-Length: " + "9" * 5000,),
        ("Content-Length : 2",),
        ("Transfer-Encoding : chunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked\x0b",),
        ("X-Folded: one\r\n two",),
        ("X-Folded: one\r\n\ttwo",),
        ("X\x00: one",),
        ("X: o\x00ne",),
        (" X: one",),
        ("X one",),
        (": one",),
        ("X(): one",),
        ("X: one\rY: two",),
    ]:
        with naming(headers):
            heard = server.say(request("POST", "/api/v2/participants", JSON, *headers, body=b"{}\r\n\r\n" + SMUGGLED))
            assert heard.closed
            assert heard.statuses == [400]


def test_neither_length_nor_chunks_means_no_body_and_what_follows_is_not_one(
    server: RunningServer, person: Person
) -> None:
    heard = server.say(request("GET", "/healthz", body=b"DELETE /api/v2/me HTTP/1.1\r\n\r\n"))
    assert heard.statuses == [200]
    assert server.count(ParticipantRow, id=person.id) == 1


def test_what_is_no_request_is_refused_with_a_problem_document(server: RunningServer) -> None:
    for data in [
        b"BREW /healthz HTTP/1.1\r\n\r\n",
        b"get /healthz HTTP/1.1\r\n\r\n",
        b"G\x00T /healthz HTTP/1.1\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/1.1 extra\r\n\r\n",
        b"GET /health\x00z HTTP/1.1\r\n\r\n",
        b"GET /health z HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTQ/1.1\r\n\r\n",
        b"GET http://[::/healthz HTTP/1.1\r\n\r\n",
        b"CONNECT localhost:443 HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        b"SSH-2.0-client\r\n",
        b"\x00" * 100,
        b"{}\r\n\r\n",
    ]:
        with naming(data):
            heard = server.say(data)
            assert_malformed(heard)
            assert is_guarded(heard.answers[0].headers)
            assert server.healthy()


@pytest.mark.parametrize("line", [b"GET /healthz HTTP/1.0", b"GET /healthz"])
def test_old_http_is_answered_and_the_connection_closed(server: RunningServer, line: bytes) -> None:
    heard = server.say(line + b"\r\n\r\n")
    assert (heard.statuses, heard.closed) == ([200], True)
    assert heard.answers[0].headers["connection"] == "close"


def test_an_absolute_address_reaches_the_same_pages(server: RunningServer) -> None:
    assert server.say(request("GET", "http://elsewhere.example/healthz")).statuses == [200]
    assert server.say(request("GET", "http://elsewhere.example/api/v2/me/export")).statuses == [401]


def test_another_method_is_refused_and_nothing_is_sent_back(server: RunningServer) -> None:
    for method in ["TRACE", "OPTIONS", "HEAD", "PATCH", "POST", "PUT", "DELETE", "PROPFIND"]:
        with naming(method):
            heard = server.say(request(method, "/api/v2/model", "X-Echo: <b>me</b>"))
            assert heard.data.startswith(b"HTTP/1.1 405 ")
            assert b"<b>" not in heard.data
            if method != "HEAD":  # whose answer has a length, but no body
                assert [problem(one) for one in heard.answers] == ["method-not-allowed"]


def test_no_address_is_made_of_what_the_client_calls_the_host(server: RunningServer) -> None:
    """Or a cache in between would send others there."""
    for path in ("/api/v2/model/", "/healthz/", "/api/v2/participants/", "//localhost/api/v2/model/"):
        heard = server.say(f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode())
        assert b"evil.example" not in heard.data, path


def test_requests_in_a_row_are_answered_in_their_order(server: RunningServer) -> None:
    plain = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    missing = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
    heard = server.say(plain + missing + plain + missing + HEALTH)
    assert (heard.statuses, heard.closed) == ([200, 404, 200, 404, 200], True)


def test_a_request_refused_before_its_body_leaves_the_next_one_intact(server: RunningServer) -> None:
    """The body of the first is not taken for a request."""
    first = f"PUT /api/v2/rounds/1/update HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(SMUGGLED)}\r\n\r\n"
    heard = server.say(first.encode() + SMUGGLED + HEALTH)
    assert heard.statuses in ([401, 200], [401])
    assert heard.closed


def test_the_beginning_of_a_second_request_does_not_spoil_the_first(server: RunningServer, person: Person) -> None:
    round, data = server.open_round(), sound()
    head = update_head(person, round, data).replace(b"Connection: close\r\n", b"")
    with server.connect() as connection:
        connection.sendall(head + data + HEALTH[:10])
        assert connection.recv(12) == b"HTTP/1.1 202"
        connection.sendall(HEALTH[10:])
        assert listen(connection).data.endswith(b"ok\n")


def test_thousands_of_requests_in_one_packet_are_no_problem(server: RunningServer) -> None:
    before = server.megabytes
    plain = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(plain * 2000 + HEALTH)
        heard = listen(connection)
    assert heard.statuses == [200] * 2001
    assert server.megabytes - before < 40


def test_a_wish_for_another_protocol_is_ignored_and_the_next_request_answered(server: RunningServer) -> None:
    for protocol in ["websocket", "h2c", "TLS/1.0"]:
        with naming(protocol):
            upgrade = f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n"
            heard = server.say(upgrade.encode() + HEALTH)
            assert heard.closed, "the connection is neither used nor closed"
            assert heard.statuses in ([200, 200], [200])


def test_what_follows_the_body_is_not_taken_for_a_header(server: RunningServer, person: Person) -> None:
    """Trailers never say who asks, nor from where: a proxy looks at headers only."""
    authorization = f"Authorization: {person.headers['Authorization']}\r\n".encode()
    head = request("GET", "/api/v2/me/export", "Transfer-Encoding: chunked")
    heard = server.say(head + b"0\r\n" + authorization + b"\r\n")
    assert [problem(one) for one in heard.answers] == ["not-enrolled"]
    head = request("DELETE", "/api/v2/me", "Transfer-Encoding: chunked", "Trailer: Authorization")
    server.say(head + b"0\r\n" + authorization + b"\r\n")
    assert server.count(ParticipantRow, id=person.id) == 1


def test_a_trailer_changes_nothing_of_anupdate_head(server: RunningServer, person: Person) -> None:
    round, data = server.open_round(), sound()
    head = update_head(person, round, data, "Transfer-Encoding: chunked")
    ending = b"0\r\nContent-Encoding: gzip\r\nContent-Type: text/html\r\n\r\n"
    heard = server.say(head, f"{len(data):x}\r\n".encode() + data + b"\r\n" + ending)
    assert heard.statuses == [202]
    assert server.rows(UpdateRow, participant=person.id)[0].encoding == PARAMETERS


def _flood(server: RunningServer, start: bytes, piece: bytes, times: int) -> tuple[Heard, float]:
    """Send a piece again and again, for as long as the server listens; return the answer and the memory it took."""
    before = server.megabytes
    most = before
    with server.connect() as connection:
        with contextlib.suppress(ConnectionError, TimeoutError):
            connection.sendall(start)
            for number in range(times):
                connection.sendall(piece)
                if number % 8 == 0:
                    most = max(most, server.megabytes)
        heard = listen(connection)
    return heard, max(most, server.megabytes) - before


def test_a_head_without_end_is_cut_off(server: RunningServer) -> None:
    for start, piece in [
        (b"GET /healthz HTTP/1.1\r\n", b"X: a\r\n" * 10_000),
        (b"GET /healthz HTTP/1.1\r\nX: ", b"a" * 1_000_000),
        (b"GET /healthz HTTP/1.1\r\n", b"a" * 1_000_000),
        (b"GET /", b"a" * 1_000_000),
        (b"GET /?", b"a=b&" * 250_000),
        (b"GET /healthz HTTP/1.1\r\nCookie: ", b"a=b; " * 200_000),
    ]:
        with naming(start, piece):
            heard, megabytes = _flood(server, start, piece, 50)
            assert heard.closed
            # Whoever goes on sending may be cut off before the answer gets through.
            assert [problem(one) for one in heard.answers] in (["headers-too-large"], [])
            assert megabytes < 25
            assert server.healthy()


def test_a_head_that_is_too_large_is_told_so_by_a_guarded_answer(server: RunningServer) -> None:
    for head in [
        b"GET /healthz HTTP/1.1\r\n" + b"X: a\r\n" * 101 + b"\r\n",
        b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 33_000 + b"\r\n\r\n",
        b"GET /healthz?" + b"a" * 33_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n" + (b"X: " + b"a" * 1000 + b"\r\n") * 40 + b"\r\n",
    ]:
        with naming(head):
            heard = server.say(head)
            assert heard.closed
            assert [problem(one) for one in heard.answers] == ["headers-too-large"]
            assert is_guarded(heard.answers[0].headers)


def test_a_head_as_large_as_allowed_is_read(server: RunningServer) -> None:
    assert server.say(request("GET", "/healthz", *["X: a"] * 98)).statuses == [200]
    assert server.say(request("GET", "/healthz", "X: " + "a" * 30_000)).statuses == [200]


def test_a_trailer_without_end_is_cut_off(server: RunningServer) -> None:
    for end in [b"0\r\nX: ", b"0\r\n", b"1;x="]:
        with naming(end):
            start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            heard, megabytes = _flood(server, start + end, b"a" * 1_000_000, 30)
            assert heard.closed
            assert megabytes < 25
            assert server.healthy()


def test_trailers_are_not_kept(server: RunningServer) -> None:
    start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    heard, megabytes = _flood(server, start, b"X: a\r\n" * 10_000, 50)
    assert heard.closed
    assert megabytes < 25


@pytest.mark.long
def test_chunks_without_end_are_cut_off_where_little_is_expected(server: RunningServer) -> None:
    """A length is announced and looked at, or it is counted."""

    def flood(path: str) -> tuple[Heard, float]:
        start = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
        return _flood(server, start.encode(), b"f4240\r\n" + b" " * 1_000_000 + b"\r\n", 60)

    paths = ("/api/v2/participants", "/api/v2/model", "/nothing")
    # All at once, because the server waits ten seconds before it closes each connection.
    for path, (heard, megabytes) in zip(paths, at_once([partial(flood, path) for path in paths]), strict=True):
        with naming(path):
            assert megabytes < 25
            assert [one.status for one in heard.answers] in ([], [413], [404], [405])
    assert server.healthy()


def test_a_small_body_in_chunks_is_read(server: RunningServer) -> None:
    head = request("POST", "/api/v2/participants", JSON, "Transfer-Encoding: chunked")
    assert server.say(head + b"2\r\n{}\r\n0\r\n\r\n").statuses == [201]


def test_a_long_body_is_refused_by_its_announcement(server: RunningServer) -> None:
    for path in ["/api/v2/participants", "/api/v2/model", "/api/v2/me"]:
        with naming(path):
            heard = server.say(request("POST", path, JSON, f"Content-Length: {64 * 1024 + 1}"))
            assert [problem(one) for one in heard.answers] == ["too-large"]


def test_expecting_to_be_told_to_continue_one_is_told_so_or_refused(server: RunningServer, person: Person) -> None:
    round, data = server.open_round(), sound()
    with server.connect() as connection:
        connection.sendall(update_head(person, round, data, f"Content-Length: {len(data)}", "Expect: 100-continue"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        connection.sendall(data)
        assert listen(connection).statuses == [202]
    heard = server.say(update_head(person, round, data, "Content-Length: 5", "Expect: 100-continue"))
    assert [problem(one) for one in heard.answers] == ["wrong-length"]
