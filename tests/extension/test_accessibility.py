"""Every page of the extension in each state, light and dark, in both languages: for those who see it differently."""

from typing import Any

import pytest

from tests.server.dashboard.pages import complaints

from .browser import chromium_with_extension
from .federation import federation
from .node import ROOT
from .site import served

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CONTROLS = """() => [...(document.querySelector("dialog:modal") ?? document)
  .querySelectorAll("a[href], button, input, select, summary")]
  .filter((element) => element.checkVisibility() && !element.disabled)
  .map((element, place) => { element.dataset.place = String(place); return element.id || element.textContent })"""
FOCUSED = """() => {
  const element = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  return [element.dataset.place ?? null, outlineStyle !== "none" && parseFloat(outlineWidth) >= 2];
}"""


POPUP_HEIGHT = 600
"""The most pixels that browsers give a popup."""


class Survey:
    """What was found wrong, by language, state and circumstances."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.complaints: dict[str, list[str]] = {}
        self.too_wide: dict[str, int] = {}
        self.popup_heights: dict[str, int] = {}
        self.unreachable: dict[str, list[str]] = {}
        self.unmarked: dict[str, list[str]] = {}
        self.languages: set[str] = set()


OTHER_LANGUAGES = ("de", "es", "fr", "it", "pt")


@pytest.fixture(
    scope="module", params=["en", *(pytest.param(language, marks=pytest.mark.long) for language in OTHER_LANGUAGES)]
)
def survey(request: pytest.FixtureRequest, started: Any) -> Survey:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; run npm ci")
    from .states import in_language, states

    axe, found = AXE.read_text("utf-8"), Survey()
    with (
        served() as site,
        federation() as server,
        in_language(request.param) as folder,
        chromium_with_extension(started, folder=folder) as extension,
    ):
        for name, page in states(extension, site, server):
            found.names.add(name)
            found.languages.add(page.evaluate("document.documentElement.lang"))
            look(page, name, axe, found)
    assert found.languages == {request.param}
    return found


def look(page: Any, name: str, axe: str, found: Survey) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        # The popup is as wide as it likes, up to 800 pixels; at 200 % zoom a window has half its pixels.
        for width, height in ((1280, 800), (640, 400), (320, 600)):
            page.set_viewport_size({"width": width, "height": height})
            if page.evaluate(WIDE) > 0:
                found.too_wide[f"{name} {width}"] = page.evaluate(WIDE)
        # Once a scheme: what it finds depends on colours, hardly on widths, and it takes long.
        said = complaints(page, axe)
        if said:
            found.complaints[f"{name} {scheme}"] = said
    page.emulate_media(color_scheme="light")
    if name.startswith("popup"):
        # As wide as the popup makes itself: its text is at most 26 rem wide.
        page.set_viewport_size({"width": 416, "height": 300})
        found.popup_heights[name] = page.evaluate("document.querySelector('main').getBoundingClientRect().height")
    page.set_viewport_size({"width": 1280, "height": 800})
    controls = page.evaluate(CONTROLS)
    page.evaluate("() => { document.activeElement.blur(); getSelection().collapse(document.body, 0) }")
    reached: set[int] = set()
    for _ in range(len(controls) + 2):
        page.keyboard.press("Tab")
        place, marked = page.evaluate(FOCUSED)
        if place is not None:
            reached.add(int(place))
            if not marked:
                found.unmarked.setdefault(name, []).append(controls[int(place)])
    missed = [control for place, control in enumerate(controls) if place not in reached]
    if missed:
        found.unreachable[name] = missed


def test_all_states_were_seen(survey):
    pages = {name.partition("-")[0] for name in survey.names}
    assert pages == {"popup", "options", "welcome", "sent", "warning", "history"}
    assert len(survey.names) >= 33


def test_axe_has_nothing_to_complain_of(survey):
    assert survey.complaints == {}


def test_nothing_is_wider_than_the_window_at_twice_the_size_and_on_the_narrowest(survey):
    assert survey.too_wide == {}


def test_the_popup_is_shown_without_scrolling(survey):
    """Also with 24 companies, unfolded or not, and on the page of a task."""
    assert {"popup-24", "popup-24-companies", "popup-task", "popup-join"} <= survey.popup_heights.keys()
    high = {name: height for name, height in survey.popup_heights.items() if height > POPUP_HEIGHT}
    assert high.keys() <= {"popup-limit"}, f"higher than {POPUP_HEIGHT} px: {high}"


def test_every_control_is_reached_by_the_keyboard_and_shows_it(survey):
    assert survey.unreachable == {}
    assert survey.unmarked == {}
