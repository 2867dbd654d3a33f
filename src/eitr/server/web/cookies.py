"""Cookies that scripts do not see and other sites cannot use."""

from typing import Literal

from fastapi import Request, Response

from eitr.server.web.dependencies import services_of

LONGEST_COOKIE = 200


def cookie(request: Request, name: str) -> str:
    """Return a cookie; nothing if it is missing, or none of ours."""
    value = request.cookies.get(name, "")
    return value if len(value) <= LONGEST_COOKIE and value.isascii() else ""


def set_cookie(
    request: Request,
    response: Response,
    name: str,
    value: str,
    hours: float,
    *,
    path: str = "/",
    samesite: Literal["strict", "lax"] = "strict",
) -> None:
    """Set a cookie. `lax`: browsers send it when a link on another site, such as in an e-mail, leads here."""
    response.set_cookie(
        name,
        value,
        max_age=int(hours * 3600),
        path=path,
        httponly=True,
        samesite=samesite,
        secure=_is_secure(request),
    )


def delete_cookie(
    request: Request, response: Response, name: str, *, path: str = "/", samesite: Literal["strict", "lax"] = "strict"
) -> None:
    """Delete a cookie that was set here, with the same path."""
    response.delete_cookie(name, path=path, httponly=True, samesite=samesite, secure=_is_secure(request))


def _is_secure(request: Request) -> bool:
    """Say whether browsers reach the server by https: a proxy may forget to say so."""
    return request.url.scheme == "https" or services_of(request).settings.https
