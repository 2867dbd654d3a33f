"""All parts of the dashboard, added to an application."""

from pathlib import Path

from fastapi import APIRouter, FastAPI
from starlette.staticfiles import StaticFiles

from eitr.server.dashboard.attempts import Attempts
from eitr.server.dashboard.errors import SignInNeeded, to_login
from eitr.server.dashboard.routes import (
    audit,
    entry,
    exports,
    extension,
    invitations,
    models,
    overview,
    participants,
    rounds,
)

PARTS = (entry, overview, rounds, participants, models, invitations, audit, exports, extension)
STATIC = Path(__file__).parent / "static"


def add_dashboard(app: FastAPI) -> None:
    """Add the pages, the files they need, and the way to the sign-in page."""
    router = APIRouter(include_in_schema=False)
    for part in PARTS:
        router.include_router(part.router)
    app.state.attempts = Attempts()
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_exception_handler(SignInNeeded, to_login)
