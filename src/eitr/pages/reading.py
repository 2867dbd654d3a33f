"""What a page says to a model: its language and its tokens, exactly as the implementation in TypeScript reads it.

`docs/page-to-prediction.md`, section 3, specifies every step; `tests/golden/language.json` and `boilerplate.json` hold
cases for both implementations.
"""

from typing import NamedTuple

from eitr.pages.boilerplate import Segment, segments_of, without_boilerplate
from eitr.pages.language import ENGLISH, homographs, language_of
from eitr.pages.page import Page
from eitr.pages.tokens import normalised, without_stop_words, words

WITH_BOILERPLATE = 1
WITHOUT_BOILERPLATE = 2
"""The versions of vocabularies, which say how pages are read: with all their words, or without boilerplate and words
that are English only by accident."""


class Reading(NamedTuple):
    """The language of a page and its tokens."""

    language: str
    """One of `eitr.pages.language.LANGUAGES`, "other", "foreign" or "unknown"."""
    tokens: list[str]


def read_page(page: Page, version: int) -> Reading:
    """Return a page's language and tokens as models with a vocabulary of this version read it."""
    return read_whole(page) if version == WITH_BOILERPLATE else read_body(page)


def read_whole(page: Page) -> Reading:
    """Return a page's language and the tokens of all its content.

    >>> read_whole(Page(text="We use cookies on this site of the clinic"))
    Reading(language='en', tokens=['use', 'cookies', 'site', 'clinic'])
    """
    found = words(normalised(page.content()))
    return Reading(language_of(found), without_stop_words(found))


def read_body(page: Page) -> Reading:
    """Return a page's language and its tokens, without boilerplate and words that are English only by accident.

    >>> read_body(Page(title="Hay fever", text="Home | Contact\\nWe use cookies.\\n" + "My eyes are red. " * 6))
    Reading(language='en', tokens=['hay', 'fever', 'eyes', 'red', 'eyes', 'red', 'eyes', 'red', 'eyes', 'red', 'eyes', \
'red', 'eyes', 'red'])
    >>> read_body(Page(text="Nun war der Arzt da, und die Diagnose ist gut"))
    Reading(language='de', tokens=['der', 'arzt', 'da', 'und', 'die', 'diagnose', 'ist'])
    """
    head = words(normalised("\n".join((page.title, page.description, page.keywords))))
    segments = segments_of(normalised(page.text))
    head_tokens = without_stop_words(head)
    body = without_boilerplate(head_tokens, segments)
    whole, outside = _words(head, segments), _words(head, body)
    language = language_of(whole)
    if language == ENGLISH and 0 < len(outside) < len(whole):
        # Pages in any language can have a menu and a cookie banner in English.
        language = language_of(outside)
    found = head_tokens + [word for segment in body for word in segment.tokens]
    meaningless = homographs(language)
    return Reading(language, [word for word in found if word not in meaningless] if meaningless else found)


def _words(head: list[str], segments: list[Segment]) -> list[str]:
    return head + [word for segment in segments for word in segment.words]
