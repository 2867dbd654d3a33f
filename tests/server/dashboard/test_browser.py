"""The dashboard in a real browser, at a real server: what only scripts and style sheets can break."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from eitr.server.db.connection import Database
from eitr.server.db.tables import RoundRow, SessionRow
from eitr.server.domain.keys import secret_hash
from tests.server.dashboard.example import OPERATOR, PASSWORD, ROUNDS
from tests.server.dashboard.pages import AXE, PATIENCE_MS, complaints, paths, sign_in
from tests.server.dashboard.served import served


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("served")
    with served(folder) as (address, example):
        database = Database(f"sqlite:///{folder / 'eitr.db'}")
        yield address, example, database
        database.close()


def new_context(chromium: Any, address: str) -> Any:
    context = chromium.new_context(base_url=address)
    context.set_default_timeout(PATIENCE_MS)
    return context


@pytest.fixture(scope="module")
def signed_in(chromium: Any, running: Any) -> Iterator[Any]:
    context = new_context(chromium, running[0])
    page = context.new_page()
    sign_in(page, OPERATOR, PASSWORD)
    page.close()
    yield context
    context.close()


@pytest.fixture
def page(signed_in: Any) -> Iterator[Any]:
    """A page that notes what its console says: a broken policy is said there."""
    found = signed_in.new_page()
    found.said = []
    found.on("console", lambda message: found.said.append(message.text))
    yield found
    found.close()


def received(database: Database, **values: Any) -> None:
    with database.writing() as session:
        session.execute(update(RoundRow).where(RoundRow.id == ROUNDS + 1).values(**values))


def test_the_live_part_follows_the_round_and_keeps_the_focus(page, running):
    database = running[2]
    received(database, received=6, status="open")
    with page.expect_response("**/live"):  # from then on it knows what is shown
        page.goto("/")
    page.focus("#live-round")
    received(database, received=8)
    page.wait_for_selector("text=8 of 10 updates received")
    assert page.evaluate("document.activeElement.id") == "live-round"
    page.focus("#live-close")
    received(database, status="closing")
    page.wait_for_selector(".live .state.closing")
    assert page.evaluate("document.activeElement.id") == "content"
    assert page.text_content("[data-live-said]") == f"Round {ROUNDS + 1} is closing"
    received(database, status="open")
    assert page.said == []


def test_nothing_is_asked_while_nobody_looks(page, running):
    page.clock.install()
    page.goto("/")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/live") else None)
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    page.clock.run_for(60_000)
    assert asked == []
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    with page.expect_request("**/live"):
        page.clock.run_for(60_000)


def test_when_the_session_ends_the_page_leads_to_the_sign_in_form(chromium, running):
    context = new_context(chromium, running[0])
    page = context.new_page()
    sign_in(page, OPERATOR, PASSWORD)
    token = next(one["value"] for one in context.cookies() if one["name"] == "eitr_session")
    with running[2].writing() as session:
        session.delete(session.get_one(SessionRow, secret_hash(token)))
    page.wait_for_url(re.compile("/login"))
    assert page.title().startswith("Sign in")
    context.close()


def test_the_policy_is_kept_and_nothing_sticks_out_at_any_width(page, running):
    wrong = []
    for width in (360, 640, 1280):  # 640: a window of 1280 at 200 %
        page.set_viewport_size({"width": width, "height": 900})
        for name, path in paths(running[1]).items():
            page.goto(path)
            more = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            wrong += [f"{name} at {width}: {more} too wide"] if more > 0 else []
    assert wrong == []
    assert [said for said in page.said if "404" not in said] == []


SIDEWAYS = """[...document.querySelectorAll(".scroll")]
    .filter((part) => part.checkVisibility() && part.scrollWidth > part.clientWidth + 1)
    .map((part) => part.getAttribute("aria-label") ?? part.getAttribute("aria-labelledby"))"""


def test_on_a_phone_nothing_has_to_be_scrolled_sideways(page, running):
    page.set_viewport_size({"width": 360, "height": 800})
    found = []
    for name, path in paths(running[1]).items():
        page.goto(path)
        found += [f"{name}: {part}" for part in page.evaluate(SIDEWAYS)]
    assert found == []
    page.goto("/rounds")
    newest = page.locator("tbody tr").first
    assert newest.locator("th").inner_text() == str(ROUNDS + 1)
    box = newest.bounding_box()
    assert (box["x"] >= 0, box["x"] + box["width"] <= 360, box["y"] + box["height"] <= 800) == (True, True, True)


def test_the_keyboard_reaches_the_content_first(page):
    page.goto("/rounds")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core: npm install --no-save axe-core, or set EITR_AXE")
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_axe_finds_nothing_wrong(page, running, scheme):
    page.emulate_media(color_scheme=scheme)
    axe = AXE.read_text()
    found = []
    for name, path in paths(running[1]).items():
        page.goto(path)
        found += [f"{name}: {one}" for one in complaints(page, axe)]
    assert found == []
