"""Archived copies of pages: plain documents in a sandbox, which carry no cookie and run nothing."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from eitr.server.domain.study.archived_copy import HEADERS
from eitr.server.study_site.guard import KnownStudy
from eitr.server.web.dependencies import Server
from eitr.server.web.problems import Problem

router = APIRouter()
Id = Annotated[int, Path(ge=1, le=2**62)]


@router.get("/study/{slug}/copies/{id}")
def copy(server: Server, study: KnownStudy, id: Id) -> Response:
    """Show an archived copy."""
    found = server.studies.pages.copy(study.slug, id)
    if found is None:
        raise Problem("not-found", "There is no copy of this page.")
    return Response(found, headers=HEADERS)
