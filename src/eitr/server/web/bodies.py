"""Reading a body that is longer than a form: within a bound, and in the time that is allowed."""

import asyncio

from fastapi import Request
from starlette.requests import ClientDisconnect

from eitr.server.web.dependencies import services_of
from eitr.server.web.problems import Problem


async def body_of(request: Request, largest: int, too_large: str) -> bytes:
    """Return the body. What is too long is not read to its end; `too_large` is what its sender is told."""
    seconds = services_of(request).settings.upload_seconds
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                body += part
                if len(body) > largest:
                    raise Problem("too-large", too_large)
    except TimeoutError:
        raise Problem("slow", f"It did not arrive within {seconds:g} s.") from None
    except ClientDisconnect:
        raise Problem("slow", "The connection ended before the request did.") from None
    return bytes(body)
