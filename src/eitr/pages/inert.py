"""Cut out `<noscript>` and `<template>` before parsing, as a browser that runs scripts reads them.

To such a browser the inside of `<noscript>` is characters, not markup, and the inside of `<template>` ends with it
whatever is left open there. libxml2 knows neither rule: an element left open inside would swallow the rest of the page.
Comments, scripts and the like are passed over, and so are the attributes of other elements, so that a tag named in one
is not taken for a tag.
"""

import re
from collections.abc import Iterator

_OPENING = re.compile(
    r"""(?P<comment><!--)
    | <(?P<name>noscript|template|script|style|textarea|title|xmp|iframe)(?=[\s/>])
    # Any other element with its attributes. Possessive, and a quote that is never closed ends with the text: each
    # character is looked at once.
    | <[a-z](?:[^>=]++|=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))?+)*+""",
    re.I | re.A | re.X,
)
_TEMPLATE = re.compile(r"<(/?)template(?=[\s/>])", re.I | re.A)
_TAG_END = re.compile(">")
_COMMENT_END = re.compile("-->")
_CLOSING = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.I | re.A)
    for name in ("noscript", "script", "style", "textarea", "title", "xmp", "iframe")
}


def without_inert(text: str) -> str:
    """Return the markup without its `<noscript>` and `<template>` elements; what is never closed goes to the end.

    >>> without_inert("<p>a<noscript><div>b</noscript><p>c<!-- <template> --><p>d")
    '<p>a<p>c<!-- <template> --><p>d'
    """
    return "".join(_kept(text))


def _kept(text: str) -> Iterator[str]:
    """Yield the parts of the text that stay; every character is looked at a bounded number of times."""
    start = position = 0
    while opening := _OPENING.search(text, position):
        name = (opening["name"] or "").lower()
        position = opening.end()
        if name in ("noscript", "template"):
            yield text[start : opening.start()]
            start = position = _after_tag(text, _end(text, name, position))
        elif name or opening["comment"]:
            position = _end(text, name, position)
    yield text[start:]


def _end(text: str, name: str, position: int) -> int:
    """Return where what closes an element, or without a name a comment, ends or begins to end."""
    if name == "template":
        return _end_of_template(text, position)
    closing = (_CLOSING[name] if name else _COMMENT_END).search(text, position)
    return len(text) if closing is None else closing.end()


def _end_of_template(text: str, position: int) -> int:
    """Return where the tag that closes a template begins to end; templates nest."""
    depth = 1
    for tag in _TEMPLATE.finditer(text, position):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag.end()
    return len(text)


def _after_tag(text: str, position: int) -> int:
    end = _TAG_END.search(text, position)
    return len(text) if end is None else end.end()
