"""The dashboard of a server with a past, and a browser without scripts that uses it."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import argon2
import httpx
import pytest
from lxml import html
from sqlalchemy import select
from starlette.testclient import TestClient

from eitr.server.composition.app import application
from eitr.server.composition.wiring import build_services, prepared_database
from eitr.server.db import schema
from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow
from eitr.server.domain import operators
from eitr.server.domain.keys import Key
from eitr.server.domain.services import Services
from eitr.server.settings import ServerSettings, read_settings
from tests.server.dashboard.example import OPERATOR, PASSWORD, Example, fill, make_operator

HERE = "http://eitr.test"


class Site:
    """A running server, and who is who on it."""

    def __init__(self, services: Services, example: Example | None) -> None:
        self.services, self.example = services, example
        self.app = application(services)

    def browser(self, address: str = HERE, network: str = "192.0.2.1") -> "Browser":
        return Browser(self.app, address, network)

    def signed_in(self, name: str = OPERATOR, password: str = PASSWORD) -> "Browser":
        browser = self.browser()
        assert browser.sign_in(name, password).status_code == 303
        return browser

    def audit(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return who did what, oldest first."""
        with self.services.database.reading() as session:
            return [
                (one.who, one.action, one.detail) for one in session.scalars(select(AuditRow).order_by(AuditRow.id))
            ]


class Browser:
    """Sends what a browser sends: cookies, where a form comes from, and the hidden fields of its page."""

    def __init__(self, app: Any, address: str = HERE, network: str = "192.0.2.1") -> None:
        self.client = TestClient(
            app, base_url=address, follow_redirects=False, raise_server_exceptions=False, client=(network, 50000)
        )
        self.address = address

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path, headers={"Accept": "text/html"})

    def post(self, path: str, fields: dict[str, str], headers: dict[str, str] | None = None) -> httpx.Response:
        usual = {"Accept": "text/html", "Origin": self.address, "Sec-Fetch-Site": "same-origin"}
        return self.client.post(path, data=fields, headers={**usual, **(headers or {})})

    def token(self, path: str = "/") -> str:
        """Return what the forms of a page carry."""
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', self.get(path).text)
        assert found is not None
        return found[1]

    def act(self, path: str, **fields: str) -> httpx.Response:
        """Send a form of a page of one's session."""
        return self.post(path, {"csrf": self.token(), **fields})

    def sign_in(self, name: str = OPERATOR, password: str = PASSWORD, next: str = "/") -> httpx.Response:
        fields = {"csrf": self.token("/login"), "name": name, "password": password, "next": next}
        return self.post("/login", fields)

    def page(self, path: str) -> html.HtmlElement:
        answer = self.get(path)
        assert answer.status_code == 200, (path, answer.status_code)
        return html.document_fromstring(answer.text)


MakeSite = Callable[..., Site]


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed quickly: how slow it is on purpose is not what is tested here."""
    quick = argon2.PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr(operators, "_hasher", quick)
    monkeypatch.setattr(operators, "_NOBODY", quick.hash("nobody"))


@dataclass(frozen=True)
class Begun:
    """A folder with keys and database, which tests copy: to fill a database anew takes a second."""

    folder: Path
    example: Example | None


@pytest.fixture(scope="session")
def begun_sites(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool, bool], Begun]:
    """A function that returns what a server starts with: `empty`, or with a past and perhaps a round under way."""

    @cache
    def begin(empty: bool, under_way: bool) -> Begun:
        folder = tmp_path_factory.mktemp("begun")
        settings = read_settings(folder=folder, worker=False)
        return Begun(folder, _begin(settings, empty=empty, under_way=under_way))

    return begin


def _begin(settings: ServerSettings, *, empty: bool, under_way: bool) -> Example | None:
    key, kept = Key.of(settings.folder), Database(settings.database_address)
    schema.upgrade(kept)
    example = None if empty else fill(kept, key, under_way=under_way)
    make_operator(kept)
    kept.close()
    if empty:
        prepared_database(settings)[0].close()
    return example


@pytest.fixture
def make_site(tmp_path: Path, begun_sites: Callable[[bool, bool], Begun]) -> Iterator[MakeSite]:
    """A function that makes a server; `empty`: nothing has happened on it yet."""
    made: list[Site] = []

    def make(*, empty: bool = False, under_way: bool = True, database: str = "", **settings: Any) -> Site:
        folder = tmp_path / f"server{len(made)}"
        given = read_settings(
            folder=folder, database=database, worker=False, **{"requests_per_minute": 1_000_000, **settings}
        )
        if database == "" and "first_model" not in settings:
            begun = begun_sites(empty, under_way)
            shutil.copytree(begun.folder, folder)
            example = begun.example
        else:
            example = _begin(given, empty=empty, under_way=under_way)
        made.append(Site(build_services(given), example))
        return made[-1]

    yield make
    for site in made:
        site.services.stop()


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """A server with a past, and a round that is open."""
    return make_site()


@pytest.fixture
def browser(site: Site) -> Browser:
    """Somebody who is signed in."""
    return site.signed_in()
