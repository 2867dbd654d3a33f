"""The application: the API, the dashboard and the monitoring addresses, each mounted where it belongs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.routing import Mount, Route

from eitr.server import operations
from eitr.server.api.application import PREFIX, api_application
from eitr.server.dashboard.application import dashboard_application
from eitr.server.domain.services import Services


def application(services: Services) -> Starlette:
    """Return the application of a server; it starts and stops the services."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        services.start()
        yield
        services.stop()

    monitoring = operations.operations_application(services)
    return Starlette(
        routes=[
            *(Route(path, monitoring) for path in operations.PATHS),
            Mount(PREFIX, api_application(services)),
            Mount("/", dashboard_application(services)),
        ],
        lifespan=lifespan,
    )
