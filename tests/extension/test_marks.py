"""Marks on links: for people who point or tab there, and not for pages that want to know what is known."""

from collections.abc import Iterator
from typing import Any

import pytest

from .browser import Extension, until
from .pages import HEALTH, tracked
from .site import Site

PAGE = """<!doctype html><title>Links</title>
<style>a {{ display: block; width: 9em; height: 2em }}</style>
<p>A page about nothing.</p><input id="first">
<a id="known" href="{known}">known</a><a id="other" href="{other}">other</a>
<script>
  globalThis.marks = 0;
  new MutationObserver((changes) => {{ for (const {{ addedNodes }} of changes) marks += addedNodes.length }})
    .observe(document.documentElement, {{ childList: true }});
</script>"""
REST = "new Promise((go) => setTimeout(go, 250))"
"""The content script asks about a link after 200 ms; timers of a page go off in the order of their times."""


@pytest.fixture(scope="module")
def marking(module_extension: Extension, module_site: Site) -> Extension:
    """A browser that knows one host and marks links."""
    page = module_extension.context.new_page()
    page.goto(module_site.put("clinic.test", "/", tracked(module_site, HEALTH)))
    module_extension.wait_for_badge(page, "H!")
    page.close()
    ask = module_extension.asking("options")
    until(lambda: ask({"kind": "options"})["rememberedHosts"] == 1, what="the host to be remembered")
    ask({"kind": "change", "settings": {"linkMarks": True}})
    return module_extension


@pytest.fixture
def page(marking: Extension, module_site: Site) -> Iterator[Any]:
    known, other = module_site.address("clinic.test"), module_site.address("match.test")
    shown = marking.context.new_page()
    shown.goto(module_site.put("links.test", "/", PAGE.format(known=known, other=other)))
    until(lambda: marking.marks_links(shown), what="the content script to mark links")
    marking.record_messages()
    yield shown
    shown.close()


def marks(extension: Extension, page: Any) -> int:
    """Count the marks of a page, after every link that the content script wants to ask about was answered."""
    page.evaluate(REST)
    extension.worker_has_finished()
    return page.evaluate("globalThis.marks")


def test_a_link_under_the_pointer_is_marked_if_its_host_is_known(marking, page):
    page.hover("#other")
    until(lambda: marking.messages("link"), what="a question about the link")
    assert marks(marking, page) == 0
    page.hover("#known")
    until(lambda: page.evaluate("globalThis.marks") == 1, what="a mark")
    assert page.evaluate("document.documentElement.lastElementChild.shadowRoot") is None, "the page cannot look into it"
    page.hover("#first")
    until(lambda: page.evaluate("document.documentElement.lastElementChild === document.body"), what="no mark")


def test_a_link_that_is_reached_by_the_tab_key_is_marked(page):
    page.focus("#first")
    page.keyboard.press("Tab")
    until(lambda: page.evaluate("globalThis.marks") == 1, what="a mark")


def test_a_page_that_makes_up_events_learns_nothing(marking, page):
    page.evaluate("""() => {
      for (const name of ["pointerover", "focusin"])
        document.querySelector("#known").dispatchEvent(new PointerEvent(name, { bubbles: true, composed: true }));
    }""")
    assert marks(marking, page) == 0
    assert marking.messages("link") == []


def test_a_page_that_moves_the_focus_learns_nothing(marking, page):
    page.evaluate("document.querySelector('#known').focus()")
    assert marks(marking, page) == 0
    assert marking.messages("link") == []


def test_a_page_that_moves_a_link_under_a_resting_pointer_learns_nothing(marking, page):
    page.mouse.move(100, 200)
    page.evaluate("""() => Object.assign(document.querySelector("#known").style,
      { position: "fixed", inset: "0", width: "100%", height: "100%" })""")
    # What a browser with a real pointer does by itself when something else comes to lie under it.
    page.mouse.move(100, 200)
    assert marks(marking, page) == 0
    assert marking.messages("link") == []


def test_a_page_that_leads_on_who_moves_the_pointer_learns_slowly(page):
    """A link that is always under the pointer and always another: eight are asked about, then one every 5 s."""
    page.evaluate("""() => Object.assign(document.querySelector("#known").style,
      { position: "fixed", inset: "0", width: "100%", height: "100%" })""")
    for place in range(14):
        page.evaluate("() => { const old = document.querySelector('#known'); old.replaceWith(old.cloneNode(true)) }")
        page.mouse.move(100 + 5 * place, 200)
        page.evaluate(REST)
    found, seconds = page.evaluate("[globalThis.marks, performance.now() / 1000]")
    assert 0 < found <= 8 + seconds / 5
