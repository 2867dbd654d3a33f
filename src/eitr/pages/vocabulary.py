"""The words a model knows, their weights, and the vector of a page."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.io.atomic import write_atomically
from eitr.io.safetensors_file import read_limited
from eitr.pages.language import FOREIGN, UNKNOWN
from eitr.pages.logarithm import ln
from eitr.pages.page import Page
from eitr.pages.reading import WITH_BOILERPLATE, WITHOUT_BOILERPLATE, Reading, read_page
from eitr.pages.sparse import Row, SparseRows
from eitr.pages.tokens import tokens

FORMAT = "eitr-vocabulary"
KEYS = frozenset(("format", "version", "words", "idf", "forms"))
"""What every file has; `foreign` may be absent."""
VERSION = WITHOUT_BOILERPLATE
"""Of new vocabularies."""
MAX_WORDS = 100_000
MAX_FORMS = 50_000
MAX_FILE_BYTES = 16 * 2**20
MIN_IDF, MAX_IDF = 1e-3, 100.0
"""A real IDF is at least 1 and at most 1 + ln of the number of documents. The square of a tiny one would be 0, so that
a page with this word alone could not be trained on: its missing update would tell the word."""


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Words in the order of a model's inputs, each with its inverse document frequency, and their further forms.

    The weight of a word that occurs, itself or in one of its forms, tf > 0 times on a page is (1 + ln tf) * idf.
    A page's weights are divided by their Euclidean norm; a page without any of the words is the zero vector.

    >>> vocabulary = Vocabulary(("fever", "vote"), np.array([1.5, 2.0]), {"votes": 1})
    >>> vocabulary.vector(["vote", "snow", "votes"])
    (array([1], dtype=int32), array([1.], dtype=float32))
    """

    words: tuple[str, ...]
    idf: NDArray[np.float64]
    """Shape (words,); from `MIN_IDF` to `MAX_IDF`."""
    forms: Mapping[str, int] = field(default_factory=dict)
    """Each further form -> the place of the word it counts as."""
    version: int = VERSION
    """How the pages are read that it was made for: see `read`."""
    foreign: frozenset[str] = frozenset()
    """Those forms that are no English words."""
    _places: dict[str, int] = field(init=False, repr=False)
    """The place of each word and form."""
    _idf: list[float] = field(init=False, repr=False)
    """Plain Python numbers, which are faster here than an array's."""

    def __post_init__(self) -> None:
        _check(self.words, self.idf)
        _check_forms(self.forms, self.words)
        if not self.foreign <= self.forms.keys():
            raise InputError("a foreign word of the vocabulary is no form of it")
        if self.version not in (WITH_BOILERPLATE, VERSION):
            raise InputError(f"this program knows no vocabulary of version {self.version}")
        object.__setattr__(self, "_places", {word: place for place, word in enumerate(self.words)} | dict(self.forms))
        object.__setattr__(self, "_idf", self.idf.tolist())

    @classmethod
    def of(cls, words: Sequence[str], frequencies: Mapping[str, float], documents: float) -> Self:
        """Give each word the IDF ln((1 + documents) / (1 + frequency)) + 1.

        `frequencies` says in how many of the `documents` a word occurs; a word that is missing there occurs
        in none.
        """
        idf = [math.log((1 + documents) / (1 + frequencies.get(word, 0))) + 1 for word in words]
        return cls(tuple(words), np.array(idf, np.float64))

    def __len__(self) -> int:
        return len(self.words)

    def read(self, page: Page) -> Reading:
        """Return the language and the tokens of a page as models with this vocabulary read it.

        >>> vocabulary = Vocabulary(("mosque",), np.ones(1), {"moschee": 0}, foreign=frozenset({"moschee"}))
        >>> vocabulary.read(Page(text="Moschee Berlin")).language, vocabulary.read(Page(text="Mosque Berlin")).language
        ('foreign', 'unknown')
        """
        language, words = read_page(page, self.version)
        return Reading(self.language(language, words), words)

    def language(self, language: str, words: Iterable[str]) -> str:
        """Return the language of a page with these words, of which only the language told by function words is known.

        A page that is too short to tell its language is not English if one of its words is known and foreign.
        """
        return FOREIGN if language == UNKNOWN and not self.foreign.isdisjoint(words) else language

    def vector(self, words: Iterable[str]) -> Row:
        """Return the places of the words that are known, ascending, and their values."""
        places, idf = self._places, self._idf
        counts: dict[int, int] = {}
        for word, count in Counter(words).items():
            if (place := places.get(word)) is not None:
                counts[place] = counts.get(place, 0) + count
        ascending = sorted(counts)
        weights = [(1.0 + ln(counts[place])) * idf[place] for place in ascending]
        norm = _norm(weights)
        return np.array(ascending, np.int32), np.array([weight / norm for weight in weights], np.float32)

    def known(self, words: Iterable[str]) -> dict[int, str]:
        """Return, for each place the words have, the one that occurs most often there; of equals, the first.

        >>> Vocabulary(("vote",), np.ones(1), {"votes": 0}).known(["vote", "votes", "snow", "votes"])
        {0: 'votes'}
        """
        named: dict[int, str] = {}
        for word, _ in Counter(words).most_common():
            if (place := self._places.get(word)) is not None:
                named.setdefault(place, word)
        return named

    def rows(self, pages: Iterable[Page]) -> SparseRows:
        """Return the vectors of many pages."""
        return SparseRows.of((self.vector(self.read(page).tokens) for page in pages), width=len(self))

    def to_json(self) -> str:
        """Return the file's text; numbers are written so that they are read back to the last bit."""
        forms = sorted(self.forms.items())
        content = {
            "format": FORMAT,
            "version": self.version,
            "words": self.words,
            "idf": self.idf.tolist(),
            "forms": {form: place for form, place in forms if form not in self.foreign},
        }
        if self.foreign:
            content["foreign"] = {form: place for form, place in forms if form in self.foreign}
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is an `InputError`."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError("the vocabulary is not JSON") from None
        if not isinstance(content, dict) or content.keys() - {"foreign"} != KEYS:
            raise InputError(
                "a vocabulary is an object with exactly the keys format, version, words, idf, forms and perhaps foreign"
            )
        if content["format"] != FORMAT or not _all_of([content["version"]], int, float):
            raise InputError(f"not a vocabulary of format {FORMAT!r}")
        words, idf, forms, foreign = content["words"], content["idf"], content["forms"], content.get("foreign", {})
        if not _all_of(words, str) or not _all_of(idf, int, float):
            raise InputError("a vocabulary needs a list of strings as words and a list of numbers as idf")
        for named in (forms, foreign):
            if not isinstance(named, dict) or not _all_of(list(named.values()), int):
                raise InputError("a vocabulary needs an object of whole numbers as forms, and as foreign")
        if both := forms.keys() & foreign.keys():
            raise InputError(f"{min(both)[:50]!r} in the vocabulary is both a form and foreign")
        try:
            return cls(tuple(words), np.array(idf, np.float64), forms | foreign, content["version"], frozenset(foreign))
        except OverflowError:
            raise InputError("an IDF of the vocabulary is too large") from None

    def save(self, path: Path) -> None:
        """Write the vocabulary to a file."""
        write_atomically(path, self.to_json().encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a vocabulary from a file."""
        try:
            return cls.from_json(read_limited(path, MAX_FILE_BYTES).decode())
        except UnicodeDecodeError:
            raise InputError(f"{path}: the vocabulary is not UTF-8") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


def _norm(weights: list[float]) -> float:
    """Add one square after the other: numpy may add in another order and so get another last bit."""
    total = 0.0
    for weight in weights:
        total += weight * weight
    return math.sqrt(total)


def _all_of(values: object, *kinds: type) -> bool:
    # The exact type: to Python, true and false are whole numbers.
    return isinstance(values, list) and all(type(value) in kinds for value in values)


def _check(words: tuple[str, ...], idf: NDArray[np.float64]) -> None:
    if not 1 <= len(words) <= MAX_WORDS:
        raise InputError(f"a vocabulary has 1 to {MAX_WORDS} words, not {len(words)}")
    if idf.shape != (len(words),):
        raise InputError(f"a vocabulary of {len(words)} words needs as many IDF values, not {idf.size}")
    if not ((idf >= MIN_IDF) & (idf <= MAX_IDF)).all():
        raise InputError(f"every IDF must be at least {MIN_IDF:g} and at most {MAX_IDF:g}")
    if len(set(words)) != len(words):
        raise InputError("a word occurs twice in the vocabulary")
    _check_tokens(words)


def _check_forms(forms: Mapping[str, int], words: tuple[str, ...]) -> None:
    if len(forms) > MAX_FORMS:
        raise InputError(f"a vocabulary has at most {MAX_FORMS} forms, not {len(forms)}")
    places, own = range(len(words)), frozenset(words)
    for form, place in forms.items():
        if place not in places:
            raise InputError(f"the form {form[:50]!r} in the vocabulary counts as no word of it")
        if form in own:
            raise InputError(f"{form[:50]!r} in the vocabulary is both a word and a form")
    _check_tokens(list(forms))


def _check_tokens(words: Sequence[str]) -> None:
    # All at once takes a tenth of the time; word by word only to say which one is wrong.
    if tokens(" ".join(words)) == list(words):
        return
    for word in words:
        if tokens(word) != [word]:
            raise InputError(f"{word[:50]!r} in the vocabulary is not a token: no page can have it")
