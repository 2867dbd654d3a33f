"""HTTP as it comes from the network: uvicorn's parser, with limits that it lacks.

A request's head may be 32 kB long and take ten seconds; a connection that sends no request is closed.
"""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from eitr.server.problems import KINDS, MEDIA_TYPE

LARGEST_HEAD = 32 * 1024
MOST_HEADERS = 100
HEAD_SECONDS = 10.0

_DOCUMENT = json.dumps(
    {"type": "/problems/headers-too-large", "title": KINDS["headers-too-large"].title, "status": 431}
)
TOO_LARGE = (
    "HTTP/1.1 431 Request Header Fields Too Large\r\n"
    f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(_DOCUMENT)}\r\nconnection: close\r\n\r\n{_DOCUMENT}"
).encode()


class Guarded(HttpToolsProtocol):
    """Closes connections whose requests never get to the point."""

    _size = 0
    _timer: asyncio.TimerHandle | None = None
    _closed = False

    def connection_made(self, transport: Any) -> None:
        """Give the first request its time."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Start counting."""
        super().on_message_begin()
        self._size = 0
        self._expect_head()

    def on_url(self, url: bytes) -> None:
        """Count the address."""
        super().on_url(url)
        self._grow(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header."""
        if self._closed:
            return
        super().on_header(name, value)
        self._grow(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        """The head is there: from now on the application watches the time."""
        self._stop()
        if not self._closed:
            super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless the connection was given up."""
        if self._closed:
            return
        super().data_received(data)
        if self._timer is not None:  # a header without an end is never reported: what came of an unfinished head counts
            self._grow(len(data))

    def on_body(self, body: bytes) -> None:
        """Pass on what belongs to a request that is answered."""
        if not self._closed:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Pass on the end of a request that is answered."""
        if not self._closed:
            super().on_message_complete()

    def _grow(self, more: int) -> None:
        self._size += more
        if not self._closed and (self._size > LARGEST_HEAD or len(self.headers or ()) > MOST_HEADERS):
            self._closed = True
            self._stop()
            self.transport.write(TOO_LARGE)
            self.transport.close()

    def _expect_head(self) -> None:
        self._stop()
        self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._timer, self._closed = None, True
        self.transport.close()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
