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

from eitr.atomic import write_atomically
from eitr.container import read_limited
from eitr.errors import InputError
from eitr.pages.logarithm import ln
from eitr.pages.page import Page
from eitr.pages.sparse import Row, SparseRows
from eitr.pages.tokens import tokens

FORMAT = "eitr-vocabulary"
VERSION = 1
MAX_WORDS = 100_000
MAX_FILE_BYTES = 16 * 2**20
MAX_IDF = 100.0
"""A real IDF is at most 1 + ln of the number of documents, far below."""


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Words in the order of a model's inputs, each with its inverse document frequency.

    The weight of a word that occurs tf > 0 times on a page is (1 + ln tf) * idf. A page's weights are
    divided by their Euclidean norm; a page without any of the words is the zero vector.

    >>> vocabulary = Vocabulary(("fever", "vote"), np.array([1.5, 2.0]))
    >>> vocabulary.vector(["vote", "snow", "vote"])
    (array([1], dtype=int32), array([1.], dtype=float32))
    """

    words: tuple[str, ...]
    idf: NDArray[np.float64]
    """Shape (words,); above 0."""
    _known: dict[str, tuple[int, float]] = field(init=False, repr=False)
    """Each word's place and IDF; plain Python numbers, which are faster here than an array's."""

    def __post_init__(self) -> None:
        _check(self.words, self.idf)
        known = dict(zip(self.words, enumerate(self.idf.tolist()), strict=True))
        object.__setattr__(self, "_known", known)

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

    def vector(self, words: Iterable[str]) -> Row:
        """Return the places of the words that are known, ascending, and their values."""
        known = self._known
        counts = sorted((*known[word], count) for word, count in Counter(words).items() if word in known)
        weights = [(1.0 + ln(count)) * idf for _, idf, count in counts]
        norm = _norm(weights)
        return (
            np.array([place for place, _, _ in counts], np.int32),
            np.array([weight / norm for weight in weights], np.float32),
        )

    def rows(self, pages: Iterable[Page]) -> SparseRows:
        """Return the vectors of many pages."""
        return SparseRows.of((self.vector(tokens(page.content())) for page in pages), width=len(self))

    def to_json(self) -> str:
        """Return the file's text; numbers are written so that they are read back to the last bit."""
        return json.dumps(
            {"format": FORMAT, "version": VERSION, "words": self.words, "idf": self.idf.tolist()},
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is an `InputError`."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError("the vocabulary is not JSON") from None
        if not isinstance(content, dict) or content.keys() != {"format", "version", "words", "idf"}:
            raise InputError("a vocabulary is an object with exactly the keys format, version, words and idf")
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise InputError(f"not a vocabulary of format {FORMAT!r}, version {VERSION}")
        words, idf = content["words"], content["idf"]
        if not _all_of(words, str) or not _all_of(idf, int, float):
            raise InputError("a vocabulary needs a list of strings as words and a list of numbers as idf")
        try:
            return cls(tuple(words), np.array(idf, np.float64))
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
    if not (np.isfinite(idf) & (idf > 0) & (idf <= MAX_IDF)).all():
        raise InputError(f"every IDF must be above 0 and at most {MAX_IDF:g}")
    if len(set(words)) != len(words):
        raise InputError("a word occurs twice in the vocabulary")
    for word in words:
        if tokens(word) != [word]:
            raise InputError(f"{word[:50]!r} in the vocabulary is not a token: no page can have it")
