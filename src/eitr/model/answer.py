"""What people are told about a page: a topic, "not sensitive", or that the model cannot tell and why.

`docs/page-to-prediction.md`, section 7.1, specifies the rule; `extension/src/core/answer.ts` is the same in TypeScript,
and `tests/golden/answers.json` holds cases for both.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from eitr.pages.language import FOREIGN, LANGUAGES, OTHER
from eitr.taxonomy import NON_SENSITIVE

THRESHOLD = 0.45
"""How probable a sensitive topic must be to be shown; the default of the extension, where users can change it.

On sources that were left out of training, 1.5 % of ordinary pages then get a letter. The goal is 2 %; that and the goal
for difficult text are reached from 0.37 on.
"""
THRESHOLD_NOT_ENGLISH = 0.6
"""The least threshold on a page that is not in English, where there are more false alarms."""
THRESHOLD_ONE_WORD = 0.8
"""The least threshold on a page with a single known word, which decides only if it has one meaning."""
THRESHOLD_FEW_WORDS = 0.6
"""The least threshold on a page with few known words: one word with several meanings outweighs the others."""
FEW_WORDS = 2
"""A page with at most so many known words has few of them."""
LEAST_KNOWN = 2
"""How many known words a page must have for "not sensitive"."""
LEAST_SURE = 0.5
"""How probable non-sensitive must be for "not sensitive", on an English page or one too short to tell its language."""

NOT_ENGLISH = frozenset((*LANGUAGES, FOREIGN)) - {"en"}

CannotTell = Literal["language", "words", "close"]
"""Why the model cannot tell: the page's language, too few known words, or no class that is probable enough."""


class Answer(NamedTuple):
    """A class, or why there is none: exactly one of the two is None."""

    topic: int | None
    """A position in the taxonomy; `NON_SENSITIVE` for "not sensitive"."""
    cannot_tell: CannotTell | None


def least_threshold(language: str, known_words: int) -> float:
    """Return the lowest threshold that may be chosen for a page; infinity if no topic may be shown."""
    if language == OTHER or known_words == 0:
        return math.inf
    if known_words == 1:
        return THRESHOLD_ONE_WORD
    few = THRESHOLD_FEW_WORDS if known_words <= FEW_WORDS else 0.0
    return max(few, THRESHOLD_NOT_ENGLISH) if language in NOT_ENGLISH else few


def answer(probabilities: Sequence[float], language: str, known_words: int, threshold: float = THRESHOLD) -> Answer:
    """Return what to say about a page, given the model's probabilities in the order of the taxonomy.

    `language` is that of the page (`eitr.pages.language`), and `known_words` the number of different words of the
    vocabulary that it has, forms of one word counted once.

    >>> answer([0.7, 0.1, 0.05, 0.05, 0.05, 0.05], "en", known_words=12)
    Answer(topic=0, cannot_tell=None)
    >>> answer([0.05, 0.05, 0.05, 0.05, 0.05, 0.75], "de", known_words=25)
    Answer(topic=None, cannot_tell='words')
    """
    if language == OTHER:
        return Answer(None, "language")
    most = max(probabilities)
    topic = probabilities.index(most)
    if topic != NON_SENSITIVE:
        least = max(threshold, least_threshold(language, known_words))
    elif known_words < LEAST_KNOWN or language in NOT_ENGLISH:
        # In other languages the model knows too few words to be sure that a page has none of a topic.
        least = math.inf
    else:
        least = LEAST_SURE
    if most >= least:
        return Answer(topic, None)
    return Answer(None, "words" if known_words < LEAST_KNOWN or least == math.inf else "close")
