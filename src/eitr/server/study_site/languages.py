"""English or German: what the visitor chose, else what their browser prefers."""

from collections.abc import Sequence

from fastapi import Request

from eitr.server.web.cookies import cookie

LANGUAGES = {"en": "English", "de": "Deutsch"}
COOKIE = "eitr_language"
PARAMETER = "language"
COOKIE_HOURS = 365 * 24.0
LONGEST_HEADER = 500


def chosen(request: Request, offered: Sequence[str]) -> str:
    """Return the language of an answer: asked for in the address, else chosen before, else the browser's, else the
    first that is offered."""
    preferred = (request.query_params.get(PARAMETER, ""), cookie(request, COOKIE))
    for language in (*preferred, *accepted(request.headers.get("accept-language", ""))):
        if language in offered:
            return language
    return offered[0]


def accepted(header: str) -> list[str]:
    """Return the languages that a browser asks for, most wanted first, without their regions.

    >>> accepted("fr;q=0.3, de-AT, en;q=0.8, *;q=0.1")
    ['de', 'en', 'fr', '*']
    """
    wanted = []
    for place, part in enumerate(header[:LONGEST_HEADER].split(",")):
        name, _, quality = part.partition(";q=")
        try:
            value = float(quality or 1)
        except ValueError:
            value = 0.0
        wanted.append((-value, place, name.strip().lower().partition("-")[0]))
    return [name for _, _, name in sorted(wanted) if name]
