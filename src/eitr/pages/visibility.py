"""Which elements of a page show text, and which set it apart from its neighbours.

This follows the style sheet that the HTML standard gives every browser, plus `hidden` attributes and inline
styles. Style sheets of the page are not read: a browser knows computed styles and this module cannot.
"""

from collections.abc import Mapping

_NEVER_RENDERED = """
    script style template noscript title noembed noframes datalist rp area base link meta param source track
"""
_REPLACED = """
    audio canvas iframe img input meter object progress textarea video
"""
_IN_DRAWINGS_AND_FORMULAS = """
    defs desc metadata symbol annotation annotation-xml
"""
_SILENT = frozenset((_NEVER_RENDERED + _REPLACED + _IN_DRAWINGS_AND_FORMULAS).split())

_BLOCKS_BY_STANDARD = """
    address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset
    figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main
    menu nav ol optgroup option p plaintext pre search section summary table tbody td tfoot th thead tr ul
    xmp
"""
_BLOCKS_TO_READERS = "button select"
"""Inline for a layout engine, yet nobody reads the words on two buttons as one."""
_BLOCKS = frozenset((_BLOCKS_BY_STANDARD + _BLOCKS_TO_READERS).split())


def declarations(style: str) -> dict[str, str]:
    """Return an inline style's properties, in lower case and without "!important"; the last of a name counts.

    >>> declarations("color: red; DISPLAY : None !important")
    {'color': 'red', 'display': 'none'}
    """
    pairs = (part.partition(":") for part in style.lower().split(";"))
    return {name.strip(): value.partition("!")[0].strip() for name, _, value in pairs if value}


def is_displayed(tag: str, attributes: Mapping[str, str], style: Mapping[str, str]) -> bool:
    """Say whether an element has a box at all; if not, nothing inside it has one either."""
    if tag in _SILENT:
        return False
    if "display" in style:
        return style["display"] != "none"
    if tag == "dialog" and "open" not in attributes:
        return False
    return "hidden" not in attributes


def is_visible(style: Mapping[str, str], *, inherited: bool) -> bool:
    """Say whether an element's own text shows; a visible element may stand inside an invisible one."""
    value = style.get("visibility", "inherit")
    return inherited if value in ("inherit", "unset") else value not in ("hidden", "collapse")


def is_block(tag: str, style: Mapping[str, str]) -> bool:
    """Say whether the element begins a new line, so that its words never run into those around it."""
    if "display" in style:
        return not style["display"].startswith(("inline", "contents"))
    return tag in _BLOCKS
