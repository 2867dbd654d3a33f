"""The application: the API, the study site, the dashboard and the monitoring addresses, each where it belongs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.routing import Mount, Route, Router

from eitr.server import operations
from eitr.server.api.application import OLD_PREFIX, api_application, old_api_application
from eitr.server.dashboard.application import dashboard_application
from eitr.server.dashboard.rendering import asset
from eitr.server.domain.models import PREFIX
from eitr.server.domain.services import Services
from eitr.server.study_site.application import PATHS, study_application
from eitr.server.study_site.rendering import SharedFiles


def application(services: Services) -> Router:
    """Return the application of a server; it starts and stops the services."""

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        services.start()
        yield
        services.stop()

    site = study_application(services, SharedFiles(asset("dashboard.css"), asset("icon.svg")))
    monitoring = operations.operations_application(services)
    return Router(
        routes=[
            *(Route(path, monitoring) for path in operations.PATHS),
            *(Route(path, site) for path in PATHS),
            Mount(PREFIX, api_application(services)),
            Mount(OLD_PREFIX, old_api_application(services)),
        ],
        # Not mounted at "/": no pattern matches every path, such as one with a line break.
        default=dashboard_application(services),
        redirect_slashes=False,
        lifespan=lifespan,
    )
