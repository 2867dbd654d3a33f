"""Which elements of a page hold navigation, banners and legal notices rather than what the page is about.

`extension/src/content/boilerplate.ts` follows the same rules in the browser.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

CONTENT = frozenset(("h1", "main", "article"))
"""An element that holds one of these is not boilerplate, whatever it is called."""

MIN_LINKS = 5
MAX_LINK_LETTERS = 25
MIN_LINK_SHARE = 0.8
"""A block of at least so many links, so short on average, that have so much of its letters, is a menu."""
MAX_SHARE = 0.5
"""An element that is only likely to be boilerplate stays if it has a larger share of the page's letters."""

_SECTIONS = frozenset(("article", "aside", "main", "nav", "section"))
_BLOCKS = frozenset(
    "address aside blockquote center details dialog div dl fieldset figure footer form header menu nav ol p section "  # noqa: SIM905
    "table tbody td th tr ul".split()
)
"""Only these elements, and custom ones, can be boilerplate."""
_LIKELY_ROLES = frozenset(("banner", "complementary"))
_CERTAIN_ROLES = frozenset(("alertdialog", "contentinfo", "dialog", "menu", "menubar", "navigation", "search"))
_LIKELY_NAMES = frozenset(
    ("banner", "breadcrumb", "breadcrumbs", "footer", "menu", "nav", "navbar", "navigation", "sidebar")
)
_CERTAIN_NAMES = frozenset(("consent", "cookie", "cookies", "gdpr"))
_NAMES_OF_WIDGETS = frozenset(("newsletter", "share", "sharing", "social"))
"""They name boilerplate beside such words only: `social-links` does, `social-services` does not."""
_PARTS_OF_WIDGETS = frozenset(
    "bar block box button buttons container follow form icon icons link links list media section signup widget".split()  # noqa: SIM905
)
_DESCRIBING = frozenset(("has", "no", "not", "with", "without"))
"""A name with one of these says what an element has: `page-with-sidebar`."""
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Boilerplate(IntEnum):
    """How sure it is that an element is boilerplate."""

    NO = 0
    LIKELY = 1
    """Unless it holds most of the page: names are given freely, and a page may be a list of links."""
    CERTAIN = 2


@dataclass(frozen=True, slots=True)
class Candidate:
    """An element that may be boilerplate, by its lines, and how many letters it has."""

    boilerplate: Boilerplate
    first_line: int
    end_line: int
    letters: int


def is_section(tag: str) -> bool:
    """Say whether a header or footer within the element belongs to it and not to the page."""
    return tag in _SECTIONS


def named_boilerplate(tag: str, attributes: Mapping[str, str], *, in_section: bool) -> Boilerplate:
    """Say whether an element is boilerplate by its tag, its role, or a word of its id, its class or its own name.

    >>> named_boilerplate("div", {"class": "wide siteFooter"}, in_section=True).name
    'LIKELY'
    >>> named_boilerplate("cookie-notice", {}, in_section=False).name
    'CERTAIN'
    >>> named_boilerplate("div", {"class": "shareholders page-with-sidebar"}, in_section=False).name
    'NO'
    """
    custom = "-" in tag
    if not custom and tag not in _BLOCKS:
        return Boilerplate.NO
    role = attributes.get("role", "").lower()
    names = f"{attributes.get('id', '')} {attributes.get('class', '')} {tag if custom else ''}".split()
    found = max(map(_by_name, names), default=Boilerplate.NO)
    if tag in ("nav", "dialog") or (tag == "footer" and not in_section) or role in _CERTAIN_ROLES:
        return Boilerplate.CERTAIN
    if tag == "aside" or (tag == "header" and not in_section) or role in _LIKELY_ROLES:
        return max(found, Boilerplate.LIKELY)
    return found


def _by_name(name: str) -> Boilerplate:
    words = {word.lower() for word in _WORD.findall(name)}
    if not words.isdisjoint(_DESCRIBING):
        return Boilerplate.NO
    if not words.isdisjoint(_CERTAIN_NAMES):
        return Boilerplate.CERTAIN
    widget = not words.isdisjoint(_NAMES_OF_WIDGETS) and words <= _NAMES_OF_WIDGETS | _PARTS_OF_WIDGETS
    return Boilerplate.LIKELY if widget or not words.isdisjoint(_LIKELY_NAMES) else Boilerplate.NO


def is_menu(tag: str, *, links: int, link_letters: int, letters: int) -> bool:
    """Say whether a block is a menu: hardly anything but short links."""
    return (
        tag in _BLOCKS
        and links >= MIN_LINKS
        and link_letters <= MAX_LINK_LETTERS * links
        and link_letters >= MIN_LINK_SHARE * letters
    )


def left_out(candidates: Iterable[Candidate], letters: int) -> Iterator[Candidate]:
    """Yield the elements that are boilerplate, by their first lines, none within another.

    `letters` is how many the page has.
    """
    end = 0
    for candidate in sorted(candidates, key=lambda one: (one.first_line, -one.end_line)):
        likely = candidate.boilerplate == Boilerplate.LIKELY
        if candidate.first_line >= end and not (likely and candidate.letters > MAX_SHARE * letters):
            yield candidate
            end = candidate.end_line
