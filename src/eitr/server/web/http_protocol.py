"""HTTP as it comes from the network: uvicorn's parser, with limits that it lacks.

The head of a request may be 32 kB long and take ten seconds. A connection that sends no request is closed. There are
limits on the number of connections (`eitr.server.web.connections`).
"""

import asyncio
import json
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from eitr.errors import InputError
from eitr.server.web.connections import ConnectionLimit
from eitr.server.web.problems import KINDS, MEDIA_TYPE
from eitr.server.web.security_headers import SECURITY_HEADERS

LARGEST_HEAD = 32 * 1024
MOST_HEADERS = 100
HEAD_SECONDS = 10.0


def _answer(status: str, slug: str) -> bytes:
    """Return a complete answer, for requests that never reach an application."""
    kind = KINDS[slug]
    document = json.dumps({"type": f"/problems/{slug}", "title": kind.title, "status": kind.status})
    length = {"Content-Length": str(len(document)), "Connection": "close"}
    headers = {**SECURITY_HEADERS, "Content-Type": MEDIA_TYPE, **length}
    lines = [f"HTTP/1.1 {kind.status} {status}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", document]).encode()


TOO_LARGE = _answer("Request Header Fields Too Large", "headers-too-large")
MALFORMED = _answer("Bad Request", "malformed-request")
TOO_MANY = _answer("Too Many Requests", "too-many-requests")


class GuardedHttpProtocol(HttpToolsProtocol):
    """Closes connections that send too large heads, or none in time.

    It overrides callbacks of uvicorn, some of which are private: `check_uvicorn` says whether they exist.
    """

    limit: ClassVar[ConnectionLimit | None] = None
    _address = ""
    """Where the connection comes from, as long as it counts."""
    _size = 0
    """Bytes of the current head, or of what came since the last byte of a body."""
    _timer: asyncio.TimerHandle | None = None
    _closed = False
    _within = False
    """Between the head of a request and its end."""
    _progress = False
    """Whether the last data belonged to a body, or ended one."""

    def connection_made(self, transport: Any) -> None:
        """Start the time limit of the first request."""
        super().connection_made(transport)
        if self.limit is not None:
            peer = transport.get_extra_info("peername")
            self._address = peer[0] if isinstance(peer, tuple) else "?"
            if not self.limit.opened(self._address):
                self._close(TOO_MANY)
                return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
        self._stop()
        if self.limit is not None and self._address:
            self.limit.closed(self._address, self)
            self._address = ""
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close a connection that nothing is done for: another one needs its place."""
        self._close()

    def on_message_begin(self) -> None:
        """Count the bytes of a new head, and limit its time."""
        super().on_message_begin()
        self._size = 0
        self._expect()

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the address."""
        super().on_url(url)
        self._grow(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of a header. Trailers, which follow a body, are counted and dropped."""
        if self._closed:
            return
        if not self._within:
            super().on_header(name, value)
        self._grow(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        """Stop the time limit of the head: from now on the application limits the time."""
        self._stop()
        if self._closed:
            return
        super().on_headers_complete()
        self._within, self._size = True, 0
        if self.parser.should_upgrade():  # there is no other protocol: this is the last request here
            self.cycle.keep_alive = False

    def data_received(self, data: bytes) -> None:
        """Parse data, unless the connection is being closed."""
        if self._closed:
            return
        self._progress = False
        super().data_received(data)
        if self._closed or self._progress:
            return
        # The parser reports neither an unfinished header nor empty lines: their bytes and their time count, too.
        waiting = self.cycle is None or self.cycle.response_complete
        if self._timer is None and not self._within and waiting:
            self._expect()
        if self._timer is not None or self._within:
            self._grow(len(data))

    def on_body(self, body: bytes) -> None:
        """Pass on a part of a body, unless the connection is being closed."""
        self._progress, self._size = True, 0
        if not self._closed:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Pass on the end of a request, unless the connection is being closed."""
        self._within, self._progress = False, True
        if self._closed:
            return
        super().on_message_complete()
        if self.cycle.response_complete:
            self._expect()  # for the next one

    def on_response_complete(self) -> None:
        """Limit the time of what is missing of a request that was answered early."""
        super().on_response_complete()
        if self._within and self.cycle.response_complete and not self.transport.is_closing():
            self._expect()

    def send_400_response(self, msg: str) -> None:
        """Answer data that is not HTTP with a problem document."""
        self._close(MALFORMED)

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: otherwise anybody could fill the log."""

    def _grow(self, more: int) -> None:
        self._size += more
        if not self._closed and (self._size > LARGEST_HEAD or len(self.headers or ()) > MOST_HEADERS):
            self._close(TOO_LARGE)

    def _expect(self) -> None:
        self._stop()
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close)
        if self.limit is not None:
            self.limit.waits(self)

    def _close(self, answer: bytes = b"") -> None:
        self._stop()
        self._closed = True
        if not (self._within and self.cycle.response_started):  # it has its answer
            self.transport.write(answer)
        self.transport.close()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self.limit is not None:
                self.limit.works(self)


def limited_protocol(limit: ConnectionLimit) -> type[GuardedHttpProtocol]:
    """Return the protocol with a limit that all its connections share."""
    return type("LimitedHttpProtocol", (GuardedHttpProtocol,), {"limit": limit})


OVERRIDDEN = (
    *(name for name in vars(GuardedHttpProtocol) if name.startswith(("on_", "connection_", "send_", "data_"))),
    "_unsupported_upgrade_warning",
)


def check_uvicorn() -> None:
    """Refuse a version of uvicorn that would never call what the guarded protocol overrides."""
    missing = [name for name in OVERRIDDEN if not hasattr(HttpToolsProtocol, name)]
    if missing:
        raise InputError(
            f"uvicorn {uvicorn.__version__} has no {', '.join(missing)}, which the limits on connections need: "
            "install the version that the lock file of EITR names"
        )
