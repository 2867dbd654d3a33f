"""HTTP as it comes from the network: uvicorn's parser, with limits that it lacks.

A request's head may be 32 kB long and take ten seconds; a connection that sends no request is closed.
"""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from eitr.server.doors import HEADERS
from eitr.server.problems import KINDS, MEDIA_TYPE

LARGEST_HEAD = 32 * 1024
MOST_HEADERS = 100
HEAD_SECONDS = 10.0
IN_ONE_PIECE = "eitr.in_one_piece"
"""An extension of ASGI."""
WAIT_FOR = "wait_for"
"""Its function, which is told how many octets the application is ready to take at once."""


def _answer(status: str, slug: str) -> bytes:
    """Return a whole answer: what comes before the application has no other."""
    kind = KINDS[slug]
    document = json.dumps({"type": f"/problems/{slug}", "title": kind.title, "status": kind.status})
    headers = {**HEADERS, "Content-Type": MEDIA_TYPE, "Content-Length": str(len(document)), "Connection": "close"}
    lines = [f"HTTP/1.1 {kind.status} {status}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", document]).encode()


TOO_LARGE = _answer("Request Header Fields Too Large", "headers-too-large")
MALFORMED = _answer("Bad Request", "malformed-request")


class Guarded(HttpToolsProtocol):
    """Closes connections whose requests never get to the point."""

    _size = 0
    """Of a head, or of what came since the last octet of a body."""
    _patience = 0
    """Octets of a body that are gathered before the application is woken up."""
    _timer: asyncio.TimerHandle | None = None
    _closed = False
    _within = False
    """Between the head of a request and its end."""
    _progress = False
    """Whether a body grew, or ended, by what came last."""

    def connection_made(self, transport: Any) -> None:
        """Give the first request its time."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Start counting."""
        super().on_message_begin()
        self._size = self._patience = 0
        self.scope["extensions"] = {IN_ONE_PIECE: {WAIT_FOR: self._wait_for}}
        self._expect()

    def on_url(self, url: bytes) -> None:
        """Count the address."""
        super().on_url(url)
        self._grow(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header. What follows a body is none: trailers are dropped."""
        if self._closed:
            return
        if not self._within:
            super().on_header(name, value)
        self._grow(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        """The head is there: from now on the application watches the time."""
        self._stop()
        if self._closed:
            return
        super().on_headers_complete()
        self._within, self._size = True, 0
        if self.parser.should_upgrade():  # there is no other protocol: this is the last request here
            self.cycle.keep_alive = False

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless the connection was given up."""
        if self._closed:
            return
        self._progress = False
        super().data_received(data)
        if self._closed or self._progress:
            return
        # Neither a header without an end nor empty lines are ever reported: what came counts, and so does the time.
        waiting = self.cycle is None or self.cycle.response_complete
        if self._timer is None and not self._within and waiting:
            self._expect()
        if self._timer is not None or self._within:
            self._grow(len(data))

    def on_body(self, body: bytes) -> None:
        """Pass on what belongs to a request that is answered; gather it first, where somebody waits for all of it."""
        self._progress, self._size = True, 0
        if self._closed:
            return
        if len(self.cycle.body) + len(body) <= self._patience and not self.cycle.response_complete:
            self.cycle.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Pass on the end of a request that is answered."""
        self._within, self._progress = False, True
        if self._closed:
            return
        super().on_message_complete()
        if self.cycle.response_complete:
            self._expect()  # for the next one

    def on_response_complete(self) -> None:
        """Answered before it was all there: the rest has the time of a head."""
        super().on_response_complete()
        if self._within and self.cycle.response_complete and not self.transport.is_closing():
            self._expect()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._give_up(MALFORMED)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: anybody could fill the log."""

    def _wait_for(self, octets: int) -> None:
        """Wake the application at the end of the request, or after so many octets, and not for every few of them."""
        self._patience = octets

    def _grow(self, more: int) -> None:
        self._size += more
        if not self._closed and (self._size > LARGEST_HEAD or len(self.headers or ()) > MOST_HEADERS):
            self._give_up(TOO_LARGE)

    def _expect(self) -> None:
        self._stop()
        self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _give_up(self, answer: bytes = b"") -> None:
        self._stop()
        self._closed = True
        if not (self._within and self.cycle.response_started):  # one answer is enough
            self.transport.write(answer)
        self.transport.close()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
