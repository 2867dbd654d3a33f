"""The extension, for people who have consented."""

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from eitr.server.study_site.errors import PackageNeedsConsent
from eitr.server.study_site.guard import KnownStudy, present_person
from eitr.server.web.dependencies import Server
from eitr.server.web.packages import package_file
from eitr.server.web.problems import Problem

router = APIRouter()


@router.get("/study/{slug}/download/{file}")
def download(request: Request, server: Server, study: KnownStudy, file: str) -> Response:
    """Hand out a package to a participant of the study."""
    if present_person(request, study) is None:
        raise PackageNeedsConsent
    path = package_file(server.settings, file)
    if path is None:
        raise Problem("not-found", "There is no such package here.")
    return FileResponse(path, media_type="application/zip", filename=path.name, headers={"Cache-Control": "no-store"})
