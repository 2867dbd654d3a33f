"""Templates, and how numbers and moments are written. Everything is escaped unless `charts` made it."""

import hashlib
import json
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from eitr import __version__
from eitr.server.dashboard.detectors import detector
from eitr.server.domain.clock import now
from eitr.taxonomy import TOPICS

HERE = Path(__file__).parent
HEADERS = {
    # Pages are private and change: the back button must ask again, too.
    "Cache-Control": "no-store",
    # With "no-referrer", which other answers have, browsers do not say where a form comes from.
    "Referrer-Policy": "same-origin",
}
NOTHING = "–"
REJECTIONS = {
    "wrong-length": "has the wrong length",
    "wrong-digest": "does not match its digest",
    "not-finite": "contains NaN or infinity",
    "too-great": "contains a number that no training leads to",
}
"""Why an update was rejected, by the code of the error."""


def page(template: str, status: int = 200, *, headers: dict[str, str] | None = None, **values: Any) -> HTMLResponse:
    """Return a page."""
    text = _templates().get_template(template).render(values)
    return HTMLResponse(text, status, {**(headers or {}), **HEADERS})


@cache
def _templates() -> Environment:
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for written in (short, share, points, moment, machine, lasting, until, figure, words, rejection, asset, detector):
        found.filters[written.__name__] = written
    found.globals.update(
        topics=TOPICS, server_version=__version__, nothing=NOTHING, who=None, problem=None, address=address
    )
    return found


@cache
def asset(name: str) -> str:
    """Return the address of a static file: another one when the file changes, so that browsers may keep it."""
    digest = hashlib.sha256((HERE / "static" / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"


def address(path: str, **query: Any) -> str:
    """Return an address with a query.

    >>> address("/rounds", page=2, sort=None)
    '/rounds?page=2'
    """
    kept = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(kept)}" if kept else path


def short(id: str) -> str:
    """Return how a participant is called.

    >>> short("0123456789abcdef0123456789abcdef")
    '01234567'
    """
    return id[:8]


def share(value: float | None, digits: int = 1) -> str:
    """Return a share as per cent.

    >>> share(0.9312), share(None)
    ('93.1 %', '–')
    """
    return NOTHING if value is None else f"{100 * value:.{digits}f} %"


def points(value: float | None, unit: str = "points") -> str:
    """Return a difference of two shares, with its sign and in points.

    >>> points(0.012), points(-0.03), points(0.0)
    ('+1.2 points', '−3.0 points', '±0.0 points')
    """
    if value is None:
        return NOTHING
    rounded = round(100 * value, 1)
    sign = "±" if rounded == 0 else "+" if rounded > 0 else "−"
    return f"{sign}{abs(rounded):.1f} {unit}"


def figure(value: float | None, digits: int = 2) -> str:
    """Return a number.

    >>> figure(0.126), figure(None)
    ('0.13', '–')
    """
    return NOTHING if value is None else f"{value:.{digits}f}"


def moment(value: datetime | None) -> str:
    """Return a moment as people read it.

    >>> from datetime import UTC
    >>> moment(datetime(2027, 3, 1, 9, 5, tzinfo=UTC))
    '1 Mar 2027, 09:05 UTC'
    """
    return NOTHING if value is None else f"{value.day} {value:%b %Y, %H:%M} UTC"


def machine(value: datetime) -> str:
    """Return a moment as programs read it."""
    return value.isoformat(timespec="seconds")


def lasting(seconds: float | None) -> str:
    """Return how long something took, with what matters.

    >>> lasting(0.1234), lasting(75), lasting(7300), lasting(200000)
    ('0.12 s', '1 min 15 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds is None:
        return NOTHING
    if seconds < 10:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    for unit, name, part, part_name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= unit:
            rest = whole % unit // part
            return f"{whole // unit} {name} {rest} {part_name}" if rest else f"{whole // unit} {name}"
    return f"{whole} s"


def until(value: datetime) -> str:
    """Return how long it is until a moment, as roughly as a page may be old."""
    left = value - now()
    if left <= timedelta(0):
        return "now"
    return "in less than a minute" if left < timedelta(minutes=1) else f"in {lasting(left.total_seconds() // 60 * 60)}"


def words(detail: dict[str, Any]) -> str:
    """Return what an entry of the audit log adds, as one line.

    >>> words({"round": 3, "reason": "", "founders": True})
    'round: 3; founders: yes'
    """
    return "; ".join(f"{name}: {_word(value)}" for name, value in detail.items() if value not in ("", None))


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else json.dumps(value)


def rejection(code: str) -> str:
    """Return why an update was rejected, in words; a code that is not known here as it is.

    >>> rejection("not-finite"), rejection("new-one")
    ('contains NaN or infinity', 'new-one')
    """
    return REJECTIONS.get(code, code)
