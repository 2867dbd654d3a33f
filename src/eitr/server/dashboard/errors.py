"""Problems as pages, and the errors that only the dashboard has."""

from urllib.parse import quote

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard.rendering import page
from eitr.server.web.problems import Problem, problem_document


class SignInNeeded(Exception):  # noqa: N818 (nothing failed)
    """Ends a request of somebody who must sign in first."""


async def to_login(request: Request, _error: Exception) -> Response:
    """Send somebody to the sign-in page, and afterwards back to where they wanted to go."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = f"?next={quote(wanted)}" if request.method == "GET" and wanted != "/" else ""
    return RedirectResponse(f"/login{back}", 303, {"Cache-Control": "no-store"})


def problem_page(request: Request, problem: Problem) -> Response:
    """Return a problem as a page; as a document for programs that asked for an address without a page."""
    is_page = isinstance(request.scope.get("route"), APIRoute)
    if is_page or "text/html" in request.headers.get("accept", ""):
        return page("problem.html", problem.kind.status, problem=problem, headers=problem.headers)
    return problem_document(request, problem)
