"""A server with a study, and browsers without scripts that use its site."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.dashboard.conftest import Browser, MakeSite, Site, _cheap_passwords, begun_sites, make_site
from tests.server.dashboard.served import offer_packages
from tests.server.study_site.study import SLUG, ExampleStudy

__all__ = ["_cheap_passwords", "begun_sites", "make_site"]
BASE = f"/study/{SLUG}"


class StudySite:
    """A server with a study."""

    def __init__(self, site: Site, study: ExampleStudy) -> None:
        self.site, self.study, self.services = site, study, site.services

    def visitor(self, language: str = "en", network: str = "192.0.2.1") -> "Visitor":
        found = Visitor(self.site.app, network=network)
        found.client.headers["Accept-Language"] = language
        return found

    def begun(self, *consents: str, language: str = "en") -> "Visitor":
        """Return somebody who has consented."""
        visitor = self.visitor(language)
        answer = visitor.begin(self.study.invite()[0], "participation", *consents)
        assert answer.status_code == 303, answer.text
        return visitor

    def person(self, visitor: "Visitor") -> str:
        """Return the id of somebody who has begun."""
        found = self.services.studies.people.find(SLUG, visitor.client.cookies["eitr_person"])
        assert found is not None
        return found


class Visitor(Browser):
    """Somebody at the study site."""

    def field(self, path: str, name: str) -> str:
        found = re.search(rf'name="{name}" value="([^"]*)"', self.get(path).text)
        assert found is not None, (path, name)
        return found[1]

    def begin(self, code: str, *ticked: str, **more: str) -> httpx.Response:
        page = f"{BASE}/start"
        fields = {name: self.field(page, name) for name in ("csrf", "version", "shown", "texts")}
        return self.post(page, {**fields, "code": code, **dict.fromkeys(ticked, "yes"), **more})

    def do(self, path: str, **fields: str) -> httpx.Response:
        """Send a form of one's own page."""
        return self.post(f"{BASE}/me{path}", {"csrf": self.token(f"{BASE}/me/withdraw"), **fields})


MakeStudy = Callable[..., StudySite]


@pytest.fixture
def make_study(make_site: MakeSite, tmp_path: Path) -> MakeStudy:
    """A function that makes a server with a study."""

    def make(*, server: dict[str, Any] | None = None, **settings: Any) -> StudySite:
        offer_packages(tmp_path)
        site = make_site(empty=True, downloads=tmp_path, **(server or {}))
        return StudySite(site, ExampleStudy(site.services, tmp_path, **settings))

    return make


@pytest.fixture
def study(make_study: MakeStudy) -> StudySite:
    """A server with an open study that asks for everything."""
    return make_study()
