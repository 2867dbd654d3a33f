"""The application of the API: its routes, and the OpenAPI document with the one shape of errors."""

from typing import Any

from fastapi import FastAPI

from eitr import __version__
from eitr.server.api import models, participants, rounds, study
from eitr.server.api.authentication import CredentialChecks
from eitr.server.api.documents import ProblemDocument
from eitr.server.domain.models import PREFIX
from eitr.server.domain.round_outcomes import RoundOutcomes
from eitr.server.domain.services import Services
from eitr.server.web.application import web_application
from eitr.server.web.problems import Problem, problem_document

OLD_PREFIX = "/api/v1"
"""Where version 1 of the protocol was."""


def api_application(services: Services) -> FastAPI:
    """Return the application."""
    app = web_application(
        services,
        problem_document,
        streamed=(rounds.UPDATE_PATH, study.TERMS_PATH),
        title="EITR",
        version=__version__,
        summary="Federated classification of sensitive web pages",
        openapi_url="/openapi.json",
    )
    app.state.credential_checks = CredentialChecks(services.participants)
    app.state.round_outcomes = RoundOutcomes(services.database)
    app.state.recent_rounds = rounds.RecentRounds()
    app.state.uploads = rounds.Uploads(services.settings.uploads_at_once)
    for part in (participants, models, rounds, study):
        app.include_router(part.router)
    app.openapi_schema = _document(app.openapi())
    return app


def old_api_application(services: Services) -> FastAPI:
    """Return an application that tells every client of version 1 to update, whatever it asks for."""
    app = web_application(services, problem_document, streamed=("/{path:path}",), openapi_url=None)

    async def update_needed(*_: Any) -> None:
        raise Problem("update-needed")

    app.router.default = update_needed
    return app


def _document(found: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI document with whole paths and with the errors that are really sent."""
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    schemas["ProblemDocument"] = ProblemDocument.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for path in found["paths"].values():
        for operation in path.values():
            known = operation.get("responses", {}).get("422", {}).get("content", {})
            if "application/json" in known:  # FastAPI's own error, which is never sent here
                del operation["responses"]["422"]
    return {**found, "paths": {f"{PREFIX}{path}": operations for path, operations in found["paths"].items()}}
