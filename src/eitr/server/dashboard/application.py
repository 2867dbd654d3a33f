"""The application of the dashboard: all pages, and the files they need."""

from pathlib import Path

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from eitr.server.dashboard.attempts import Attempts
from eitr.server.dashboard.errors import SignInNeeded, problem_page, to_login
from eitr.server.dashboard.page_checks import PageChecks
from eitr.server.dashboard.routes import (
    alerts,
    audit,
    entry,
    exports,
    extension,
    invitations,
    models,
    notes,
    overview,
    participants,
    rounds,
    settings,
    studies,
    study_experts,
    study_pages,
    study_people,
)
from eitr.server.domain.services import Services
from eitr.server.web.application import web_application

PARTS = (
    entry,
    overview,
    rounds,
    participants,
    models,
    invitations,
    alerts,
    audit,
    exports,
    extension,
    notes,
    settings,
    # Before the studies themselves, whose actions match any last part of a path.
    study_pages,
    study_people,
    study_experts,
    studies,
)
STATIC = Path(__file__).parent / "static"


def dashboard_application(services: Services) -> FastAPI:
    """Return the application."""
    app = web_application(services, problem_page, streamed=[study_pages.UPLOAD], openapi_url=None)
    app.state.attempts = Attempts(services.database, services.key)
    app.state.page_checks = PageChecks(services.studies.pages)
    for part in PARTS:
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_exception_handler(SignInNeeded, to_login)
    return app
