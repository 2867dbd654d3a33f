"""Who is signed in to the dashboard, and whether a form was really sent from a page of their session."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from eitr.server.dashboard.errors import SignInNeeded
from eitr.server.domain.alerts import count
from eitr.server.domain.operators import signed_in
from eitr.server.web.cookies import cookie
from eitr.server.web.dependencies import services_of
from eitr.server.web.form_tokens import check_form, csrf_of
from eitr.server.web.forms import SubmittedForm

SESSION = "eitr_session"


@dataclass(frozen=True, slots=True)
class SignedInOperator:
    """Somebody who is signed in."""

    name: str
    csrf: str
    """What their forms carry."""
    problems: Callable[[], int] = field(repr=False, compare=False)
    """Counts what is wrong with the server; only pages that say so ask."""


def present(request: Request) -> SignedInOperator | None:
    """Return who is signed in, if anybody."""
    token = cookie(request, SESSION)
    server = services_of(request)
    name = signed_in(server.database, token) if token else None
    if name is None:
        return None
    return SignedInOperator(name, csrf_of(server.key, token), lambda: count(server.database, server.settings))


def operator(request: Request) -> SignedInOperator:
    """Return who is signed in; send everybody else to the sign-in page."""
    found = present(request)
    if found is None:
        raise SignInNeeded
    return found


def acting(who: Annotated[SignedInOperator, Depends(operator)], sent: SubmittedForm) -> SignedInOperator:
    """Return who sent a form; refuse one that was not sent from a page of their session."""
    check_form(sent, who.csrf)
    return who


def local_path(path: str | None) -> str:
    """Return where to go after signing in: a path of this site, the start page instead of anything else.

    >>> local_path("/rounds/3?page=2"), local_path("//evil.example"), local_path("https://evil.example")
    ('/rounds/3?page=2', '/', '/')
    """
    if not path or not path.startswith("/") or path.startswith("//") or len(path) > 500:
        return "/"
    if "\\" in path or not path.isascii() or not path.isprintable():
        return "/"
    return path


SignedIn = Annotated[SignedInOperator, Depends(operator)]
CsrfCheckedOperator = Annotated[SignedInOperator, Depends(acting)]
