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
TEXT = """<!doctype html><title>Links</title><style>{style}</style><p>The words before it stand here,
<a id="known" href="{known}">known</a> and those after it follow until the line ends and another begins, which goes on
and on, with an image <img id="picture" alt="" width="20" height="20"
src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"> in it.</p>"""
COVERED = """() => {
  const mark = document.documentElement.lastElementChild;
  if (mark === document.body) return null;
  const box = mark.getBoundingClientRect();
  const meets = (other) => other.right > box.left && other.left < box.right && other.bottom > box.top
    && other.top < box.bottom;
  const words = document.createRange();
  words.selectNodeContents(document.body);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    words.selectNodeContents(walker.currentNode);
    if ([...words.getClientRects()].some(meets)) found.push(walker.currentNode.textContent);
  }
  if (meets(document.querySelector("#picture").getBoundingClientRect())) found.push("picture");
  return { found, inside: box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight,
    high: Math.abs(box.top - document.querySelector("#known").getBoundingClientRect().top) };
}"""
REST = "new Promise((go) => setTimeout(go, 250))"
"""The content script asks about a link after 200 ms; timers of a page go off in the order of their times."""


@pytest.fixture(scope="module")
def marking(module_extension: Extension, module_site: Site) -> Extension:
    """A browser that knows one host and marks links."""
    page = module_extension.context.new_page()
    page.goto(module_site.put("clinic.test", "/", tracked(module_site, HEALTH)))
    module_extension.wait_for_badge(page, "H2")
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


@pytest.mark.parametrize(
    ("style", "beside"),
    [
        ("p { width: 20em }", True),
        ("p { width: 20em; margin-left: 12em } a { float: left }", True),
        ("p { width: 9em; margin-left: auto }", True),
        ("body { margin: 0 } p { margin: 0; white-space: nowrap }", False),
        ("p { width: 30em } #known { display: inline-block; padding: 8px }", True),
    ],
    ids=["in a text", "floating", "at the edge", "in a line without an end", "a button"],
)
def test_a_mark_covers_neither_words_nor_pictures(marking, module_site, style, beside):
    page = marking.context.new_page()
    page.set_viewport_size({"width": 600, "height": 400})
    page.goto(module_site.put("text.test", "/", TEXT.format(style=style, known=module_site.address("clinic.test"))))
    until(lambda: marking.marks_links(page), what="the content script to mark links")
    page.hover("#known")
    seen = until(lambda: page.evaluate(COVERED), what="a mark")
    assert (seen["found"], seen["inside"]) == ([], True)
    assert (seen["high"] < 20) is beside
    page.close()


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
