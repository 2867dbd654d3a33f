"""Beginning: the code of the invitation, and consents. Nothing is stored before."""

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from eitr.server.domain.errors import (
    DomainError,
    InvitationNeededError,
    LimitReachedError,
    StudyClosedError,
    TextsChangedError,
)
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.people import Begun
from eitr.server.domain.study.register import Study
from eitr.server.study_site.consent_texts import check_shown, kinds_of, shown_hash, shown_text
from eitr.server.study_site.guard import INVITATION, PERSON, KnownStudy, remember
from eitr.server.study_site.rendering import Visit
from eitr.server.web.cookies import set_cookie
from eitr.server.web.dependencies import Server, client_address
from eitr.server.web.errors import as_problem
from eitr.server.web.form_tokens import FORM, FORM_HOURS, check_first_form, fresh_form
from eitr.server.web.forms import Form, SubmittedForm

router = APIRouter(prefix="/study/{slug}/start")
LONGEST_CODE = 100
HIGHEST_VERSION = 1_000_000


@router.get("")
def ask(request: Request, study: KnownStudy) -> Response:
    """Show what people consent to."""
    return _form(Visit(request, study), study)


@router.post("")
def begin(request: Request, server: Server, study: KnownStudy, sent: SubmittedForm) -> Response:
    """Begin, with the consents that were ticked."""
    check_first_form(request, sent)
    visit = Visit(request, study, sent.text("shown", longest=8))
    code = sent.text("code", longest=LONGEST_CODE)
    ticked = [kind for kind in kinds_of(study) if sent.checked(kind)]
    texts = {kind: shown_text(visit, kind) for kind in ticked}
    version = sent.number("version", 1, HIGHEST_VERSION)
    try:
        check_shown(visit, study, sent)
        if ConsentKind.PARTICIPATION not in ticked:
            return _form(visit, study, 400, message=visit.say("start", "consent_missing"), code=code, ticked=ticked)
        begun = server.studies.people.start(study.slug, code, visit.language, texts, version)
    except DomainError as error:
        if isinstance(error, InvitationNeededError):
            error = _counted(server, request, error)
        return _refused(visit, study, error, sent, ticked)
    return _entered(request, study, begun, code)


@router.post("/back")
def come_back(request: Request, server: Server, study: KnownStudy, sent: SubmittedForm) -> Response:
    """Let somebody in who takes part already, also when the study is closed."""
    check_first_form(request, sent)
    code = sent.text("code", longest=LONGEST_CODE)
    try:
        return _entered(request, study, server.studies.people.come_back(study.slug, code), code)
    except InvitationNeededError as error:
        return _refused(Visit(request, study), study, _counted(server, request, error), sent, [])


def _entered(request: Request, study: Study, begun: Begun, code: str) -> Response:
    answer = RedirectResponse(f"/study/{study.slug}/me", 303)
    remember(request, answer, study, PERSON, begun.secret)
    # For the link that connects the extension: the server itself does not keep the code.
    remember(request, answer, study, INVITATION, code)
    return answer


def _counted(server: Server, request: Request, error: DomainError) -> DomainError:
    """Count a wrong code; return why there are no more answers for it, if there were too many."""
    try:
        server.enrolments.count_wrong_code(client_address(request))
    except LimitReachedError as limit:
        return limit
    return error


def _refused(visit: Visit, study: Study, error: DomainError, sent: Form, ticked: list[ConsentKind]) -> Response:
    problem = as_problem(error)
    told = {
        InvitationNeededError: ("start", "wrong_code"),
        LimitReachedError: ("problem", "too_many"),
        StudyClosedError: ("start", "not_open"),
        TextsChangedError: ("problem", "texts_changed"),
    }.get(type(error))
    return _form(
        visit,
        study,
        problem.kind.status,
        headers=problem.headers,
        message=visit.say(*told) if told else problem.detail,
        code=sent.text("code", longest=LONGEST_CODE),
        # A text that has changed must be read again before its box is ticked.
        ticked=[] if isinstance(error, TextsChangedError) else ticked,
    )


def _form(
    visit: Visit, study: Study, status: int = 200, *, headers: dict[str, str] | None = None, **values: object
) -> Response:
    value, field = fresh_form(visit.request)
    shown = {"csrf": field, "kinds": kinds_of(study), "code": "", "ticked": [], **values}
    shown["texts"] = shown_hash(visit, study)
    answer = visit.page("start.html", status, headers=headers, **shown)
    set_cookie(visit.request, answer, FORM, value, FORM_HOURS)
    return answer
