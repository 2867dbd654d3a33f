"""Middleware of every application: limits, metrics, security headers, and an answer when a handler fails."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eitr.server.db.connection import BUSY_SECONDS
from eitr.server.domain.limits import RequestLimit
from eitr.server.domain.metrics import Metrics
from eitr.server.web.errors import Render
from eitr.server.web.problems import Problem
from eitr.server.web.security_headers import HTTPS_ONLY, SECURITY_HEADERS

LARGEST_BODY = 64 * 1024
"""Bytes of a body that no handler streams: forms and small documents."""
WRITES_AT_ONCE = 15
"""Requests of one application that may write at a time. Each takes a thread, and may wait for the database in it: there
are 40 threads for all requests of all applications, and those that only read must find one."""
READING = ("GET", "HEAD", "OPTIONS")
log = logging.getLogger("eitr.server")


class RequestGuard:
    """Refuses too many requests and too large bodies, counts all, and sets the security headers on every answer."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limit: RequestLimit | None,
        metrics: Metrics,
        body_seconds: float,
        render: Render,
        streamed: Sequence[str],
        https: bool,
    ) -> None:
        self._app, self._limit, self._metrics = app, limit, metrics
        self._body_seconds, self._render = body_seconds, render
        self._writes = asyncio.Semaphore(WRITES_AT_ONCE)
        self._headers = {**SECURITY_HEADERS, **(HTTPS_ONLY if https else {})}
        self._streamed = [compile_path(path)[0] for path in streamed]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, begun = time.perf_counter(), 500, False

        async def guarded(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check_limit(scope)
            if self._streams(scope):
                await self._app(scope, receive, guarded)
            elif scope["method"] in READING:
                await self._app(scope, await _small_body(scope, receive, self._body_seconds), guarded)
            else:
                receive = await _small_body(scope, receive, self._body_seconds)
                async with self._turn_to_write():
                    await self._app(scope, receive, guarded)
        except Problem as problem:
            await self._render(Request(scope), problem)(scope, receive, guarded)
        except Exception as error:
            log.error("a request failed", exc_info=error, extra={"route": _route(scope)})
            if begun:
                raise
            await self._render(Request(scope), Problem("failed"))(scope, receive, guarded)
        self._metrics.requests.labels(scope["method"], _route(scope), str(status)).inc()
        self._metrics.latency.labels(_route(scope)).observe(time.perf_counter() - start)

    @asynccontextmanager
    async def _turn_to_write(self) -> AsyncIterator[None]:
        """Wait until few enough other requests write; not longer than a writer waits for the database."""
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                await self._writes.acquire()
        except TimeoutError:
            raise Problem("busy", "Too many others are writing.", {"Retry-After": "5"}) from None
        try:
            yield
        finally:
            self._writes.release()

    def _check_limit(self, scope: Scope) -> None:
        client = scope.get("client")
        if self._limit is not None and not self._limit.allowed(client[0] if client else "?"):
            raise Problem(
                "too-many-requests",
                "Too many requests from your address. Wait ten seconds, then try again.",
                {"Retry-After": "10"},
            )

    def _streams(self, scope: Scope) -> bool:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return any(pattern.match(path) for pattern in self._streamed)


def _route(scope: Scope) -> str:
    """Return the template of the matched path, such as /models/{version}: addresses themselves would be endless."""
    route = scope.get("route")
    return f"{scope.get('root_path', '')}{route.path}" if isinstance(route, APIRoute) else "other"


async def _small_body(scope: Scope, receive: Receive, seconds: float) -> Receive:
    """Read a body that must be small, within its time; return a function that gives it to the application."""
    too_large = Problem("too-large", f"At most {LARGEST_BODY} bytes.")
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if length.isdigit() and int(length) > LARGEST_BODY:
        raise too_large
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
                if size > LARGEST_BODY:
                    raise too_large
    except TimeoutError:
        raise Problem("slow", f"It did not arrive within {seconds:g} s.") from None
    body: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

    async def again() -> Message:
        return body.pop() if body else await receive()

    return again
