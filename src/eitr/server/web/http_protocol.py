"""HTTP as it comes from the network: uvicorn's parser, with limits that it lacks.

A request's head may be 32 kB long and take ten seconds; a connection that sends no request is closed. A body whose
length was announced can be taken in one piece, without a copy.
"""

import asyncio
import json
import socket
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import ref

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from eitr.server.web.middleware import HEADERS
from eitr.server.web.problems import KINDS, MEDIA_TYPE

LARGEST_HEAD = 32 * 1024
MOST_HEADERS = 100
HEAD_SECONDS = 10.0
IN_ONE_PIECE = "eitr.in_one_piece"
"""An extension of ASGI."""
FILL = "fill"
"""Its function: awaited with a buffer of the announced length it fills it, or says that the connection ended."""
NOWHERE = memoryview(bytearray(64 * 1024))
"""Where octets go that nobody wants any more."""


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
        self._size = 0
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
        # The cycle has the scope: if the scope had the cycle, both would stay until somebody looks for such rings.
        self.scope["extensions"] = {IN_ONE_PIECE: {FILL: partial(self._fill, ref(self.cycle))}}
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
        """Pass on what belongs to a request that is answered."""
        self._progress, self._size = True, 0
        if not self._closed:
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

    async def _fill(self, known: ref[RequestResponseCycle], buffer: memoryview) -> bool:
        """Read a body into a buffer of the length that was announced; False if the connection ends before."""
        cycle = known()
        assert cycle is not None, "it is there for as long as the application runs"
        come = len(cycle.body)
        buffer[:come] = cycle.body
        cycle.body.clear()
        if cycle.more_body and not cycle.disconnected:
            if cycle.waiting_for_100_continue:
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                cycle.waiting_for_100_continue = False
            rest = Rest(self, buffer[come:])
            self.read_by(rest)
            try:
                await rest.ended
            finally:
                rest.forget()
        return not cycle.more_body

    def read_by(self, protocol: asyncio.BaseProtocol) -> None:
        """Let another protocol have what comes next: reading stops and starts, for it is done in another way."""
        self.flow.pause_reading()
        self.transport.set_protocol(protocol)
        self.flow.resume_reading()

    def on_rest(self) -> None:
        """Go on after a body that the parser has not seen, with one that does not wait for it.

        What follows the last request of a connection is none: it stays with whom the rest was read by.
        """
        if self.cycle.keep_alive:
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
            self.read_by(self)
        self.on_message_complete()

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


class Rest(asyncio.BufferedProtocol):
    """What is missing of a body: the kernel writes it to its place, and wakes us when all of it is there."""

    def __init__(self, http: Guarded, place: memoryview) -> None:
        self._http, self._place, self._missing = http, place, len(place)
        self._socket = http.transport.get_extra_info("socket")
        self._wake_after(self._missing)
        self.ended = asyncio.get_running_loop().create_future()
        """When all is there, or nothing more comes."""

    def get_buffer(self, sizehint: int) -> memoryview:
        """Say where the next octets go; what follows the body is left for the parser, if there is one."""
        return self._place[: self._missing] or NOWHERE

    def buffer_updated(self, nbytes: int) -> None:
        """Go on behind what came."""
        if self._missing == 0:
            return
        self._missing -= nbytes
        self._wake_after(max(1, self._missing))  # or the last few would be waited for in vain
        if self._place is not NOWHERE:
            self._place = self._place[nbytes:]
        if self._missing == 0:
            self._http.on_rest()
            self._end()

    def forget(self) -> None:
        """Nobody wants it any more: the memory may be used for something else."""
        self._place = NOWHERE

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on."""
        self._http.connection_lost(exc)
        self._end()

    def pause_writing(self) -> None:
        """Pass it on."""
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._http.resume_writing()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def _wake_after(self, octets: int) -> None:
        # The kernel also makes room for so many; it wakes us earlier if it cannot, or if no more will come.
        with suppress(OSError):  # where this is not known, we are woken more often
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, octets)
