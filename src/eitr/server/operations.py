"""For those who watch over the server: is it alive, is it ready, how is it doing."""

from fastapi import APIRouter, Response
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from eitr.server.api.authentication import Asked
from eitr.server.db.tables import Participant, Round, State
from eitr.server.web.problems import Problem

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def alive() -> Response:
    """Say that the process answers."""
    return Response("ok\n", media_type="text/plain")


@router.get("/readyz")
def ready(server: Asked) -> Response:
    """Say whether the database answers and there is a model."""
    try:
        server.models.current()
    except SQLAlchemyError as error:
        raise Problem("busy", "The database does not answer.") from error
    return Response("ready\n", media_type="text/plain")


@router.get("/metrics")
def metrics(server: Asked) -> Response:
    """Return numbers for Prometheus."""
    if not server.settings.metrics:
        raise Problem("not-found")
    numbers = server.metrics
    with server.database.reading() as session:
        numbers.participants.set(session.scalar(select(func.count()).select_from(Participant)) or 0)
        found = session.scalar(select(Round).where(Round.state == State.OPEN))
    numbers.version.set(server.models.current().version)
    numbers.open_round.set(found.id if found else 0)
    numbers.received.set(found.received if found else 0)
    return Response(numbers.text(), media_type="text/plain; version=0.0.4")
