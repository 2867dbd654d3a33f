"""How each application of the server is made: errors rendered in its own way, behind the same middleware."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI

from eitr.server.domain.services import Services
from eitr.server.web.errors import Render, add_error_handlers
from eitr.server.web.middleware import RequestGuard


def web_application(
    services: Services, render: Render, *, limited: bool = True, streamed: Sequence[str] = (), **options: Any
) -> FastAPI:
    """Return an application without routes.

    `render` makes an answer of a problem. `limited` applies the limit on requests per minute. `streamed` are the paths
    whose handlers read the body of a request themselves; every other body is small and read beforehand.
    """
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would redirect to whatever host the client names
        root_path_in_servers=False,
        **options,
    )
    app.state.services = services
    add_error_handlers(app, render)
    app.add_middleware(
        RequestGuard,
        limit=services.requests if limited else None,
        metrics=services.metrics,
        body_seconds=services.settings.upload_seconds,
        render=render,
        streamed=streamed,
        https=services.settings.https,
    )
    return app
