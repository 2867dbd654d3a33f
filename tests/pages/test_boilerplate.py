"""Menus, cookie banners and legal notices do not count; what the page itself says always does."""

import json
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eitr.model import Classifier
from eitr.pages import Page, Vocabulary, tokens
from eitr.pages.boilerplate import NAVIGATION, PHRASES
from eitr.pages.language import homographs
from eitr.pages.reading import read_body

CASES = json.loads((Path(__file__).parents[1] / "golden" / "boilerplate.json").read_text("utf-8"))["cases"]
GOLDEN = {case["name"]: Page(**case["page"]) for case in CASES}
PIECES = st.sampled_from(
    [
        "home",
        "search",
        "help",
        "menu",
        "use cookies",
        "privacy policy",
        "fever",
        "vote",
        "café",
        ". ",
        "! ",
        "\n",
        "|",
        "·",
        ".",
    ]
)
TEXTS = st.lists(PIECES, max_size=120).map(" ".join) | st.text()


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("home STI kit", "health"),
        ("abortion pills", "health"),
        ("trade union", "politics"),
        ("kosher catering", "religion"),
    ],
)
def test_navigation_and_consent_text_do_not_hide_a_short_page(name: str, label: str) -> None:
    bare, surrounded = GOLDEN[name], GOLDEN[f"{name}, with navigation and consent text"]
    assert len(surrounded.text.split()) - len(bare.text.split()) >= 60
    shipped = Classifier.shipped()
    first, second = shipped.classify([bare, surrounded])
    assert (first.label, second.label) == (label, label)
    assert second.probabilities == first.probabilities
    assert second.shown == label


def test_no_reason_comes_from_boilerplate() -> None:
    shipped = Classifier.shipped()
    page = Page(
        text="Drug policy\n" * 3
        + "We use cookies for every patient, doctor and nurse.\n"
        + "Voters elect a senate. " * 9
    )
    assert not {"patient", "doctor", "nurse"} & {reason.word for reason in shipped.reasons(page)}


def test_navigation_words_count_where_a_sentence_says_them() -> None:
    page = Page(
        text="The nursing home has a new menu.\nContact\n" + "Residents choose from five dishes every day. " * 3
    )
    assert read_body(page).tokens[:4] == ["nursing", "home", "new", "menu"]
    assert "contact" not in read_body(page).tokens


@given(TEXTS, TEXTS)
@example("AI", "AI")
def test_what_counts_is_a_part_of_the_page_and_the_whole_title(title: str, text: str) -> None:
    page = Page(title=title, text=text)
    language, kept = read_body(page)
    rest = iter(tokens(page.content()))
    assert all(word in rest for word in kept)  # in the same order
    # "AI" is a word of Italian, too: a page that says nothing else is read as Italian.
    whole = [word for word in tokens(title) if word not in homographs(language)]
    assert kept[: len(whole)] == whole


def test_the_list_holds_each_token_and_phrase_once() -> None:
    text = files("eitr").joinpath("assets", "boilerplate.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(set(lines)) == len(lines) == len(NAVIGATION) + sum(map(len, PHRASES.values()))
    assert [line for line in lines if tokens(line) != line.split(" ")] == []


@pytest.mark.parametrize("piece", ["\n", "home\n", "use ", "cookies. ", "| x ", "zz\n", ". "])
def test_time_grows_with_the_length_of_the_text_only(piece: str) -> None:
    page = Page(text=piece * (500_000 // len(piece)))
    start = time.process_time()
    read_body(page)
    assert time.process_time() - start < 10  # 0.5 s on an idle machine


def test_a_vocabulary_says_by_its_version_how_pages_are_read() -> None:
    page = Page(title="Fever", text="We use cookies\n" + "fever and nothing else for us\n" * 12)
    new = Vocabulary(("fever", "cookies"), np.ones(2))
    old = Vocabulary.from_json(new.to_json().replace('"version":2', '"version":1'))
    assert "cookies" in old.read(page).tokens
    assert "cookies" not in new.read(page).tokens
    assert [len(vocabulary.rows([page]).columns) for vocabulary in (old, new)] == [2, 1]
    assert Vocabulary.from_json(old.to_json()).version == 1
