"""Leave out what a page says in menus, cookie banners and legal notices, exactly as the TypeScript does.

`docs/page-to-prediction.md`, section 3.1, specifies every step; `tests/golden/boilerplate.json` holds cases for both
implementations.
"""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from eitr.pages.tokens import without_stop_words, words

MIN_NAVIGATION = 4
"""So many navigation words in a row are a menu, wherever they stand."""

MAX_NOTICE = 40
"""A segment of more tokens is not one sentence of a notice, but text without line feeds and full stops."""

MAX_ITEM = 4
"""A menu item has at most so many tokens and no full stop."""

MIN_MENU = 5
"""So many menu items in a row are a menu, whatever they say."""

ENOUGH = 50
"""If fewer tokens are left outside menus, and menus have more than half of all, the page is a list: they count."""

_SEGMENT_END = re.compile(r"[\n|•·»›]|(?<=[.!?]) ")
_SENTENCE = re.compile(r"[.!?] *$")


def _read_phrases() -> tuple[frozenset[str], dict[str, list[list[str]]]]:
    """Return the navigation words, and what follows in each phrase by the phrase's first word."""
    navigation: set[str] = set()
    phrases: dict[str, list[list[str]]] = {}
    for line in files("eitr").joinpath("assets", "boilerplate.txt").read_text("utf-8").split("\n"):
        if line.startswith("#") or not line:
            continue
        first, *others = line.split(" ")
        if others:
            phrases.setdefault(first, []).append(others)
        else:
            navigation.add(first)
    return frozenset(navigation), phrases


NAVIGATION, PHRASES = _read_phrases()
_FIRST_OF_PHRASE = frozenset(PHRASES)


class Segment(NamedTuple):
    """A part of a page's text: a line, a sentence or an item of a list."""

    is_sentence: bool
    words: list[str]
    """All of them, stop words included."""
    tokens: list[str]


def segments_of(text: str) -> list[Segment]:
    """Return the segments of a normalised text that have words."""
    return [
        Segment(_SENTENCE.search(segment) is not None, found, without_stop_words(found))
        for segment in _SEGMENT_END.split(text)
        if (found := words(segment))
    ]


def without_boilerplate(head: list[str], segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments of a page outside menus, banners and notices, each with the tokens that are left of it.

    `head` holds the tokens of its title, description and keywords, which count when a menu is told from a list.
    """
    segments = [segment for segment in segments if segment.tokens]
    kept = [segment._replace(tokens=_without_notices(segment.tokens)) for segment in segments]
    outside = [segment for segment, is_outside in zip(kept, _outside_menus(segments), strict=True) if is_outside]
    all_tokens, tokens_outside = (len(head) + sum(len(one.tokens) for one in parts) for parts in (kept, outside))
    is_list = tokens_outside < ENOUGH and 2 * tokens_outside < all_tokens
    return [segment for segment in (kept if is_list else outside) if segment.tokens]


def _without_notices(found: list[str]) -> list[str]:
    """Return the tokens of a segment without navigation words that make a menu; none of a segment of a notice."""
    if NAVIGATION.issuperset(found):
        return []
    if len(found) <= MAX_NOTICE and not _FIRST_OF_PHRASE.isdisjoint(found) and _has_phrase(found):
        return []
    return found if len(found) <= MIN_NAVIGATION else _without_runs(found)


def _has_phrase(found: list[str]) -> bool:
    return any(
        found[place + 1 : place + 1 + len(others)] == others
        for place, word in enumerate(found)
        for others in PHRASES.get(word, ())
    )


def _without_runs(found: list[str]) -> list[str]:
    kept: list[str] = []
    run: list[str] = []
    for word in (*found, ""):
        if word in NAVIGATION:
            run.append(word)
        else:
            kept += [*(run if len(run) < MIN_NAVIGATION else ()), word]
            run = []
    return kept[:-1]


def _outside_menus(segments: Sequence[Segment]) -> list[bool]:
    """Say of each segment whether it stands outside a run of menu items."""
    outside: list[bool] = []
    run = 0
    for segment in segments:
        if len(segment.tokens) <= MAX_ITEM and not segment.is_sentence:
            run += 1
            continue
        outside += [run < MIN_MENU] * run + [True]
        run = 0
    return outside + [run < MIN_MENU] * run
