"""From labelled pages to examples: words are chosen on the pages to train on, then every page is weighed.

The numbers are those of `eitr.pages.ranking.most_weighty` and `eitr.pages.vocabulary.Vocabulary`, to the last bit (the
tests compare them), computed for all pages at once: half a million pages take seconds.

A page is taken as it stands, and so a news page counts the words of its title twice, as its text begins with it.
`eitr.initial.corpus` drops the second time when training; here the pages of an experiment must be treated alike whether
trained on or tested on, the product counts both (a web page repeats its title as heading), and so do the baselines that
the data come with.
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.interface import MAX_WIDTH, Examples, Labelled
from eitr.datasets.sampling import stratified_sample, stratified_split
from eitr.errors import InputError
from eitr.pages.logarithm import ln
from eitr.pages.page import Page
from eitr.pages.ranking import best
from eitr.pages.sparse import SparseRows
from eitr.pages.tokens import tokens
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

NO_WORDS = "the pages to train on have no words: add pages with text, or name the column of the text (--text-column)"
BLOCK = 1 << 15
"""So many pages are weighed at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class WordCounts:
    """Page `i` has the words `ids[starts[i]:starts[i+1]]`, each once, so many times as `counts` says there."""

    starts: NDArray[np.int64]
    ids: NDArray[np.int32]
    """Places in `words`."""
    counts: NDArray[np.int32]
    words: Sequence[str]


def examples_of(
    name: str,
    pages: Callable[[], Iterable[Labelled]],
    *,
    words: int = 1000,
    seed: int = 0,
    size: int | None = None,
    classes: tuple[str, ...] = NAMES,
    vocabulary: Vocabulary | None = None,
) -> Examples:
    """Make examples of pages, which are gone through once, or twice where only `size` of them are to be taken.

    Of the pages only their words' numbers are kept. The columns are the words of the vocabulary, which also says how
    pages are read; without one, the `words` weightiest of the pages to train on. A class of `classes` that has no page
    is an InputError.
    """
    chosen: NDArray[np.bool_] | None = None
    if size is not None:
        pairs = np.array([(label, _mark(test)) for _, label, test in pages()], np.int64).reshape(-1, 2)
        labels, test = _split(pairs, seed, name, classes)
        chosen = np.zeros(len(labels), np.bool_)
        chosen[stratified_sample(labels * 2 + test, size, seed)] = True
    kept = pages() if chosen is None else compress(pages(), chosen)
    marks = array("q")
    if vocabulary is None:
        counted = _collect(_marked(kept, marks))
    else:
        rows = vocabulary.rows(_marked(kept, marks))
    if chosen is None:
        pairs = np.asarray(marks, np.int64).reshape(-1, 2)
        labels, test = _split(pairs, seed, name, classes)
    else:
        labels, test = labels[chosen], test[chosen]
    if vocabulary is None:
        return weigh(name, counted, labels, test, words=words)
    return Examples(name, rows, labels, test, vocabulary.words)


def weigh(
    name: str, pages: WordCounts, labels: NDArray[np.int64], test: NDArray[np.bool_], *, words: int = 1000
) -> Examples:
    """Make examples of counted words: the `words` weightiest of the pages to train on are the columns."""
    if not 1 <= words <= MAX_WIDTH:
        raise InputError(f"there can be 1 to {MAX_WIDTH} words, not {words}")
    frequencies, weights = _mean_weights(pages, ~test)
    chosen = best(weights, words)
    if not chosen:
        raise InputError(f"{name}: {NO_WORDS}")
    n = int((~test).sum())
    places = np.full(len(pages.words), -1, np.int32)
    number = {word: place for place, word in enumerate(pages.words)}
    ids = np.array([number[word] for word in chosen])
    places[ids] = np.arange(len(ids), dtype=np.int32)
    idf = np.array([math.log((1 + n) / (1 + frequency)) + 1 for frequency in frequencies[ids].tolist()])
    return Examples(name, _rows(pages, places, idf), labels, test, tuple(chosen))


def _mark(test: bool | None) -> int:
    return -1 if test is None else int(test)


def _split(
    pairs: NDArray[np.int64], seed: int, name: str, classes: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return labels and test marks; pages of which the data do not say get theirs here."""
    labels, marks = pairs[:, 0].copy(), pairs[:, 1]
    if not len(labels):
        raise InputError(f"{name}: the data hold no page")
    missing = [each for each in classes if not (labels == NAMES.index(each)).any()]
    if missing:
        raise InputError(f"{name}: the data hold no page of the class {', '.join(missing)}")
    test, open_ = marks == 1, np.flatnonzero(marks == -1)
    test[open_] = stratified_split(labels[open_], seed)
    return labels, test


def _marked(pages: Iterable[Labelled], marks: "array[int]") -> Iterator[Page]:
    """Yield the pages alone; append the label and the test mark of each to `marks`."""
    for page, label, test in pages:
        marks.extend((label, _mark(test)))
        yield page


def _collect(pages: Iterable[Page]) -> WordCounts:
    """Count the words of pages."""
    known: dict[str, int] = {}
    ids, counts, ends = array("i"), array("i"), array("q", [0])
    for page in pages:
        counted = Counter(tokens(page.content()))
        ids.extend([known.setdefault(word, len(known)) for word in counted])
        counts.extend(counted.values())
        ends.append(len(ids))
    # No copies: these arrays are the largest thing in memory.
    return WordCounts(np.asarray(ends, np.int64), np.asarray(ids, np.int32), np.asarray(counts, np.int32), list(known))


def _mean_weights(pages: WordCounts, train: NDArray[np.bool_]) -> tuple[NDArray[np.int64], dict[str, float]]:
    """Return in how many of the pages to train on each word occurs, and what `ranking.mean_weights` gives it there.

    That adds 1 + ln tf over the pages, exactly; here equal terms are gathered first.
    """
    kept = np.repeat(train, np.diff(pages.starts))
    ids, counts = pages.ids[kept], pages.counts[kept]
    size, n = len(pages.words), int(train.sum())
    frequencies, once = np.bincount(ids, minlength=size), np.bincount(ids[counts == 1], minlength=size)
    often, base = counts > 1, int(counts.max(initial=0)) + 1
    keys, numbers = np.unique(ids[often] * np.int64(base) + counts[often], return_counts=True)
    terms: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
    for key, times in zip(keys.tolist(), numbers.tolist(), strict=True):
        terms[key // base].append((1.0 + ln(key % base), times))
    weights = {}
    for place in np.flatnonzero(frequencies).tolist():
        repeated = chain.from_iterable(repeat(term, times) for term, times in terms[place])
        total = math.fsum(chain((float(once[place]),), repeated))
        weights[pages.words[place]] = total * (math.log((1 + n) / (1 + int(frequencies[place]))) + 1) / n
    return frequencies, weights


def _rows(pages: WordCounts, places: NDArray[np.int32], idf: NDArray[np.float64]) -> SparseRows:
    """Return what `Vocabulary.vector` gives for each page: (1 + ln tf) * idf, over the norm."""
    width, n = len(idf), len(pages.starts) - 1
    distinct = np.unique(pages.counts)
    damped = np.array([1.0 + ln(count) for count in distinct.tolist()])
    starts = np.zeros(n + 1, np.int64)
    columns, values = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    for first in range(0, n, BLOCK):
        ends = pages.starts[first : first + BLOCK + 1]
        rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        place = places[pages.ids[ends[0] : ends[-1]]]
        known = place >= 0
        rows, place, count = rows[known], place[known], pages.counts[ends[0] : ends[-1]][known]
        order = np.argsort(rows * width + place)
        rows, place, count = rows[order], place[order], count[order]
        weights = damped[np.searchsorted(distinct, count)] * idf[place]
        # bincount adds one after the other, as `Vocabulary` does: the same sum to the last bit.
        norms = np.sqrt(np.bincount(rows, weights * weights, minlength=len(ends) - 1))
        columns.append(place)
        values.append((weights / norms[rows]).astype(np.float32))
        starts[first + 1 : first + len(ends)] = np.bincount(rows, minlength=len(ends) - 1)
    return SparseRows(np.cumsum(starts), np.concatenate(columns), np.concatenate(values), width)
