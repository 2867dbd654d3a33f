from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eitr.initial.augmentation import Mixture, PageMaker
from eitr.initial.corpus import Labelled, read_rows
from eitr.initial.material import material
from eitr.taxonomy import NAMES, NON_SENSITIVE

NOTHING_ADDED = Mixture(written=0, titled=0, strewn=0, noisy=0, chatter=0, stray=0, mention=0, gaps=0)


@pytest.fixture(scope="module")
def rows(toy_data: Path) -> list[Labelled]:
    return [row for row in read_rows(toy_data, "news_rows") if row.split == "train"]


def maker(rows: list[Labelled], mixture: Mixture, seed: int = 1) -> PageMaker:
    known = {word for words in material().reserved for word in words}
    return PageMaker(rows, material(), known, mixture=mixture, seed=seed)


def test_the_same_seed_gives_the_same_pages_and_another_seed_others(rows: list[Labelled]) -> None:
    pages, labels = maker(rows, Mixture()).pages(50)
    again, labels_again = maker(rows, Mixture()).pages(50)
    assert pages == again
    assert (labels == labels_again).all()
    assert maker(rows, Mixture(), seed=2).pages(50)[0] != pages


def test_classes_come_as_often_as_asked(rows: list[Labelled]) -> None:
    mixture = Mixture(classes=(0.5, 0.1, 0.1, 0.1, 0.1, 0.1))
    counts = np.bincount(maker(rows, mixture).pages(2000)[1], minlength=len(NAMES))
    assert counts[0] == pytest.approx(1000, abs=100)
    assert counts[1:].min() >= 140


def test_a_page_of_rows_alone_has_only_words_of_its_class(rows: list[Labelled]) -> None:
    own = [{word for row in rows if row.label == label for word in row.words} for label in range(len(NAMES))]
    pages, labels = maker(rows, NOTHING_ADDED).pages(200)
    assert all(set(page) <= own[label] for page, label in zip(pages, labels, strict=True))


def test_pages_are_headlines_as_well_as_long_reads(rows: list[Labelled]) -> None:
    lengths = [len(page) for page in maker(rows, NOTHING_ADDED).pages(300)[0]]
    assert min(lengths) < 30
    assert max(lengths) > 500


def test_gaps_shorten_pages_by_a_tenth_to_a_half(rows: list[Labelled]) -> None:
    whole = sum(len(page) for page in maker(rows, NOTHING_ADDED).pages(500)[0])
    gapped = sum(len(page) for page in maker(rows, replace(NOTHING_ADDED, gaps=1)).pages(500)[0])
    assert 0.5 < gapped / whole < 0.9


def test_chatter_brings_other_words_to_sensitive_pages_only(rows: list[Labelled]) -> None:
    unsensitive = material().words(len(NAMES) - 1)
    mixture = replace(NOTHING_ADDED, chatter=1, classes=(1, 0, 0, 0, 0, 0))
    pages, _ = maker(rows, mixture).pages(100)
    assert sum(not unsensitive.isdisjoint(page) for page in pages) > 60


def test_a_vocabulary_that_knows_no_word_of_ours_still_gets_pages(rows: list[Labelled]) -> None:
    pages, _ = PageMaker(rows, material(), {"nothing"}, mixture=Mixture(stray=1), seed=1).pages(100)
    assert sum(map(len, pages)) > 1000


REAL = {
    "large": [Labelled(tuple(f"large{place}" for place in range(200)), 0, "", "")] * 100,
    "small": [Labelled(tuple(f"small{place}" for place in range(200)), 0, "", "")],
    "ordinary": [Labelled(("menu", *["ordinary"] * 50), NON_SENSITIVE, "", "")],
}
ONLY_REAL = replace(NOTHING_ADDED, classes=(1, 0, 0, 0, 0, 0), real=1)


def real_pages(rows: list[Labelled], mixture: Mixture, count: int = 400) -> list[list[str]]:
    return PageMaker(rows, material(), (), sources=REAL, mixture=mixture, seed=1).pages(count)[0]


def test_real_pages_are_cut_to_every_length(rows: list[Labelled]) -> None:
    pages = real_pages(rows, ONLY_REAL)
    lengths = np.array([len(page) for page in pages])
    assert lengths.min() == 6
    assert (lengths == 200).mean() == pytest.approx(0.3, abs=0.08)
    assert ((lengths > 6) & (lengths < 35)).mean() == pytest.approx(0.35, abs=0.1)
    for page in pages:
        first = int(page[0].lstrip("largesm"))
        assert [word.lstrip("largesm") for word in page] == [str(first + place) for place in range(len(page))]


def test_a_source_of_a_hundred_pages_is_drawn_ten_times_as_often_as_one_of_one_page(rows: list[Labelled]) -> None:
    pages = real_pages(rows, ONLY_REAL)
    assert sum(page[0].startswith("small") for page in pages) / len(pages) == pytest.approx(1 / 11, abs=0.04)


def test_the_beginning_of_an_ordinary_page_joins_a_sensitive_one(rows: list[Labelled]) -> None:
    pages = real_pages(rows, replace(ONLY_REAL, chatter=1, surroundings=1))
    joined = [page for page in pages if "menu" in page]
    assert len(joined) > 0.9 * len(pages)
    for page in joined:
        place = page.index("menu")
        assert set(page[place + 1 :]) <= {"ordinary"}
        assert len(page) - place <= place / 2


def test_ordinary_pages_mention_sensitive_words(rows: list[Labelled]) -> None:
    known = material().words(0)
    mixture = replace(NOTHING_ADDED, classes=(0, 0, 0, 0, 0, 1), real_harmless=1, mention=1)
    pages = PageMaker(rows, material(), known, sources=REAL, mixture=mixture, seed=1).pages(200)[0]
    added = [set(page) - {"menu", "ordinary"} for page in pages]
    assert any(added)
    assert all(words <= known for words in added)
