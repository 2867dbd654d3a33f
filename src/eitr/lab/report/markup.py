"""HTML that cannot forget to escape: text is text, and only what `tag` made is markup."""

from html import escape
from typing import Any

_VOID = ("meta", "link", "br", "hr", "col")


class Markup(str):
    """A piece of HTML that is already safe."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element; text in it is escaped. `class_` is `class`, `_` becomes `-`, None leaves an attribute out.

    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    start = f"<{name}{written}>"
    return Markup(start) if name in _VOID else Markup(f"{start}{text(*children)}</{name}>")


def text(*children: Any) -> Markup:
    """Return children one after the other; everything but markup is escaped, None is nothing."""
    return Markup("".join(child if isinstance(child, Markup) else _escaped(child) for child in children))


def _escaped(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, list | tuple):
        return text(*child)
    return escape(str(child))
