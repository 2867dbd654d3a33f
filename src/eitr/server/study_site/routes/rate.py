"""Experts rate pages: one at a time, blind to each other, with the keyboard if they like, and go on where they were."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import RedirectResponse, Response

from eitr.server.domain.study.raters import PageToRate, Rater
from eitr.server.domain.study.register import Study, StudyStatus
from eitr.server.study_site.guard import RATER, KnownStudy, forget, present_rater, remember
from eitr.server.study_site.rendering import Visit
from eitr.server.web.cookies import set_cookie
from eitr.server.web.dependencies import Server, client_address
from eitr.server.web.form_tokens import FORM, FORM_HOURS, check_first_form, check_form, fresh_form
from eitr.server.web.forms import SubmittedForm
from eitr.server.web.problems import Problem
from eitr.taxonomy import NAMES

router = APIRouter(prefix="/study/{slug}/rate")
LONGEST_TOKEN = 100
Id = Annotated[int, Path(ge=1, le=2**62)]


@router.get("")
def go_on(request: Request, server: Server, study: KnownStudy) -> Response:
    """Lead to the first page that is not rated yet; ask for the token of whoever is no rater."""
    known = present_rater(request, study)
    if known is None:
        return _entry(request, study)
    rater, csrf = known
    pages = server.studies.raters.pages(rater.id)
    following = _unrated(pages)
    if following is None:
        first = pages[0].id if pages else None
        return Visit(request, study).page("rated.html", first=first, rater=rater.name, csrf=csrf)
    return RedirectResponse(f"/study/{study.slug}/rate/{following}", 303)


@router.post("")
def enter(request: Request, server: Server, study: KnownStudy, sent: SubmittedForm) -> Response:
    """Let a rater in by their token."""
    check_first_form(request, sent)
    token = sent.text("token", longest=LONGEST_TOKEN)
    if server.studies.raters.find(study.slug, token) is None:
        return _refused(request, server, study)
    answer = RedirectResponse(f"/study/{study.slug}/rate", 303)
    remember(request, answer, study, RATER, token)
    return answer


@router.post("/leave")
def leave(request: Request, study: KnownStudy, sent: SubmittedForm) -> Response:
    """Sign a rater out of this browser."""
    _rater(request, study, sent)
    answer = RedirectResponse(f"/study/{study.slug}/rate", 303)
    forget(request, answer, study, RATER)
    return answer


@router.get("/{id}")
def show(request: Request, server: Server, study: KnownStudy, id: Id) -> Response:
    """Show a page by its id: places in the list change when pages are found dead."""
    known = present_rater(request, study)
    if known is None:
        return RedirectResponse(f"/study/{study.slug}/rate", 303)
    return _page(request, server, study, known, id)


@router.post("/{id}")
def rate(request: Request, server: Server, study: KnownStudy, sent: SubmittedForm, id: Id) -> Response:
    """Store what the rater chose, and go on with the next page that is not rated."""
    known = _rater(request, study, sent)
    if study.status is StudyStatus.CLOSED:
        raise Problem("study-closed")
    label = sent.text("label")
    if label not in NAMES:
        message = Visit(request, study).say("rate", "missing")
        return _page(request, server, study, known, id, 400, message)
    server.studies.raters.rate(known[0].id, id, label)
    pages = server.studies.raters.pages(known[0].id)
    following = _unrated(pages, _place(pages, id))
    return RedirectResponse(f"/study/{study.slug}/rate" + (f"/{following}" if following else ""), 303)


def _rater(request: Request, study: Study, sent: SubmittedForm) -> tuple[Rater, str]:
    """Return the rater who sent a form; refuse one that was not sent from a page of theirs."""
    known = present_rater(request, study)
    check_form(sent, known[1] if known else "-")
    assert known is not None
    return known


def _place(pages: list[PageToRate], id: int) -> int:
    """Return the place of a page in the list, from 1."""
    for place, one in enumerate(pages, 1):
        if one.id == id:
            return place
    raise Problem("not-found", "The study has no such page, or it was found dead.")


def _unrated(pages: list[PageToRate], after: int = 0) -> int | None:
    """Return the id of the next page that is not rated after a place; after the last one comes the first."""
    return next((one.id for one in [*pages[after:], *pages[:after]] if one.label is None), None)


def _page(
    request: Request,
    server: Server,
    study: Study,
    known: tuple[Rater, str],
    id: int,
    status: int = 200,
    message: str = "",
) -> Response:
    rater, csrf = known
    pages = server.studies.raters.pages(rater.id)
    number, visit = _place(pages, id), Visit(request, study)
    shown, after = pages[number - 1], _unrated(pages, number)
    return visit.page(
        "rate.html",
        status,
        csrf=csrf,
        rater=rater.name,
        id=id,
        number=number,
        before=pages[number - 2].id if number > 1 else None,
        following=pages[number].id if number < len(pages) else None,
        total=len(pages),
        done=sum(one.label is not None for one in pages),
        url=shown.url,
        copied=shown.url.startswith("/"),
        label=shown.label,
        after=after if after != id else None,
        closed=study.status is StudyStatus.CLOSED,
        guidance=visit.text("sensitive_data"),
        message=message,
    )


def _refused(request: Request, server: Server, study: Study) -> Response:
    """Count a wrong token, and say so."""
    server.enrolments.count_wrong_code(client_address(request))
    return _entry(request, study, 403, Visit(request, study).say("rate", "wrong_token"))


def _entry(request: Request, study: Study, status: int = 200, message: str = "") -> Response:
    value, field = fresh_form(request)
    answer = Visit(request, study).page("enter_rating.html", status, csrf=field, message=message)
    set_cookie(request, answer, FORM, value, FORM_HOURS)
    return answer
