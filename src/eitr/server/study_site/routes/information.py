"""What the study is about, and the group's logo."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from eitr.server.study_site.guard import KnownStudy, present_person
from eitr.server.study_site.rendering import Visit
from eitr.server.web.problems import Problem

router = APIRouter()
LOGO_HEADERS = {
    # A drawing (SVG) may hold scripts; nothing of it runs, also where it is opened by itself.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cache-Control": "max-age=3600",
}


@router.get("/study/{slug}")
def information(request: Request, study: KnownStudy) -> Response:
    """Show what the study is about, and the information sheet."""
    return Visit(request, study).page("information.html", known=present_person(request, study) is not None)


@router.get("/study-logo")
def logo(request: Request) -> Response:
    """Hand out the group's logo."""
    found = request.app.state.texts.logo
    if found is None:
        raise Problem("not-found", "There is no logo.")
    return Response(found.content, media_type=found.media_type, headers=LOGO_HEADERS)
