"""The page where people get the browser extension: everybody may see it.

While a study is open, its site hands out the extension, after consent; here only operators get it.
"""

import math

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from eitr.model.private import largest_auc
from eitr.model.round_plan import MOST_USES
from eitr.server.dashboard.guard import present
from eitr.server.dashboard.rendering import page
from eitr.server.domain.services import Services
from eitr.server.domain.study.register import Study, StudyStatus
from eitr.server.web.dependencies import Server
from eitr.server.web.packages import offered, package_file
from eitr.server.web.problems import Forbidden, Problem

router = APIRouter()


@router.get("/extension")
def downloads(server: Server, request: Request) -> Response:
    """Show what there is, with hashes to compare; or which study to take part in."""
    who = present(request)
    return page(
        "extension.html",
        who=who,
        packages=offered(server.settings),
        studies=[] if who else open_studies(server),
        training=server.settings.training,
        bound=percentage_bound(server.settings.noise),
    )


@router.get("/extension/{file}")
def download(file: str, server: Server, request: Request) -> Response:
    """Hand out a package."""
    if open_studies(server) and present(request) is None:
        raise Forbidden("This server runs a study: read what it is about and consent first, then download it there.")
    path = package_file(server.settings, file)
    if path is None:
        raise Problem("not-found", "There is no such package here.")
    return FileResponse(path, media_type="application/zip", filename=path.name)


def open_studies(server: Services) -> list[Study]:
    """Return the studies that people can take part in."""
    return [study for study in server.studies.register.all() if study.status is StudyStatus.OPEN]


def percentage_bound(noise: float) -> int:
    """Return in how many of 100 cases anybody can be right, at most, about whether a certain page was trained on.

    It is the largest area under the ROC curve, rounded up; a single guess is right less often.
    """
    return math.ceil(100 * largest_auc(noise, MOST_USES))
