"""Marks on links: for people who point or tab there, and not for pages that want to know what is known."""

from collections.abc import Iterator
from typing import Any

import pytest

from .browser import until
from .pages import HEALTH, tracked
from .running import running_extension
from .site import Site, served

PAGE = """<!doctype html><title>Links</title>
<style>a {{ display: block; width: 9em; height: 2em }}</style>
<p>A page about nothing.</p><input id="first">
<a id="known" href="{known}">known</a><a id="other" href="{other}">other</a>
<script>
  globalThis.marks = 0;
  new MutationObserver((changes) => {{ for (const {{ addedNodes }} of changes) marks += addedNodes.length }})
    .observe(document.documentElement, {{ childList: true }});
</script>"""
REST_MS = 700


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def marking(site: Site) -> Iterator[Any]:
    """A browser that knows one host and marks links."""
    with running_extension() as found:
        page = found.context.new_page()
        page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
        found.wait_for_badge(page, "H!")
        page.close()
        with found.asking("options") as ask:
            ask({"kind": "change", "settings": {"linkMarks": True}})
        yield found


@pytest.fixture
def page(marking: Any, site: Site) -> Iterator[Any]:
    known, other = site.address("clinic.test"), site.address("match.test")
    shown = marking.context.new_page()
    shown.goto(site.put("links.test", "/", PAGE.format(known=known, other=other)))
    marking.wait_until_read(shown)
    shown.wait_for_timeout(300)
    yield shown
    shown.close()


def marks(page: Any) -> int:
    page.wait_for_timeout(REST_MS)
    return page.evaluate("globalThis.marks")


def test_a_link_under_the_pointer_is_marked_if_its_host_is_known(page):
    page.hover("#other")
    assert marks(page) == 0
    page.hover("#known")
    until(lambda: page.evaluate("globalThis.marks") == 1, what="a mark")
    assert page.evaluate("document.documentElement.lastElementChild.shadowRoot") is None, "the page cannot look into it"
    page.hover("#first")
    until(lambda: page.evaluate("document.documentElement.lastElementChild === document.body"), what="no mark")


def test_a_link_that_is_reached_by_the_tab_key_is_marked(page):
    page.focus("#first")
    page.keyboard.press("Tab")
    assert marks(page) == 1


def test_a_page_that_makes_up_events_learns_nothing(page):
    page.evaluate("""() => {
      for (const name of ["pointerover", "focusin"])
        document.querySelector("#known").dispatchEvent(new PointerEvent(name, { bubbles: true, composed: true }));
    }""")
    assert marks(page) == 0


def test_a_page_that_moves_the_focus_learns_nothing(page):
    page.evaluate("document.querySelector('#known').focus()")
    assert marks(page) == 0


def test_a_page_that_moves_a_link_under_a_resting_pointer_learns_nothing(page):
    page.mouse.move(100, 200)
    page.evaluate("""() => Object.assign(document.querySelector("#known").style,
      { position: "fixed", inset: "0", width: "100%", height: "100%" })""")
    # What a browser with a real pointer does by itself when something else comes to lie under it.
    page.mouse.move(100, 200)
    assert marks(page) == 0


def test_a_page_that_leads_on_who_moves_the_pointer_learns_slowly(page):
    """A link that is always under the pointer and always another; of 14 hosts it learns of eight at most."""
    page.evaluate("""() => Object.assign(document.querySelector("#known").style,
      { position: "fixed", inset: "0", width: "100%", height: "100%" })""")
    for place in range(14):
        page.evaluate("() => { const old = document.querySelector('#known'); old.replaceWith(old.cloneNode(true)) }")
        page.mouse.move(100 + 5 * place, 200)
        page.wait_for_timeout(350)
    assert 0 < page.evaluate("globalThis.marks") <= 9
