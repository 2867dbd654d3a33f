"""What every request passes through before anybody looks at what it wants, and every answer on its way out."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response

from eitr.server.domain.limits import Requests
from eitr.server.domain.metrics import Metrics
from eitr.server.web.problems import Problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Answered = Callable[[Request, Problem], Response]

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}
UNLIMITED = ("/healthz", "/readyz", "/metrics")
log = logging.getLogger("eitr.server")
LARGEST_FORM = 64 * 1024
"""Everything but an update is small."""


class Doors:
    """Limits requests, counts them, and puts the headers of security on every answer."""

    def __init__(self, app: App, requests: Requests, metrics: Metrics, seconds: float, answered: Answered) -> None:
        self._app, self._requests, self._metrics = app, requests, metrics
        self._seconds, self._answered = seconds, answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, begun = time.perf_counter(), 500, False

        async def guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                raise refusal
            if not scope["path"].endswith("/update"):
                receive = await _whole(receive, self._seconds)
            await self._app(scope, receive, guarded)
        except Problem as problem:
            await self._answered(Request(scope), problem)(scope, receive, guarded)
        except Exception as error:
            route = getattr(scope.get("route"), "path", "other")
            log.error("a request failed", exc_info=error, extra={"route": route})
            if begun:
                raise
            await self._answered(Request(scope), Problem("failed"))(scope, receive, guarded)
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.requests.labels(scope["method"], route, str(status)).inc()
        self._metrics.latency.labels(route).observe(time.perf_counter() - start)

    def _refusal(self, scope: Scope) -> Problem | None:
        path = scope["path"]
        if path in UNLIMITED:
            return None
        client = scope.get("client")
        if not self._requests.allowed(client[0] if client else "?"):
            return Problem("too-many-requests", "Slow down.", headers={"Retry-After": "10"})
        if not path.endswith("/update"):
            length = dict(scope["headers"]).get(b"content-length", b"0")
            if length.isdigit() and int(length) > LARGEST_FORM:
                return Problem("too-large", f"At most {LARGEST_FORM} octets.")
        return None


async def _whole(receive: Receive, seconds: float) -> Receive:
    """Read the body of a request that must be small, within its time; return what gives it again."""
    parts: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(seconds):
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    raise Problem("slow", "The connection ended before the request did.")
                parts.append(message.get("body", b""))
                size, more = size + len(parts[-1]), message.get("more_body", False)
                if size > LARGEST_FORM:
                    raise Problem("too-large", f"At most {LARGEST_FORM} octets.")
    except TimeoutError:
        raise Problem("slow", f"It did not arrive within {seconds:g} s.") from None
    body: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

    async def again() -> MutableMapping[str, Any]:
        return body.pop() if body else await receive()

    return again
