"""Pages of real sites; they are no part of the project, so the tests are skipped where they are missing."""

import gzip
import json
import tarfile
import time
from pathlib import Path

import pytest

from eitr.pages import Page, Vocabulary, tokens
from eitr.pages.extract import extract
from eitr.pages.ranking import document_frequencies, most_weighty


@pytest.fixture(scope="module")
def real_pages(shared_data: Path) -> dict[str, bytes]:
    with tarfile.open(shared_data / "html_pages.tar.gz") as archive:
        members = [member for member in archive if member.isfile()]
        return {member.name.split("/")[0]: archive.extractfile(member).read() for member in members}


def test_every_real_page_has_words_and_no_code(real_pages: dict[str, bytes]) -> None:
    assert len(real_pages) >= 60
    for name, data in real_pages.items():
        text = extract(data).text
        assert tokens(text), name
        assert "function(" not in text.replace(" ", "") or name in ("lazy-image-1", "002", "v8-blog"), name


@pytest.mark.parametrize(
    ("name", "title", "words"),
    [
        ("webmd-1", "Babies Who Eat Peanuts Early May Avoid Allergy", "peanut allergies babies"),
        ("wikipedia-2", "New Zealand - Wikipedia", "māori auckland parliament"),
        ("medicalnewstoday", "How does the brain turn unconscious information", "neurobiological brain unconscious"),
        ("folha", "Tite diz que errou ao levar taça", "seleção taça"),
        ("aclu", "Facebook Is Tracking Me", "facebook tracking privacy"),
    ],
)
def test_a_real_page_keeps_its_title_and_words(real_pages: dict[str, bytes], name: str, title: str, words: str) -> None:
    page = extract(real_pages[name])
    assert page.title.startswith(title)
    assert set(words.split()) <= set(tokens(page.content()))


def test_real_pages_are_read_quickly(real_pages: dict[str, bytes]) -> None:
    start = time.process_time()
    for data in real_pages.values():
        extract(data)
    assert time.process_time() - start < 15  # 0.5 s on an idle machine


def test_thousands_of_rows_a_second_become_vectors(shared_data: Path) -> None:
    with gzip.open(shared_data / "news_rows.jsonl.gz", "rt", encoding="utf-8") as lines:
        pages = [Page.from_row(json.loads(line)) for line in lines]
    documents = [tokens(page.content()) for page in pages]
    vocabulary = Vocabulary.of(most_weighty(documents), document_frequencies(documents), len(documents))
    start = time.process_time()
    rows = vocabulary.rows(pages)
    assert len(rows) / (time.process_time() - start) > 2000  # 30,000 on an idle machine
    assert len(vocabulary) == 1000
    assert (rows.dense().any(axis=1)).mean() > 0.9
