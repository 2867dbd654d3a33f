"""Addresses for whoever monitors the server: is it alive, is it ready, and its numbers. They are not rate limited."""

import ipaddress

from fastapi import APIRouter, FastAPI, Request, Response
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from eitr.server.db.tables import ParticipantRow, RoundRow, RoundStatus
from eitr.server.domain import formal_privacy
from eitr.server.domain.keys import same
from eitr.server.domain.services import Services
from eitr.server.web.application import web_application
from eitr.server.web.dependencies import Server, client_address
from eitr.server.web.problems import Problem, problem_document

PATHS = ("/healthz", "/readyz", "/metrics")
router = APIRouter()


def operations_application(services: Services) -> FastAPI:
    """Return the application of all these addresses."""
    app = web_application(services, problem_document, limited=False, openapi_url=None)
    app.include_router(router)
    return app


@router.get("/healthz")
async def alive() -> Response:
    """Say that the process answers."""
    return Response("ok\n", media_type="text/plain")


@router.get("/readyz")
def ready(server: Server) -> Response:
    """Say whether the database answers and there is a model."""
    try:
        server.models.current()
    except SQLAlchemyError as error:
        raise Problem("busy", "The database does not answer.", {"Retry-After": "5"}) from error
    return Response("ready\n", media_type="text/plain")


@router.get("/metrics")
def metrics(server: Server, request: Request) -> Response:
    """Return the numbers in the format of Prometheus."""
    if not server.settings.metrics:
        raise Problem("not-found")
    _check_reader(server.settings.metrics_token.get_secret_value(), request)
    numbers = server.metrics
    with server.database.reading() as session:
        numbers.participants.set(session.scalar(select(func.count()).select_from(ParticipantRow)) or 0)
        found = session.scalar(select(RoundRow).where(RoundRow.status == RoundStatus.OPEN))
        privacy = formal_privacy.spent(session, server.settings)
    if privacy is not None:
        numbers.epsilon.labels(f"{privacy.delta:g}").set(privacy.epsilon)
    numbers.version.set(server.models.current().version)
    numbers.open_round.set(found.id if found else 0)
    numbers.received.set(found.received if found else 0)
    return Response(numbers.text(), media_type="text/plain; version=0.0.4")


def _check_reader(token: str, request: Request) -> None:
    """Refuse whoever may not read the numbers: they say how many updates the open round has."""
    if token:
        kind, _, sent = request.headers.get("authorization", "").partition(" ")
        allowed = kind.lower() == "bearer" and same(sent.strip().encode(), token.encode())
    else:
        # What came through a proxy may come from anywhere, whatever address it seems to have.
        forwarded = any(name in request.headers for name in ("x-forwarded-for", "forwarded", "via"))
        allowed = not forwarded and _is_loopback(client_address(request))
    if not allowed:
        raise Problem(
            "token-needed",
            "Send `Authorization: Bearer TOKEN` with the token that EITR_METRICS_TOKEN sets.",
            {"WWW-Authenticate": "Bearer"},
        )


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
