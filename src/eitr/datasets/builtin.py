"""Pages of our own making, for everybody who has no other data: nothing to download, any number, as hard as wanted.

A page has a class, one of its subtopics in the lexicon, and a second subtopic of any class. Each of its words comes
from the first, from the second, or is filler; within each, words follow Zipf's law. Some pages have the subtopic of
another class than their label says, as pages that somebody mislabelled. The difficulty d, from 0 to 1, sets

    share of the first subtopic     (1 - d) q,    q between 0.4 and 1.6 by page
    share of the second             SIDE_SHARE d
    pages of another class          STRAY_SHARE d

so that with 0 the classes are told apart without fail, and with 1 nothing tells them apart.

Only additions, multiplications, comparisons and the raw numbers of a generator are used, whose stream numpy promises to
keep: a seed gives the same pages everywhere.
"""

import json
import zlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.interface import Examples, Labelled, Source
from eitr.datasets.sampling import apportion, stratified_split
from eitr.datasets.vectors import WordCounts, weigh
from eitr.errors import InputError
from eitr.pages.page import Page
from eitr.pages.tokens import STOP_WORDS
from eitr.taxonomy import NAMES

SIZE: Final = 6000
MAX_SIZE: Final = 10_000_000
DIFFICULTY: Final = 0.4
"""A linear model of a thousand words is right on 85 to 90 of 100 pages, as on real news."""

SIDE_SHARE: Final = 0.4
STRAY_SHARE: Final = 0.12
CLASS_SHARES: Final = {
    "health": 6,
    "politics": 6,
    "religion": 4,
    "sexual-orientation": 3,
    "ethnicity": 5,
    "non-sensitive": 24,
}
"""Half of the pages are not sensitive, like in the paper's data."""

CHUNK: Final = 4096
"""So many pages are drawn at a time, each chunk from a stream of its own."""
SHORTEST: Final = 12
LONGEST: Final = 84
"""Words of a page, those that stop-word lists drop left aside."""
TITLE: Final = 5
SENTENCE: Final = 9

_COMMON: Final = """
year people time day way thing things life world work week today last month part place small big great good best long
high right left early late old young next start end side point fact kind case number group name line story stories
question answer reason idea ideas problem result change level area set use used using make makes made making take takes
taken give gives given find finds found come comes coming goes going gone look looks looking seem seems show shows shown
tell tells told call called keep keeps kept turn turned help helps helped try tried need needs needed want wants wanted
know known think thought say says said feel felt believe leave bring brought hold held write written stand open close
run move moved live lived happen happened include including continue add added learn learned lead led understand follow
followed stop create created speak read allow grow offer offered remember consider appear wait serve expect stay build
fall reach remain suggest raise pass require report reported decide pull push break broke explain hope develop carry
hundred thousand million percent half third several different important little large public able sure likely possible
available simple single entire full certain clear recent special hard easy strong whole free short real true wrong
everyone someone something anything nothing everything always never often sometimes usually again already almost
really actually probably maybe perhaps soon later ago ever far near around across along together away back ahead
hour minute moment morning evening night weekend season century future past history beginning middle top bottom front
list page site link photo photos image update updated latest read share comment comments contact search view click
city town street road country area local national building room house door window table water light air
man men woman women person friend friends neighbor children child member members team
"""
"""Words that any page may have; those that the lexicon or the stop-word list have, too, are left to them."""
_GLUE: Final = ("the", "of", "and", "in", "to", "with")


class _Language(NamedTuple):
    words: list[str]
    entries: NDArray[np.int32]
    """All groups of words, one after the other: the place in `words` of each entry."""
    ends: NDArray[np.float64]
    """The entry drawn for group g and a number u in [0, 1) is the first whose end is above g + u."""
    first_group: NDArray[np.int64]
    """Shape (classes + 1,): the groups of class k begin here; the last value is the group of filler."""


def pages(
    folder: Path | None = None, *, size: int = SIZE, seed: int = 0, difficulty: float = DIFFICULTY
) -> Iterator[Labelled]:
    """Yield the pages; the folder is not used. They have no split of their own, so we make one."""
    language = _language()
    labels = _labels(size, seed, difficulty)
    for number, first in enumerate(range(0, size, CHUNK)):
        some = labels[first : first + CHUNK]
        starts, ids = _chunk(some, number, seed, difficulty)
        for place, label in enumerate(some.tolist()):
            words = [language.words[word] for word in ids[starts[place] : starts[place + 1]].tolist()]
            yield Labelled(_page(words), label, None)


def examples(*, size: int = SIZE, seed: int = 0, difficulty: float = DIFFICULTY, words: int = 1000) -> Examples:
    """Return what `vectors.examples_of` makes of the pages, without writing and reading their text."""
    labels = _labels(size, seed, difficulty)
    lengths, ids, counts = [np.zeros(1, np.int64)], [], []
    for number, first in enumerate(range(0, size, CHUNK)):
        some = labels[first : first + CHUNK]
        distinct, often, each = _counted(*_chunk(some, number, seed, difficulty))
        lengths.append(distinct)
        ids.append(each)
        counts.append(often)
    starts = np.cumsum(np.concatenate(lengths))
    counted = WordCounts(starts, np.concatenate(ids), np.concatenate(counts), _language().words)
    return weigh("builtin", counted, labels, stratified_split(labels, seed), words=words)


def _labels(size: int, seed: int, difficulty: float) -> NDArray[np.int64]:
    """Return the class of every page: in the shares of `CLASS_SHARES` as exactly as can be, in a drawn order."""
    least = sum(CLASS_SHARES.values())
    if not least <= size <= MAX_SIZE:
        raise InputError(f"the built-in data have {least} to {MAX_SIZE} pages, not {size}")
    if not 0 <= difficulty <= 1:
        raise InputError(f"the difficulty must be from 0 to 1, not {difficulty:g}")
    if seed < 0:
        raise InputError(f"a seed is a whole number from 0 on, not {seed}")
    shares = np.array([CLASS_SHARES[name] for name in NAMES], np.int64)
    labels = np.repeat(np.arange(len(NAMES)), apportion(shares * size, size))
    return labels[np.argsort(_numbers(seed, 0).random_raw(size), kind="stable")]


def _numbers(seed: int, stream: int) -> np.random.PCG64:
    """Return a generator of 64 random bits a number; stream 0 is for the labels, those from 1 on for the chunks."""
    return np.random.PCG64(np.random.SeedSequence([seed, stream]))


def _halves(raw: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two numbers in [0, 1) for each of 64 bits; both are exact."""
    scale = np.float64(2.0**-32)
    return (raw >> np.uint64(32)).astype(np.float64) * scale, (raw & np.uint64(0xFFFFFFFF)).astype(np.float64) * scale


def _chunk(
    labels: NDArray[np.int64], number: int, seed: int, difficulty: float
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the words of pages of these labels: page i has `ids[starts[i]:starts[i+1]]`, in this order."""
    language, n = _language(), len(labels)
    numbers = _numbers(seed, number + 1)
    stray, other, which, second, length, quality = (half for _ in range(3) for half in _halves(numbers.random_raw(n)))
    lengths = (SHORTEST + length * length * (LONGEST - SHORTEST + 1)).astype(np.int64)
    # A stray page has any other class: 1 to classes - 1 further round the circle.
    further = 1 + (other * (len(NAMES) - 1)).astype(np.int64)
    content = np.where(stray < STRAY_SHARE * difficulty, (labels + further) % len(NAMES), labels)
    begin, filler = language.first_group[content], int(language.first_group[-1])
    main = begin + (which * (language.first_group[content + 1] - begin)).astype(np.int64)
    side = (second * filler).astype(np.int64)
    share = (1 - difficulty) * (0.4 + 1.2 * quality)

    starts = np.zeros(n + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    page = np.repeat(np.arange(n), lengths)
    kind, word = _halves(numbers.random_raw(int(starts[-1])))
    group = np.where(kind < share[page] + SIDE_SHARE * difficulty, side[page], filler)
    group = np.where(kind < share[page], main[page], group)
    return starts, language.entries[np.searchsorted(language.ends, group + word, side="right")]


def _counted(
    starts: NDArray[np.int64], ids: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return how many words each page has, how often each occurs on it, and the words."""
    width, n = len(_language().words), len(starts) - 1
    keys, counts = np.unique(np.repeat(np.arange(n), np.diff(starts)) * width + ids, return_counts=True)
    rows, words = np.divmod(keys, width)
    return np.bincount(rows, minlength=n), counts.astype(np.int32), words.astype(np.int32)


def _page(words: list[str]) -> Page:
    """Write the words as a title and sentences; what is put between them is no word to any tokeniser of ours."""
    body = words[TITLE:]
    sentences = []
    for place in range(0, len(body), SENTENCE):
        some = body[place : place + SENTENCE]
        glued = [f"{_GLUE[at // 3 % len(_GLUE)]} {word}" if at % 3 == 2 else word for at, word in enumerate(some)]
        sentences.append(" ".join(glued).capitalize() + ".")
    return Page(title=" ".join(words[:TITLE]).capitalize(), text=" ".join(sentences))


@cache
def _language() -> _Language:
    lexicon: dict[str, dict[str, list[str]]] = json.loads(files("eitr").joinpath("assets", "lexicon.json").read_text())
    groups = [_shuffled(words) for name in NAMES for words in lexicon[name].values()]
    taken = STOP_WORDS.union(*groups)
    common = [word for word in dict.fromkeys(_COMMON.split()) if word not in taken]
    names = [word for word in _shuffled(_names()) if word not in taken and word not in common]
    groups.append(_shuffled(common) + names)
    numbers = {word: number for number, word in enumerate(dict.fromkeys(word for group in groups for word in group))}
    sizes = [len(lexicon[name]) for name in NAMES]
    return _Language(
        list(numbers),
        np.array([numbers[word] for group in groups for word in group], np.int32),
        np.concatenate([number + _zipf(len(group)) for number, group in enumerate(groups)]),
        np.cumsum([0, *sizes]),
    )


def _names() -> list[str]:
    """Return made-up names of people and places, the long tail of rare words."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    return [first + second for first in syllables for second in syllables]


def _shuffled(words: list[str]) -> list[str]:
    """Bring words out of their alphabet: the first are the frequent ones."""
    return sorted(words, key=lambda word: (zlib.crc32(word.encode()), word))


def _zipf(size: int) -> NDArray[np.float64]:
    """Return where each word's share of [0, 1) ends: word number r has a share proportional to 1 / (r + 2)."""
    ends: NDArray[np.float64] = np.cumsum(1.0 / (np.arange(size) + 2.0))
    ends /= ends[-1]
    return ends


SOURCE = Source(
    name="builtin",
    summary="generated pages of six classes, half non-sensitive; any size and difficulty",
    needs="",
    licence="Apache-2.0, as this package",
    pages=pages,
)
