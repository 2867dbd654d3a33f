"""Sign-in sessions, and protection of forms against other sites (CSRF).

Forms of somebody who is signed in carry a keyed hash of the session, which no other site can read or compute. Forms of
somebody who is not must come from this site, by what the browser says, with the cookie that was set with the form.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response

from eitr.server.dashboard.errors import Forbidden, SignInNeeded
from eitr.server.dashboard.forms import Form, SubmittedForm
from eitr.server.domain.alerts import count
from eitr.server.domain.keys import Key, new_secret, same
from eitr.server.domain.operators import signed_in
from eitr.server.web.dependencies import services_of

SESSION = "eitr_session"
FORM = "eitr_form"
FIELD = "csrf"
LONGEST_COOKIE = 200
OLD = "The page is too old, or was not one of this site. Go back, reload it, and try again."


@dataclass(frozen=True, slots=True)
class SignedInOperator:
    """Somebody who is signed in."""

    name: str
    csrf: str
    """What their forms carry."""
    problems: Callable[[], int] = field(repr=False, compare=False)
    """Counts what is wrong with the server; only pages that say so ask."""


def cookie(request: Request, name: str) -> str:
    """Return a cookie; nothing if it is missing, or none of ours."""
    value = request.cookies.get(name, "")
    return value if len(value) <= LONGEST_COOKIE and value.isascii() else ""


def set_cookie(request: Request, response: Response, name: str, value: str, hours: float) -> None:
    """Set a cookie that scripts do not see and other sites do not send."""
    response.set_cookie(
        name,
        value,
        max_age=int(hours * 3600),
        path="/",
        httponly=True,
        samesite="strict",
        secure=_is_secure(request),
    )


def delete_cookie(request: Request, response: Response, name: str) -> None:
    """Delete a cookie that was set here."""
    response.delete_cookie(name, path="/", httponly=True, samesite="strict", secure=_is_secure(request))


def _is_secure(request: Request) -> bool:
    """Say whether browsers reach the server by https: a proxy may forget to say so."""
    return request.url.scheme == "https" or services_of(request).settings.https


def csrf_of(key: Key, token: str) -> str:
    """Return what the forms of a session carry."""
    return key.hash("csrf", token).hex()


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
    if not same(who.csrf.encode(), sent.secret(FIELD).encode()):
        raise Forbidden(OLD)
    return who


def fresh_form(request: Request) -> tuple[str, str]:
    """Return a cookie's value and the field that goes with it, for somebody who is not signed in."""
    value = cookie(request, FORM) or new_secret()
    return value, _field(services_of(request).key, value)


def check_first_form(request: Request, sent: Form) -> None:
    """Refuse a form of somebody not signed in unless it was sent from here, with the cookie that came with it."""
    value = cookie(request, FORM)
    field = _field(services_of(request).key, value)
    if not (_from_here(request) and value and same(field.encode(), sent.secret(FIELD).encode())):
        raise Forbidden(OLD)


def _field(key: Key, value: str) -> str:
    return key.hash("form", value).hex()


def _from_here(request: Request) -> bool:
    """Say whether the browser says so. All browsers send one of the two headers with a form."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = urlsplit(request.headers.get("origin", "")).netloc
    public = urlsplit(services_of(request).settings.public_address).netloc
    return bool(origin) and origin in (request.headers.get("host"), public)


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
