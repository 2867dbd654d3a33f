import gzip
from pathlib import Path

import pytest

from eitr.errors import InputError
from eitr.initial.corpus import Labelled
from eitr.initial.sources import (
    LAST,
    RESERVED,
    SOURCES,
    for_judging,
    for_training,
    groups,
    is_reserved,
    read_sources,
)
from eitr.io.json_lines import read_rows
from eitr.taxonomy import NAMES


def test_half_of_the_reserved_sources_is_kept_from_every_model() -> None:
    pages = [Labelled((), 0, "", "", source="medquad", identifier=f"medquad:{number}") for number in range(1000)]
    assert sum(map(is_reserved, pages)) == pytest.approx(500, abs=60)
    assert not any(is_reserved(Labelled((), 0, "", "", source="bbc_2005", identifier=str(n))) for n in range(50))
    assert set(SOURCES) > RESERVED


def test_reserved_pages_are_neither_trained_on_nor_judged(toy_sources: Path) -> None:
    pages = read_sources(toy_sources, last=True)
    assert 30 < len(pages["medquad"]) < 90
    assert len(pages["alexa_homepages_a"]) == 120
    every = [page for of_source in pages.values() for page in of_source]
    assert not any(map(is_reserved, every))


def test_what_is_looked_at_last_is_read_only_when_asked_for(toy_sources: Path) -> None:
    assert not set(LAST) & set(read_sources(toy_sources))
    assert set(LAST) < set(read_sources(toy_sources, last=True))


def test_a_group_that_is_left_out_is_judged_and_not_trained_on(toy_sources: Path) -> None:
    pages = read_sources(toy_sources)
    assert groups(pages) == ["news", "home pages", "reference"]
    for group in groups(pages):
        trained, judged = for_training(pages, without=group), for_judging(pages, group)
        assert judged
        assert trained
        assert not {page.source for page in judged} & set(trained)
    everything = for_training(pages)
    assert "newsgroups" not in everything
    assert {page.source for page in for_judging(pages, None)} == {"newsgroups"}


def test_news_are_trained_on_and_judged_by_their_own_splits(toy_sources: Path) -> None:
    pages = read_sources(toy_sources)
    assert {page.split for page in for_training(pages)["news_rows"]} == {"train"}
    assert {page.split for page in for_judging(pages, "news") if page.source == "news_rows"} == {"test"}


def test_a_source_that_nobody_described_is_an_error(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "unheard_of.jsonl.gz", "wt"):
        pass
    with pytest.raises(InputError, match="unknown source; add 'unheard_of' to SOURCES"):
        read_sources(tmp_path)


def test_a_folder_without_data_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file ends in \.jsonl\.gz"):
        read_sources(tmp_path)


def test_each_topic_stays_in_training_whatever_group_is_left_out(shared_data: Path) -> None:
    paths = sorted((shared_data / "pages").glob("*.jsonl.gz"))
    labels = {path.name.split(".")[0]: [row["label"] for _, row in read_rows(path)] for path in paths}
    for group in {SOURCES[name].group for name in labels}:
        left = [label for name, found in labels.items() if SOURCES[name].group != group for label in found]
        for name in NAMES:
            assert left.count(name) >= 100, (group, name)
