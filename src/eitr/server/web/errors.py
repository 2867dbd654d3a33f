"""From an exception to a problem: one translation, which every application renders in its own way."""

import logging
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from eitr.server.db.connection import is_busy
from eitr.server.domain.errors import DomainError
from eitr.server.web.problems import Problem

Render = Callable[[Request, Problem], Response]
SLUGS = {404: "not-found", 405: "method-not-allowed"}
MOST_COMPLAINTS = 5
LONGEST_DETAIL = 1000
log = logging.getLogger("eitr.server")


def add_error_handlers(app: FastAPI, render: Render) -> None:
    """Let an application answer all expected errors with what `render` makes of a problem."""

    async def answer(request: Request, error: Exception) -> Response:
        return render(request, as_problem(error))

    for kind in (Problem, DomainError, RequestValidationError, HTTPException, OperationalError, NoConnectionError):
        app.add_exception_handler(kind, answer)


def as_problem(error: Exception) -> Problem:
    """Return an exception as a problem."""
    match error:
        case Problem():
            return error
        case DomainError():
            wait = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
            return Problem(error.code, error.detail, wait)
        case RequestValidationError():
            return Problem("malformed-request", _complaints(error))
        case HTTPException():
            slug = SLUGS.get(error.status_code, "malformed-request" if error.status_code < 500 else "failed")
            return Problem(slug, headers=dict(error.headers or {}))
        case OperationalError() if is_busy(error):
            log.warning("somebody else kept the database locked for too long; a request was told to come back later")
            return Problem("busy", "Somebody else is writing to the database.", {"Retry-After": "5"})
        case OperationalError() | NoConnectionError():  # the database does not answer
            log.warning("the database failed", exc_info=error)
            return Problem("busy", headers={"Retry-After": "5"})
        case _:
            return Problem("failed")


def _complaints(error: RequestValidationError) -> str:
    """Return what is wrong with a request. What was sent is not repeated: it may be anything."""
    told = "; ".join(f"{_place(one)}: {one['msg']}" for one in error.errors()[:MOST_COMPLAINTS])
    return told[:LONGEST_DETAIL]


def _place(error: dict[str, Any]) -> str:
    """Return the place of a mistake; the name of an unknown field is not repeated, either."""
    place = error["loc"][:-1] if error["type"] == "extra_forbidden" else error["loc"]
    return ".".join(str(part) for part in place)
