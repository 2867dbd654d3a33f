"""Split text into tokens, exactly as the implementation in TypeScript does.

`docs/page-to-prediction.md` specifies every step; `tests/golden/tokens.json` holds cases for all implementations.
"""

import re
import sys
import unicodedata
from functools import cache
from importlib.resources import files
from itertools import groupby

MIN_LENGTH = 2
MAX_LENGTH = 40
"""In code points. Longer runs are no words: identifiers, encoded data, scripts written without spaces."""

MAX_MARKS = 64
"""Longer runs of combining marks are cut: sorting them, as normalisation must, takes quadratic time.

More than `MAX_LENGTH`, so the cut never alters a token that is kept.
"""

STOP_WORDS = frozenset(files("eitr").joinpath("assets", "stopwords.txt").read_text("ascii").split())

_ASCII_WORD = re.compile(rf"[a-z]{{{MIN_LENGTH},}}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_INVISIBLE = re.compile(
    r"[\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)


def tokens(text: str) -> list[str]:
    """Return the words of a text in their order, lower-case, without stop words.

    >>> tokens("The patient\u2019s na\u00efve co\u00adoperation in 2021")
    ['patient', 'na\u00efve', 'cooperation']
    """
    return without_stop_words(words(normalised(text)))


def words(text: str) -> list[str]:
    """Return the words of a text that is normalised already, stop words included.

    >>> words("the patient, in 2021")
    ['the', 'patient', 'in']
    """
    # On ASCII both patterns find the same; this one is faster, and the other takes 0.2 s to make.
    pattern = _ASCII_WORD if text.isascii() else _patterns()[0]
    return [word for word in pattern.findall(text) if len(word) <= MAX_LENGTH]


def without_stop_words(found: list[str]) -> list[str]:
    """Return the words that are no stop words."""
    return [word for word in found if word not in STOP_WORDS]


def normalised(text: str) -> str:
    """Return a text as it is before it is split: lower-case, in normal form, without invisible characters."""
    return text.lower() if text.isascii() else _normalised(text)


def _normalised(text: str) -> str:
    if _SURROGATE.search(text):
        # Two halves of a pair that stand side by side are one character, as they are in UTF-16.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _patterns()[1].sub(r"\1", _INVISIBLE.sub("", text))
    # Lower case can undo normal form (İ becomes two characters between which marks may belong): once more.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    # Whether a sigma is final depends on its surroundings, on which implementations may differ.
    return text.replace("ς", "σ")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a word and of too long a run of marks; it takes 0.2 s, so not on import."""
    kinds = [unicodedata.category(chr(code))[0] for code in range(sys.maxunicode + 1)]
    letters, marks = _character_class(kinds, "L"), _character_class(kinds, "M")
    # The halfwidth katakana sound marks are letters that normalisation turns into marks.
    sortable = rf"[{marks}\uff9e\uff9f]"
    return (
        re.compile(rf"[{letters}][{letters}{marks}]{{{MIN_LENGTH - 1},}}"),
        re.compile(rf"({sortable}{{{MAX_MARKS}}}){sortable}+"),
    )


def _character_class(kinds: list[str], kind: str) -> str:
    """Return the inside of a regular expression's brackets for all code points of one kind."""
    runs = (list(run) for wanted, run in groupby(range(len(kinds)), lambda code: kinds[code] == kind) if wanted)
    return "".join(rf"\U{run[0]:08x}-\U{run[-1]:08x}" for run in runs)
