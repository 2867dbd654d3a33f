"""Withdrawal: one last question, then everything is deleted."""

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from eitr.server.study_site.guard import INVITATION, PERSON, CsrfCheckedPerson, KnownStudy, Person, Visitor, forget
from eitr.server.study_site.rendering import Visit
from eitr.server.web.dependencies import Server
from eitr.server.web.forms import SubmittedForm

router = APIRouter(prefix="/study/{slug}")


@router.get("/me/withdraw")
def ask(request: Request, server: Server, person: Person) -> Response:
    """Ask whether somebody really wants to withdraw, and say what that means."""
    return _question(request, server, person)


@router.post("/me/withdraw")
def withdraw(request: Request, server: Server, person: CsrfCheckedPerson, sent: SubmittedForm) -> Response:
    """Delete everything about a person."""
    if not sent.checked("sure"):
        visit = Visit(request, person.study)
        return _question(request, server, person, 400, visit.say("withdraw", "missing"))
    server.studies.people.withdraw(person.id)
    answer = RedirectResponse(f"/study/{person.study.slug}/withdrawn", 303)
    forget(request, answer, person.study, PERSON, INVITATION)
    return answer


@router.get("/withdrawn")
def withdrawn(request: Request, study: KnownStudy) -> Response:
    """Say that it is done."""
    return Visit(request, study).page("withdrawn.html")


def _question(request: Request, server: Server, person: Visitor, status: int = 200, message: str = "") -> Response:
    progress = server.studies.people.progress(person.id)
    visit = Visit(request, person.study)
    return visit.page("withdraw.html", status, csrf=person.csrf, progress=progress, message=message)
