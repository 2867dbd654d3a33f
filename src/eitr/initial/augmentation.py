"""Training pages of every length and mixture, made of real pages, of the news rows and of our own material.

The news rows are a newspaper's headlines of a few years; pages elsewhere are longer, noisier, and use other words.
So rows are joined, words we know are strewn in, sketches are turned into pages, and chatter, common words and
gaps are added, as on a real page with its menus, asides and unknown words. Real pages are cut, so that short ones
occur as often as long ones.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eitr.initial.corpus import Labelled
from eitr.initial.material import Material
from eitr.pages.ranking import document_frequencies
from eitr.taxonomy import NAMES, NON_SENSITIVE

Words = list[str]

SHORTEST = 6
"""No part of a real page has fewer words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """How often what happens to a page; each number is a probability."""

    classes: tuple[float, ...] = (0.11, 0.11, 0.11, 0.11, 0.11, 0.45)
    real: float = 0.5
    """A sensitive page is cut out of a real one, if there are real pages of its class."""
    real_harmless: float = 0.6
    """So is a page that is not sensitive: there are more kinds of them than we can compose."""
    whole: float = 0.3
    """A real page is taken as it is; otherwise a part of it."""
    opening: float = 0.5
    """A part is the page's beginning; otherwise it begins anywhere."""
    written: float = 0.6
    """A page is made of our material alone; otherwise of rows."""
    sketched: float = 0.6
    """A written page is made of sketches, not of the lexicon alone."""
    headline: float = 0.35
    """A page of rows is a single row."""
    long: float = 0.2
    """A page of rows has 9 to 59 of them; otherwise 2 to 8."""
    titled: float = 0.4
    """The first row counts twice, as a title that the text repeats."""
    strewn: float = 0.5
    """Words of the lexicon join a page of rows."""
    noisy: float = 0.6
    """Words that say little join a page of rows."""
    chatter: float = 0.6
    """Rows that are not sensitive join a sensitive page."""
    surroundings: float = 0.5
    """What joins a sensitive page is the beginning of a real page, with its menu, if there are real pages."""
    stray: float = 0.1
    """A few words of some sensitive class join a page of another."""
    mention: float = 0.1
    """A few words of some sensitive class join a page that is not sensitive."""
    gaps: float = 0.5
    """Some words, between a tenth and a half, are lost."""
    topical: float = 0.4
    """A word drawn from a sensitive class's lexicon is one of its most common."""


@dataclass(frozen=True, slots=True)
class _RealPages:
    """The real pages of one class, and how often each source is drawn."""

    pages: list[list[tuple[str, ...]]]
    """One list for each source."""
    up_to: NDArray[np.float64]
    """The cumulative probabilities of the sources."""


class PageMaker:
    """Draws pages; the same seed gives the same pages."""

    def __init__(
        self,
        rows: Sequence[Labelled],
        material: Material,
        known: Collection[str],
        *,
        sources: Mapping[str, Sequence[Labelled]] | None = None,
        mixture: Mixture,
        seed: int,
    ) -> None:
        """Prepare to draw; of the lexicon, only words the vocabulary knows are used.

        `rows` are headlines, of which pages are composed; `sources` are real pages by where they come from.
        """
        self._mixture = mixture
        self._random = np.random.Generator(np.random.PCG64(seed))
        labels = range(len(NAMES))
        self._rows = [[row.words for row in rows if row.label == label] for label in labels]
        self._sections = _sections(rows)
        self._real = [_by_source(sources or {}, label) for label in labels]
        self._sketches = material.sketches
        self._subtopics = [
            [known_words for words in material.lexicon[label].values() if (known_words := _known(words, known))]
            for label in labels
        ]
        self._lexicon = [_known(sorted(material.words(label)), known) for label in labels]
        self._topical = [_known(material.topical(label), known) for label in labels]
        topics = frozenset().union(*(material.words(label) for label in labels))
        self._common, self._common_up_to = _common_words(self._rows, topics)

    def pages(self, count: int) -> tuple[list[Words], NDArray[np.int64]]:
        """Return so many pages and their labels."""
        bounds = np.cumsum(self._mixture.classes)
        labels = np.searchsorted(bounds, self._random.random(count) * bounds[-1], side="right")
        return [self._page(int(label)) for label in labels], labels.astype(np.int64)

    def _page(self, label: int) -> Words:
        mixture = self._mixture
        if self._real[label].pages and self._happens(mixture.real_harmless if label == NON_SENSITIVE else mixture.real):
            page = self._cut(self._real[label])
        elif self._happens(mixture.written):
            page = self._written(label)
        else:
            page = self._of_rows(label)
        if label != NON_SENSITIVE and self._happens(mixture.chatter):
            page += self._chatter(len(page) * self._random.uniform(0, 0.5))
        if self._happens(mixture.mention if label == NON_SENSITIVE else mixture.stray):
            page += self._strays(label, int(len(page) * self._random.uniform(0, 0.1)))
        if self._happens(mixture.gaps):
            kept = self._random.random(len(page)) >= self._random.uniform(0.1, 0.5)
            page = [word for word, keep in zip(page, kept, strict=True) if keep]
        return page

    def _cut(self, real: "_RealPages") -> Words:
        """Return a real page or a part of it; the logarithm of a part's length is uniform."""
        words = self._one_real(real)
        if len(words) <= SHORTEST or self._happens(self._mixture.whole):
            return list(words)
        length = int(np.exp(self._random.uniform(np.log(SHORTEST), np.log(len(words)))))
        start = 0 if self._happens(self._mixture.opening) else int(self._random.integers(len(words) - length + 1))
        return list(words[start : start + length])

    def _one_real(self, real: "_RealPages") -> tuple[str, ...]:
        pages = real.pages[int(np.searchsorted(real.up_to, self._random.random(), side="right"))]
        return pages[int(self._random.integers(len(pages)))]

    def _written(self, label: int) -> Words:
        """Return a page of our own words, with common words around them."""
        if self._happens(self._mixture.sketched):
            page = self._sketched(label)
        else:
            page = self._lexical(label, int(np.exp(self._random.uniform(np.log(2), np.log(80)))))
        return page + self._common_words(int(len(page) * self._random.uniform(0.2, 2.5)))

    def _sketched(self, label: int) -> Words:
        """Return parts of one sketch, seldom of up to five, half the time with words of the lexicon."""
        sketches = self._sketches[label]
        count = 1 + self._happens(1 / 3) + 3 * self._happens(1 / 6)
        page: Words = []
        for choice in self._random.integers(len(sketches), size=count):
            kept = self._random.random(len(sketches[choice])) < self._random.uniform(0.4, 1)
            page += [word for word, keep in zip(sketches[choice], kept, strict=True) if keep]
        if self._happens(0.5):
            page += self._lexical(label, 1 + int(len(page) * self._random.uniform(0.1, 0.6)))
        return page

    def _lexical(self, label: int, count: int) -> Words:
        """Return words of one to three subtopics; as on any page, some of them come again and again."""
        every = self._subtopics[label]
        if not every:
            return []
        subtopics = [every[choice] for choice in self._random.integers(len(every), size=self._random.integers(1, 4))]
        distinct = max(1, int(count * 0.7))
        common = self._topical[label] if label != NON_SENSITIVE else ()
        drawn = [
            self._one_of(
                common
                if common and self._happens(self._mixture.topical)
                else subtopics[self._random.integers(len(subtopics))]
            )
            for _ in range(distinct)
        ]
        again = (self._random.random(count - distinct) ** 2 * distinct).astype(int)
        return drawn + [drawn[place] for place in again]

    def _of_rows(self, label: int) -> Words:
        """Return rows of one class, often of one section, with words of ours or common ones."""
        mixture = self._mixture
        rows: Sequence[tuple[str, ...]] = self._rows[label]
        if label == NON_SENSITIVE and self._happens(0.6):
            rows = self._one_section()
        chosen = [rows[choice] for choice in self._random.integers(len(rows), size=self._row_count())]
        page = [word for row in chosen for word in row]
        if self._happens(mixture.titled):
            page += chosen[0]
        if self._happens(mixture.strewn):
            page += self._lexical(label, 1 + int(len(page) * self._random.uniform(0.05, 0.4)))
        if self._happens(mixture.noisy):
            page += self._common_words(int(len(page) * self._random.uniform(0, 1)))
        return page

    def _row_count(self) -> int:
        chance = self._random.random()
        if chance < self._mixture.headline:
            return 1
        if chance < 1 - self._mixture.long:
            return int(self._random.integers(2, 9))
        return int(self._random.integers(9, 60))

    def _chatter(self, length: float) -> Words:
        """Return about so many words of a page that is not sensitive, or of headlines and words of our lexicon."""
        if self._real[NON_SENSITIVE].pages and self._happens(self._mixture.surroundings):
            return list(self._one_real(self._real[NON_SENSITIVE])[: int(length)])
        rows = self._one_section()
        page: Words = []
        for choice in self._random.integers(len(rows), size=1 + int(length / 4)):
            if len(page) >= length:
                break
            page += rows[choice]
        page = page[: int(length)]
        if self._happens(0.5):
            page += self._lexical(NON_SENSITIVE, 1 + int(length * 0.3))
        return page

    def _strays(self, label: int, count: int) -> Words:
        others = [other for other in range(NON_SENSITIVE) if other != label]
        words = self._lexicon[others[self._random.integers(len(others))]]
        return [self._one_of(words) for _ in range(count)] if words else []

    def _common_words(self, count: int) -> Words:
        if not self._common:
            return []
        places = np.searchsorted(self._common_up_to, self._random.random(count), side="right")
        return [self._common[place] for place in places]

    def _one_section(self) -> Sequence[tuple[str, ...]]:
        return self._sections[int(self._random.integers(len(self._sections)))]

    def _one_of(self, words: Sequence[str]) -> str:
        return words[int(self._random.integers(len(words)))]

    def _happens(self, probability: float) -> bool:
        return bool(self._random.random() < probability)


def _known(words: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word in known)


def _by_source(sources: Mapping[str, Sequence[Labelled]], label: int) -> _RealPages:
    """Return the pages of a class; a source is drawn as often as the square root of its size says: none dominates."""
    found = [[page.words for page in pages if page.label == label and page.words] for pages in sources.values()]
    found = [pages for pages in found if pages]
    cumulative = np.cumsum([len(pages) ** 0.5 for pages in found])
    return _RealPages(found, cumulative / cumulative[-1] * (1 + 1e-12) if found else cumulative)


def _sections(rows: Sequence[Labelled]) -> list[list[tuple[str, ...]]]:
    """Return the rows that are not sensitive, by the section they come from."""
    sections: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        if row.label == NON_SENSITIVE:
            sections.setdefault(row.section, []).append(row.words)
    return list(sections.values())


def _common_words(
    rows: Sequence[Sequence[tuple[str, ...]]], topics: frozenset[str], least: int = 5
) -> tuple[list[str], NDArray[np.float64]]:
    """Return words of no topic and their cumulative probabilities, with all classes weighted equally."""
    frequencies = [document_frequencies(documents) for documents in rows]
    total = sum(frequencies[1:], frequencies[0])
    words = sorted(word for word, count in total.items() if count >= least and word not in topics)
    loudness = [
        sum(frequency[word] / max(1, len(documents)) for frequency, documents in zip(frequencies, rows, strict=True))
        for word in words
    ]
    cumulative = np.cumsum(loudness)
    return words, cumulative / cumulative[-1] * (1 + 1e-12) if words else cumulative
