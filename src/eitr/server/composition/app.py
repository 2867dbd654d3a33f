"""The application: routes, problems, and what starts and stops with it."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from eitr import __version__
from eitr.server import api, operations
from eitr.server.api.authentication import Known
from eitr.server.api.documents import ProblemDocument
from eitr.server.api.rounds import RecentRounds, Uploads
from eitr.server.composition.services import Services
from eitr.server.dashboard.errors import answered
from eitr.server.dashboard.site import add_dashboard
from eitr.server.web.middleware import Doors
from eitr.server.web.problems import Problem

log = logging.getLogger("eitr.server")
SLUGS = {404: "not-found", 405: "method-not-allowed"}


def application(server: Services) -> FastAPI:
    """Return the application of a server."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        server.start()
        yield
        server.stop()

    app = FastAPI(
        title="EITR",
        version=__version__,
        summary="Federated classification of sensitive web pages",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,  # it would redirect to whatever host the client names
    )
    app.state.services = server
    app.state.known = Known()
    app.state.recent_rounds = RecentRounds()
    app.state.uploads = Uploads(server.settings.uploads_at_once)
    app.include_router(api.router)
    app.include_router(operations.router)
    add_dashboard(app)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(OperationalError, _busy)
    app.add_middleware(
        Doors,
        requests=server.requests,
        metrics=server.metrics,
        seconds=server.settings.upload_seconds,
        answered=answered,
    )
    _declare_problems(app)
    return app


def _declare_problems(app: FastAPI) -> None:
    """Put the one shape of errors into the OpenAPI document."""
    document = app.openapi()
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["ProblemDocument"] = ProblemDocument.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for path in document["paths"].values():
        for operation in path.values():
            known = operation.get("responses", {}).get("422", {}).get("content", {})
            if "application/json" in known:  # FastAPI's own, which nobody is sent here
                del operation["responses"]["422"]
    app.openapi_schema = document


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return answered(request, error)


async def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # What was sent is not repeated: it may be anything.
    told = "; ".join(f"{_place(one)}: {one['msg']}" for one in error.errors()[:5])
    return answered(request, Problem("malformed-request", told[:1000]))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    slug = SLUGS.get(error.status_code, "malformed-request" if error.status_code < 500 else "failed")
    return answered(request, Problem(slug, headers=dict(error.headers or {})))


async def _busy(request: Request, error: Exception) -> Response:
    """The database does not answer, or is locked: for the moment."""
    log.warning("the database failed", exc_info=error)
    return answered(request, Problem("busy", headers={"Retry-After": "5"}))


def _place(error: dict[str, Any]) -> str:
    """Return where something is wrong; the name of a field that we do not know is not repeated."""
    place = error["loc"][:-1] if error["type"] == "extra_forbidden" else error["loc"]
    return ".".join(str(part) for part in place)
