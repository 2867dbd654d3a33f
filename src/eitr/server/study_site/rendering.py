"""Pages of the site: a template, the sentences of the visitor's language, and the texts of the study."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from eitr import __version__
from eitr.server.domain.study.register import Study
from eitr.server.study_site.disclosure import points_above_share
from eitr.server.study_site.languages import COOKIE, COOKIE_HOURS, LANGUAGES, PARAMETER, chosen
from eitr.server.study_site.texts import Texts
from eitr.server.web.cookies import set_cookie
from eitr.server.web.dependencies import services_of
from eitr.taxonomy import NAMES

HERE = Path(__file__).parent
HEADERS = {
    # Pages are private and change: the back button must ask again, too.
    "Cache-Control": "no-store",
    # With "no-referrer", which other answers have, browsers do not say where a form comes from.
    "Referrer-Policy": "same-origin",
}
SECONDS_PER_PAGE = 90
"""About how long reading and labelling a page takes, for the information sheet."""


@dataclass(frozen=True, slots=True)
class SharedFiles:
    """Addresses of files that all pages of the server use."""

    stylesheet: str
    icon: str


class Visit:
    """One request as pages need it: the study, the visitor's language, and what it says."""

    def __init__(self, request: Request, study: Study | None, language: str = "") -> None:
        """`language` is that of the page which a form was sent from."""
        self.request, self.study = request, study
        texts: Texts = request.app.state.texts
        self._texts = texts
        self.offered = offered_languages(study)
        self.language = language if language in self.offered else chosen(request, self.offered)
        self.sentences = texts.sentences(self.language)

    def say(self, section: str, name: str, /, **values: Any) -> str:
        """Return a sentence in the visitor's language."""
        return self.sentences[section][name].format(**values)

    def text(self, name: str) -> Markup:
        """Return a text of the study in the visitor's language, as HTML."""
        return self._texts.text(self.language, name, self.values())

    def values(self) -> dict[str, Any]:
        """Return what texts may name."""
        assert self.study is not None
        study, settings, server = self.study, self.study.settings, services_of(self.request).settings
        noise = server.noise if server.training == "private" else 0.0
        return {
            "title": study.title,
            "group": settings.group,
            "contact": settings.contact,
            "purpose": settings.purpose,
            "pages": settings.pages_per_person,
            "minutes": max(5, round(settings.pages_per_person * SECONDS_PER_PAGE / 60 / 5) * 5),
            "uses": settings.uses_per_page,
            "points": points_above_share(noise, settings.uses_per_page),
            "noisy": noise > 0,
            "collect_labels": settings.collect_labels,
            "collect_terms": settings.collect_terms,
            "reward": settings.reward,
            "hide_prediction": settings.hide_prediction,
            "contact_days": round(server.keep_contacts_days),
            "study_days": round(server.keep_study_days),
        }

    def page(
        self, template: str, status: int = 200, *, headers: Mapping[str, str] | None = None, **values: Any
    ) -> HTMLResponse:
        """Return a page; a language that was asked for in the address is remembered."""
        shared: SharedFiles = self.request.app.state.shared
        content = (
            _templates()
            .get_template(template)
            .render(
                {
                    "visit": self,
                    "say": self.say,
                    "text": self.text,
                    "study": self.study,
                    "language": self.language,
                    "languages": {code: LANGUAGES[code] for code in self.offered},
                    "path": self.request.url.path,
                    "shared": shared,
                    "logo": self._texts.logo is not None,
                    "message": "",
                    "notice": "",
                    **values,
                }
            )
        )
        answer = HTMLResponse(content, status, {**(headers or {}), **HEADERS, "Content-Language": self.language})
        if self.request.query_params.get(PARAMETER) == self.language:
            set_cookie(self.request, answer, COOKIE, self.language, COOKIE_HOURS, samesite="lax")
        return answer


def offered_languages(study: Study | None) -> list[str]:
    """Return the languages of a study that the site has; all of them without a study."""
    wanted = list(LANGUAGES) if study is None else [code for code in study.settings.languages if code in LANGUAGES]
    return wanted or ["en"]


@cache
def _templates() -> Environment:
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(asset=asset, day=day, machine=machine)
    found.globals.update(server_version=__version__, classes=NAMES)
    return found


@cache
def asset(name: str) -> str:
    """Return the address of a static file: another one when the file changes, so that browsers may keep it."""
    digest = hashlib.sha256((HERE / "static" / name).read_bytes()).hexdigest()
    return f"/study-files/{name}?v={digest[:12]}"


def day(value: datetime, language: str) -> str:
    """Return a date as people write it.

    >>> from datetime import UTC
    >>> day(datetime(2027, 3, 1, tzinfo=UTC), "de"), day(datetime(2027, 3, 1, tzinfo=UTC), "en")
    ('1.3.2027', '1 March 2027')
    """
    return f"{value.day}.{value.month}.{value.year}" if language == "de" else f"{value.day} {value:%B %Y}"


def machine(value: datetime) -> str:
    """Return a moment as programs read it."""
    return value.isoformat(timespec="seconds")
