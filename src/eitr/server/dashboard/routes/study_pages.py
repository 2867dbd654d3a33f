"""The pages of a study: the upload of a list, and the check whether they are still there."""

import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from eitr.errors import InputError
from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn, SignedInOperator
from eitr.server.dashboard.page_checks import PageChecks
from eitr.server.dashboard.queries.listing import Page, cut
from eitr.server.dashboard.rendering import address, page
from eitr.server.dashboard.routes.studies import Slug
from eitr.server.domain.errors import DomainError
from eitr.server.domain.services import Services
from eitr.server.domain.study.pages_list import LARGEST_FILE, MOST_NAMED, PageListError
from eitr.server.web.dependencies import Server
from eitr.server.web.form_tokens import check_form
from eitr.server.web.forms import SubmittedForm
from eitr.server.web.uploads import Upload, upload_of

router = APIRouter(prefix="/studies/{slug}")
UPLOAD = "/studies/{slug}/pages"
"""The path of the upload, whose body is not read beforehand."""
FILE = "pages.csv"
UploadedFile = Annotated[Upload, Depends(upload_of(LARGEST_FILE, "file"))]


@router.get("/pages")
def listed(server: Server, who: SignedIn, request: Request, slug: Slug, number: Page = 1, notice: str = "") -> Response:
    """Show the pages of a study."""
    return _page(server, who, request, slug, number, notice=notice)


@router.post("/pages")
def uploaded(server: Server, who: SignedIn, request: Request, slug: Slug, sent: UploadedFile) -> Response:
    """Import a list: all of it, or nothing if a line has a mistake."""
    check_form(sent.form, who.csrf)
    server.studies.register.get(slug)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        path.write_bytes(sent.file)
        try:
            server.studies.pages.import_file(slug, path, who=who.name)
        except PageListError as error:
            told = [_without(folder, one) for one in error.errors]
            return _page(server, who, request, slug, 1, 400, mistakes=told)
        except (InputError, DomainError) as error:
            detail = error.detail if isinstance(error, DomainError) else str(error)
            return _page(server, who, request, slug, 1, 400, mistakes=[_without(folder, detail)])
    return RedirectResponse(address(f"/studies/{slug}/pages", notice="imported"), 303)


@router.post("/check")
def checked(server: Server, who: CsrfCheckedOperator, request: Request, sent: SubmittedForm, slug: Slug) -> Response:
    """Start a check of all pages."""
    server.studies.register.get(slug)
    _checks(request).start(slug, archive=sent.checked("archive"), who=who.name)
    return RedirectResponse(address(f"/studies/{slug}/pages", notice="checking"), 303)


def _page(
    server: Services,
    who: SignedInOperator,
    request: Request,
    slug: str,
    number: int,
    status: int = 200,
    *,
    notice: str = "",
    mistakes: list[str] | None = None,
) -> Response:
    study = server.studies.register.get(slug)
    everything = server.studies.pages.all(slug)
    return page(
        "study_pages.html",
        status,
        who=who,
        notice=notice,
        study=study,
        listing=cut(everything, number),
        states=server.studies.monitor.of(study).pages,
        copies=sum(one.copied for one in everything),
        checking=_checks(request).running(slug),
        mistakes=(mistakes or [])[:MOST_NAMED],
        more_mistakes=max(0, len(mistakes or []) - MOST_NAMED),
        largest=LARGEST_FILE // 2**20,
    )


def _checks(request: Request) -> PageChecks:
    found: PageChecks = request.app.state.page_checks
    return found


def _without(folder: str, message: str) -> str:
    """Return a message without the folder that the file was in for a moment."""
    return message.replace(f"{Path(folder) / FILE}: ", "").replace(folder, "")
