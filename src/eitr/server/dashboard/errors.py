"""Problems as pages, for people; programs get documents."""

from urllib.parse import quote

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard.rendering import page
from eitr.server.web.problems import Problem

FOR_PROGRAMS = ("/api/", "/healthz", "/readyz", "/metrics")


class SignInNeeded(Exception):  # noqa: N818 (nothing failed)
    """Ends a request of somebody who must sign in first."""


async def to_login(request: Request, _error: Exception) -> Response:
    """Send somebody to the sign-in page, and afterwards back to where they wanted to go."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = f"?next={quote(wanted)}" if request.method == "GET" and wanted != "/" else ""
    return RedirectResponse(f"/login{back}", 303, {"Cache-Control": "no-store"})


def answered(request: Request, problem: Problem) -> Response:
    """Return a problem as who asked can read it."""
    if request.url.path.startswith(FOR_PROGRAMS) or not _reads_pages(request):
        return problem.answer()
    return page("problem.html", problem.kind.status, problem=problem, headers=problem.headers)


def _reads_pages(request: Request) -> bool:
    """Say whether this is a part of the dashboard, or a browser that got lost."""
    endpoint = request.scope.get("endpoint")
    ours = getattr(endpoint, "__module__", "").startswith("eitr.server.dashboard.")
    return ours or "text/html" in request.headers.get("accept", "")
