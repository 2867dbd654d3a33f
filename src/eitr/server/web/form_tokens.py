"""Protection of forms against other sites (CSRF).

Forms of somebody who has a session carry a keyed hash of its token, which no other site can read or compute. Forms of
somebody who has none must come from this site, by what the browser says, with the cookie that was set with the form.
"""

from urllib.parse import urlsplit

from fastapi import Request

from eitr.server.domain.keys import Key, new_secret, same
from eitr.server.web.cookies import cookie
from eitr.server.web.dependencies import services_of
from eitr.server.web.forms import Form
from eitr.server.web.problems import Forbidden

FORM = "eitr_form"
FIELD = "csrf"
FORM_HOURS = 1.0
"""How long somebody may think about a form before it must be loaded again."""
OLD = "The page is too old, or was not one of this site. Go back, reload it, and try again."


def csrf_of(key: Key, token: str) -> str:
    """Return what the forms of a session carry."""
    return key.hash("csrf", token).hex()


def check_form(sent: Form, csrf: str) -> None:
    """Refuse a form that was not sent from a page of the session that `csrf` belongs to."""
    if not same(csrf.encode(), sent.secret(FIELD).encode()):
        raise Forbidden(OLD)


def fresh_form(request: Request) -> tuple[str, str]:
    """Return a cookie's value and the field that goes with it, for somebody who has no session."""
    value = cookie(request, FORM) or new_secret()
    return value, _field(services_of(request).key, value)


def check_first_form(request: Request, sent: Form) -> None:
    """Refuse a form of somebody without a session unless it was sent from here, with the cookie that came with it."""
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
