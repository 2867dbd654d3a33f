"""Tell the language of a text from its function words, exactly as the implementation in TypeScript does.

`docs/page-to-prediction.md` specifies every step; `tests/golden/language.json` holds cases for all implementations.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

ENGLISH = "en"
LANGUAGES = (ENGLISH, "de", "es", "fr", "it", "pt")
"""The languages whose words count as inputs of a model."""
OTHER = "other"
"""The language of a text that is in none of `LANGUAGES`."""
FOREIGN = "foreign"
"""The language of a text that has too few words to tell which it is, but is not English."""
UNKNOWN = "unknown"
"""The language of a text that has too few words to tell."""

LEAST_FOUND = 2
"""So many function words of a language must occur in a text of that language."""
USUAL = 12
"""One word in so many must be a function word of the language, at least."""
SPARSE, AHEAD = 30, 3
"""Menus and lists of products have fewer: one word in so many, if there are so many times as many as of any other."""
LONG = 60
"""A text of so many words in which no language is found is in another language, a shorter one in an unknown one."""
LAST_LATIN = "\u036f"
LATIN_AGAIN = ("\u1e00", "\u1eff")
"""A word that begins after `LAST_LATIN` and outside this range, which Vietnamese needs, is in another script."""


def language_of(words: Sequence[str]) -> str:
    """Return the language of a text's words, stop words included: of `LANGUAGES`, `OTHER`, `FOREIGN` or `UNKNOWN`.

    >>> language_of("l origine de la maladie est dans le sang".split()), language_of(["corona"])
    ('fr', 'unknown')
    """
    counts = [0] * len(_NAMES)
    for word in words:
        if word in _TABLES:
            for table in _TABLES[word]:
                counts[table] += 1
        elif word[0] > LAST_LATIN and not LATIN_AGAIN[0] <= word[0] <= LATIN_AGAIN[1]:
            counts[_OTHER] += 1
    *_, second, most = sorted(counts[: _OTHER + 1])
    related = max(counts[_OTHER + 1 :])
    if related > most and related >= LEAST_FOUND and related * USUAL >= len(words):
        return OTHER
    usual = most > second and most * USUAL >= len(words)
    sparse = most >= second * AHEAD and most * SPARSE >= len(words)
    if most >= LEAST_FOUND and (usual or sparse):
        return _NAMES[counts.index(most)]
    if len(words) >= LONG:
        return OTHER
    accented = sum(not word.isascii() for word in words)
    others = max(most, related)
    return FOREIGN if max(accented, others if others >= LEAST_FOUND else 0) > counts[0] else UNKNOWN


def _lines(name: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each language in a file with one line per language."""
    text = files("eitr").joinpath("assets", name).read_text("utf-8")
    return {language: tuple(listed.split()) for language, listed in (line.split(":") for line in text.splitlines())}


def _tables(function_words: Mapping[str, Iterable[str]]) -> dict[str, tuple[int, ...]]:
    """Return, for each function word, the places of the languages that have it."""
    found: dict[str, tuple[int, ...]] = {}
    for place, listed in enumerate(function_words.values()):
        for word in listed:
            found[word] = (*found.get(word, ()), place)
    return found


FUNCTION_WORDS = _lines("function_words.txt")
"""Frequent words of each of `LANGUAGES`; under `OTHER`, words of many others that none of these has; then, for each of
some others, its most frequent words, of which many are words of `LANGUAGES`, too."""
HOMOGRAPHS = _lines("homographs.txt")
"""For each language but English, words that mean something else there than in English (German "nun", Spanish "sin").

Under `any`: English words that stand in menus, names and brands in all of them, and say nothing there.
"""

_MEANINGLESS = {language: frozenset((*HOMOGRAPHS["any"], *HOMOGRAPHS[language])) for language in LANGUAGES[1:]}


def homographs(language: str) -> frozenset[str]:
    """Return the words that are English only by accident on a page in this language; none for `OTHER` and `UNKNOWN`.

    >>> "nun" in homographs("de"), homographs("en")
    (True, frozenset())
    """
    return _MEANINGLESS.get(language, frozenset())


_NAMES = tuple(FUNCTION_WORDS)
_OTHER = _NAMES.index(OTHER)
_TABLES = _tables(FUNCTION_WORDS)
