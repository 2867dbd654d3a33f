"""What handlers of all applications ask for."""

from typing import Annotated

from fastapi import Depends, Request

from eitr.server.domain.services import Services


def services_of(request: Request) -> Services:
    """Return the services of the application that a request came to."""
    found: Services = request.app.state.services
    return found


async def _services(request: Request) -> Services:
    """Return the same; FastAPI runs dependencies that are not `async` in another thread, which costs more."""
    return services_of(request)


Server = Annotated[Services, Depends(_services)]


def client_address(request: Request) -> str:
    """Return the network address of whoever sent a request."""
    return request.client.host if request.client else "?"
