"""Addresses for whoever monitors the server: is it alive, is it ready, and its numbers. They are not rate limited."""

from fastapi import APIRouter, FastAPI, Response
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from eitr.server.db.tables import ParticipantRow, RoundRow, RoundStatus
from eitr.server.domain.services import Services
from eitr.server.web.application import web_application
from eitr.server.web.dependencies import Server
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
        raise Problem("busy", "The database does not answer.") from error
    return Response("ready\n", media_type="text/plain")


@router.get("/metrics")
def metrics(server: Server) -> Response:
    """Return the numbers in the format of Prometheus."""
    if not server.settings.metrics:
        raise Problem("not-found")
    numbers = server.metrics
    with server.database.reading() as session:
        numbers.participants.set(session.scalar(select(func.count()).select_from(ParticipantRow)) or 0)
        found = session.scalar(select(RoundRow).where(RoundRow.status == RoundStatus.OPEN))
    numbers.version.set(server.models.current().version)
    numbers.open_round.set(found.id if found else 0)
    numbers.received.set(found.received if found else 0)
    return Response(numbers.text(), media_type="text/plain; version=0.0.4")
