"""The application of the study site: all pages, and the files they need."""

from pathlib import Path

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from eitr.server.domain.services import Services
from eitr.server.study_site.errors import problem_page
from eitr.server.study_site.rendering import SharedFiles
from eitr.server.study_site.routes import copies, downloads, information, join, me, rate, start, withdraw
from eitr.server.study_site.texts import Texts
from eitr.server.web.application import web_application

PARTS = (join, start, me, withdraw, downloads, copies, rate, information)
STATIC = Path(__file__).parent / "static"
PATHS = ("/join", "/study-logo", "/study-files/{rest:path}", "/study/{rest:path}")
"""What the site answers to."""


def study_application(services: Services, shared: SharedFiles) -> FastAPI:
    """Return the application; a mistake in the group's own texts is an `InputError` that says where it is."""
    app = web_application(services, problem_page, openapi_url=None)
    app.state.texts = Texts(services.settings.study_templates)
    app.state.shared = shared
    for part in PARTS:
        app.include_router(part.router)
    app.mount("/study-files", StaticFiles(directory=STATIC), name="study-files")
    return app
