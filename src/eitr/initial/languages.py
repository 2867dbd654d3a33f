"""Words of five further languages, by the English word they count as.

An input of the model is a concept: an English word of the vocabulary, its forms, and the words of other languages that
mean the same. `material/concepts.LANGUAGE.txt` has one line per concept, `english: word word ...`. A word that ends in
several ways is written once, `médic/o/a/os/as`, an empty ending being the stem itself (`klinik//en`). The spelling
without accents, which many people type, is added by rule.

A token is looked up without knowing its language. So a word that means something else in another of the six languages
is no form of any concept: `material/ambiguous.txt` lists such words.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from eitr.initial.material import material
from eitr.pages.language import FUNCTION_WORDS, LANGUAGES, OTHER, homographs
from eitr.pages.tokens import tokens
from eitr.taxonomy import NAMES

SHORTEST_PLAIN = 4
"""A shorter word is not added without its accents: it is too often another word."""

_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_LIGATURES = str.maketrans({"œ": "oe", "æ": "ae"})


@cache
def concepts(language: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words of a language by the English word they count as."""
    found: dict[str, tuple[str, ...]] = {}
    for line in _text(f"concepts.{language}.txt").splitlines():
        if line and not line.startswith("#"):
            english, listed = line.split(":")
            found[english] = tuple(word for entry in listed.split() for word in spelt_out(entry))
    return found


@cache
def english_of() -> Mapping[str, str]:
    """Return the English word that each word of another language counts as.

    A listed word wins over one that is a spelling without accents. Such a spelling is left out if it is an English word
    (`cáncer` counts as `cancer`; `cancer` is that word itself), a function word or ambiguous.
    """
    found: dict[str, str] = {}
    for language in LANGUAGES[1:]:
        for english, listed in concepts(language).items():
            found |= dict.fromkeys(listed, english)
    kept = english_words().union(ambiguous(), *(FUNCTION_WORDS[name] for name in (*LANGUAGES, OTHER)))
    for language in LANGUAGES[1:]:
        for english, listed in concepts(language).items():
            for plain in (without_accents(word, language) for word in listed):
                if len(plain) >= SHORTEST_PLAIN and plain not in kept:
                    found.setdefault(plain, english)
    return found


@cache
def english_words() -> frozenset[str]:
    """Return the English words that we know: those of the lexicon and the reserved ones."""
    known = material()
    return frozenset().union(*(known.words(label) for label in range(len(NAMES))), *known.reserved)


@cache
def ambiguous() -> frozenset[str]:
    """Return the words that have different meanings in the six languages."""
    return frozenset(_text("ambiguous.txt").split())


def foreign_forms(places: Mapping[str, int]) -> dict[str, int]:
    """Return where the words of other languages count, given the places of a vocabulary's words and forms.

    >>> foreign_forms({"vote": 7})["wählerstimmen"]
    7
    """
    return {word: places[english] for word, english in english_of().items() if english in places and word not in places}


@cache
def sketches(language: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return the tokens of further invented pages in a language, for each class in the order of the taxonomy.

    The English ones are pages that look sensitive and are not, and very short sensitive pages.
    """
    meaningless = homographs(language)
    names = ("hard_negatives.txt", "short_sensitive.txt") if language == "en" else (f"sketches.{language}.txt",)
    pages: dict[str, list[tuple[str, ...]]] = {name: [] for name in NAMES}
    heading = ""
    for line in filter(None, "\n".join(map(_text, names)).splitlines()):
        if line.startswith("# "):
            heading = line[2:]
        else:
            pages[heading].append(tuple(word for word in tokens(line) if word not in meaningless))
    return tuple(tuple(pages[name]) for name in NAMES)


def spelt_out(entry: str) -> Iterator[str]:
    """Yield the words that an entry stands for.

    >>> list(spelt_out("klinik//en")), list(spelt_out("salud"))
    (['klinik', 'kliniken'], ['salud'])
    """
    stem, *endings = entry.split("/")
    yield from (stem + ending for ending in endings or [""])


def without_accents(word: str, language: str) -> str:
    """Return a word as people type it who have no accents at hand.

    >>> without_accents("ärzte", "de"), without_accents("santé", "fr")
    ('aerzte', 'sante')
    """
    if language == "de":
        return word.translate(_GERMAN)
    letters = unicodedata.normalize("NFD", word.translate(_LIGATURES))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _text(name: str) -> str:
    return files("eitr.initial").joinpath("material", name).read_text("utf-8")
