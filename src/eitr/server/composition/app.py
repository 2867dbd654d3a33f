"""The application: the API, the dashboard and the monitoring addresses, each mounted where it belongs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.routing import Mount, Route, Router

from eitr.server import operations
from eitr.server.api.application import OLD_PREFIX, api_application, old_api_application
from eitr.server.dashboard.application import dashboard_application
from eitr.server.domain.models import PREFIX
from eitr.server.domain.services import Services


def application(services: Services) -> Router:
    """Return the application of a server; it starts and stops the services."""

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        services.start()
        yield
        services.stop()

    monitoring = operations.operations_application(services)
    return Router(
        routes=[
            *(Route(path, monitoring) for path in operations.PATHS),
            Mount(PREFIX, api_application(services)),
            Mount(OLD_PREFIX, old_api_application(services)),
        ],
        # Not mounted at "/": no pattern matches every path, such as one with a line break.
        default=dashboard_application(services),
        redirect_slashes=False,
        lifespan=lifespan,
    )
