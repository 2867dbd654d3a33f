"""Which elements of a page hold navigation, banners and legal notices rather than what the page is about.

`extension/src/content/boilerplate.ts` follows the same rules in the browser.
"""

import re
from collections.abc import Mapping

CONTENT = frozenset(("h1", "main", "article"))
"""An element that holds one of these is not boilerplate, whatever it is called."""

MIN_LINKS = 5
MAX_LINK_LETTERS = 25
MIN_LINK_SHARE = 0.8
"""A list of at least so many links, so short on average, that have so much of its letters, is a menu."""

_SECTIONS = frozenset(("article", "aside", "main", "nav", "section"))
_ELEMENTS = frozenset(("aside", "dialog", "nav"))
_LANDMARKS = frozenset(("footer", "header"))
"""They belong to the whole page, unless they stand in a section of it."""
_ROLES = frozenset(
    "alertdialog banner complementary contentinfo dialog menu menubar navigation search".split()  # noqa: SIM905
)
_NAMED = frozenset(("div", "footer", "form", "header", "ol", "section", "ul"))
_NAMES = frozenset(
    "banner breadcrumb breadcrumbs consent cookie cookies footer gdpr menu nav navbar navigation sidebar".split()  # noqa: SIM905
)
_NAMES_OF_WIDGETS = frozenset(("newsletter", "share", "sharing", "social"))
"""They name boilerplate beside such words only: `social-links` does, `social-services` does not."""
_PARTS_OF_WIDGETS = frozenset(
    "bar block box button buttons container follow form icon icons link links list media section signup widget".split()  # noqa: SIM905
)
_DESCRIBING = frozenset(("has", "no", "not", "with", "without"))
"""A name with one of these says what an element has: `page-with-sidebar`."""
_NOT_LETTERS = re.compile("[^a-z]+")


def is_section(tag: str) -> bool:
    """Say whether a header or footer within the element belongs to it and not to the page."""
    return tag in _SECTIONS


def is_named_boilerplate(tag: str, attributes: Mapping[str, str], *, in_section: bool) -> bool:
    """Say whether an element is boilerplate by its tag, its role, or a word of its id or class.

    >>> is_named_boilerplate("div", {"class": "site-footer wide"}, in_section=True)
    True
    >>> is_named_boilerplate("div", {"class": "shareholders page-with-sidebar"}, in_section=False)
    False
    """
    if tag in _ELEMENTS or (tag in _LANDMARKS and not in_section):
        return True
    if attributes.get("role", "").lower() in _ROLES:
        return True
    names = f"{attributes.get('id', '')} {attributes.get('class', '')}" if tag in _NAMED else ""
    return any(_names_boilerplate(name) for name in names.split())


def _names_boilerplate(name: str) -> bool:
    words = set(filter(None, _NOT_LETTERS.split(name)))
    if not words.isdisjoint(_DESCRIBING):
        return False
    if not words.isdisjoint(_NAMES):
        return True
    return not words.isdisjoint(_NAMES_OF_WIDGETS) and words <= _NAMES_OF_WIDGETS | _PARTS_OF_WIDGETS


def is_menu(tag: str, *, links: int, link_letters: int, letters: int) -> bool:
    """Say whether a list is a menu: hardly anything but short links."""
    return (
        tag in ("ol", "ul")
        and links >= MIN_LINKS
        and link_letters <= MAX_LINK_LETTERS * links
        and link_letters >= MIN_LINK_SHARE * letters
    )
