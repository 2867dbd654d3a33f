"""Cut out `<noscript>` and `<template>` before parsing, as a browser that runs scripts reads them.

To such a browser the inside of `<noscript>` is characters, not markup, and the inside of `<template>` ends with it
whatever is left open there. libxml2 knows neither rule: an element left open inside would swallow the rest of the page.
Comments, scripts and the like are passed over, so that a tag named in one is not taken for a tag.
"""

import re
from collections.abc import Iterator

_OPENING = re.compile(r"<!--|<(noscript|template|script|style|textarea|title|xmp|iframe)(?=[\s/>])", re.I | re.A)
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
    start = 0
    while opening := _OPENING.search(text, start):
        name = (opening[1] or "").lower()
        inert = name in ("noscript", "template")
        if name == "template":
            end = _end_of_template(text, opening.end())
        else:
            closing = (_CLOSING[name] if name else _COMMENT_END).search(text, opening.end())
            end = len(text) if closing is None else closing.end()
        if inert:
            yield text[start : opening.start()]
            end = _after_tag(text, end)
        else:
            yield text[start:end]
        start = end
    yield text[start:]


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
