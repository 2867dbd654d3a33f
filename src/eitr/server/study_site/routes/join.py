"""The page that connects the extension to this server. The code is in the fragment, which the server never sees."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from eitr.server.study_site.rendering import Visit
from eitr.server.web.dependencies import Server

router = APIRouter()


@router.get("/join")
def join(request: Request, server: Server) -> Response:
    """Show the address of the server, and how to connect."""
    address = server.settings.public_address or f"{request.url.scheme}://{request.headers.get('host', '')}"
    return Visit(request, None).page("join.html", server=address)
