"""In and out: the first password, signing in, signing out."""

import logging

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard import guard
from eitr.server.dashboard.attempts import Attempts
from eitr.server.dashboard.guard import CsrfCheckedOperator
from eitr.server.dashboard.rendering import address, page
from eitr.server.domain.audit import note as note_action
from eitr.server.domain.errors import DomainError, InvalidInputError
from eitr.server.domain.operators import (
    SHORTEST_PASSWORD,
    delete_link_file,
    link_is_valid,
    set_password,
    sign_in,
    sign_out,
)
from eitr.server.web.cookies import cookie, delete_cookie, set_cookie
from eitr.server.web.dependencies import Server, client_address
from eitr.server.web.errors import as_problem
from eitr.server.web.form_tokens import FORM, FORM_HOURS, check_first_form, fresh_form
from eitr.server.web.forms import SubmittedForm

log = logging.getLogger("eitr.server")
router = APIRouter()
LONGEST_CODE = 100


@router.get("/setup")
def ask_for_a_password(request: Request, code: str = "") -> Response:
    """Show the form that makes an operator."""
    return _form(request, "setup.html", code=code[:LONGEST_CODE], name="", shortest=SHORTEST_PASSWORD)


@router.post("/setup")
def set_a_password(request: Request, server: Server, sent: SubmittedForm) -> Response:
    """Make an operator, or give one a new password."""
    check_first_form(request, sent)
    code, name, password = sent.secret("code")[:LONGEST_CODE], sent.secret("name").strip(), sent.secret("password")
    try:
        if password != sent.secret("again"):
            raise InvalidInputError("The two passwords are not the same.")
        attempts, asking = _attempts(request), client_address(request)
        valid = link_is_valid(server.database, code)
        if not valid:  # a valid link lets its owner in, however many attempts others have made from there
            attempts.count_code(asking)
        with attempts.hashing(known=valid):
            set_password(server.database, code, name, password)
    except DomainError as error:
        problem = as_problem(error)
        return _form(
            request,
            "setup.html",
            problem.kind.status,
            headers=problem.headers,
            message=problem.detail,
            code=code,
            name=name[:100],
            shortest=SHORTEST_PASSWORD,
        )
    attempts.succeeded(asking, name)
    delete_link_file(server.settings.folder)
    return RedirectResponse(address("/login", notice="password"), 303)


@router.get("/login")
def ask_who(request: Request, next: str = "/", notice: str = "") -> Response:
    """Show the form to sign in; whoever is signed in goes on."""
    if guard.present(request) is not None:
        return RedirectResponse(guard.local_path(next), 303)
    return _form(request, "login.html", name="", next=guard.local_path(next), notice=notice)


@router.post("/login")
def sign_somebody_in(request: Request, server: Server, sent: SubmittedForm) -> Response:
    """Begin a session."""
    check_first_form(request, sent)
    name, wanted = sent.secret("name").strip()[:100], guard.local_path(sent.secret("next"))
    attempts, asking = _attempts(request), client_address(request)
    try:
        known = attempts.count(asking, name)
        with attempts.hashing(known=known):
            token = sign_in(server.database, name, sent.secret("password"), server.settings.session_hours)
        if token is None:
            log.warning("a password was wrong")
            raise InvalidInputError("The name or the password is wrong.")
    except DomainError as error:
        problem = as_problem(error)
        return _form(
            request,
            "login.html",
            problem.kind.status,
            headers=problem.headers,
            message=problem.detail,
            name=name,
            next=wanted,
            notice="",
        )
    attempts.succeeded(asking, name)
    before = cookie(request, guard.SESSION)
    if before:
        sign_out(server.database, before)
    answer = RedirectResponse(wanted, 303)
    set_cookie(request, answer, guard.SESSION, token, server.settings.session_hours)
    delete_cookie(request, answer, FORM)
    return answer


@router.post("/logout")
def sign_somebody_out(request: Request, server: Server, who: CsrfCheckedOperator) -> Response:
    """End a session."""
    sign_out(server.database, cookie(request, guard.SESSION))
    note_action(server.database, who.name, "signed out")
    answer = RedirectResponse(address("/login", notice="out"), 303)
    delete_cookie(request, answer, guard.SESSION)
    return answer


def _form(
    request: Request, template: str, status: int = 200, *, headers: dict[str, str] | None = None, **values: object
) -> Response:
    value, field = fresh_form(request)
    answer = page(template, status, headers=headers, csrf=field, **{"message": "", **values})
    set_cookie(request, answer, FORM, value, FORM_HOURS)
    return answer


def _attempts(request: Request) -> Attempts:
    found: Attempts = request.app.state.attempts
    return found
