import time
import unicodedata
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.pages.tokens import MAX_LENGTH, MIN_LENGTH, STOP_WORDS, _normalised, _patterns, normalised, tokens, words

ASCII = st.text(st.characters(max_codepoint=127))
ANY = st.text(st.characters())  # with surrogates
LETTERS_AND_MARKS = st.text(st.characters(categories=["L", "M"]) | st.sampled_from("İΣςᾼ\u0307\u0316\uff9e\u200d\xad"))


@given(ASCII)
def test_the_way_for_ascii_gives_what_the_general_way_gives(text: str) -> None:
    assert normalised(text) == _normalised(text)
    general = [word for word in _patterns()[0].findall(normalised(text)) if len(word) <= MAX_LENGTH]
    assert words(normalised(text)) == general
    assert tokens(text) == [word for word in general if word not in STOP_WORDS]


@given(ANY | LETTERS_AND_MARKS)
def test_tokens_are_tokens_of_themselves(text: str) -> None:
    once = tokens(text)
    assert tokens(" ".join(once)) == once


@given(ANY | LETTERS_AND_MARKS)
def test_every_token_is_a_lower_case_word_of_allowed_length(text: str) -> None:
    for word in tokens(text):
        assert MIN_LENGTH <= len(word) <= MAX_LENGTH
        assert unicodedata.category(word[0])[0] == "L"
        assert {unicodedata.category(character)[0] for character in word} <= {"L", "M"}
        assert word == word.lower().replace("ς", "σ")
        assert word not in STOP_WORDS


@given(ANY, ANY)
def test_words_on_two_lines_are_the_words_of_each(first: str, second: str) -> None:
    # Neither a mark at the start nor half a surrogate pair reaches across the line feed.
    assert tokens(first + "\n" + second) == tokens(first) + tokens(second)


@given(ANY)
def test_composed_and_decomposed_text_have_the_same_tokens(text: str) -> None:
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert tokens(unicodedata.normalize("NFD", text)) == tokens(text)


def test_halves_of_a_pair_side_by_side_are_one_character() -> None:
    pair = "".join(chr(unit) for unit in (0xD842, 0xDFB7))
    assert tokens(f"{pair}野家") == ["𠮷野家"]


@pytest.mark.parametrize("flood", ["\u0301\u0316", "\u0301\uff9e", "\u0301\u200d\u0316", "\u0344\u0316"])
def test_a_flood_of_marks_does_not_take_quadratic_time(flood: str) -> None:
    start = time.process_time()
    assert tokens("a" + flood * 200_000 + " end") == ["end"]
    assert time.process_time() - start < 20


def test_the_stop_words_are_sorted_lower_case_words_that_could_be_tokens() -> None:
    lines = files("eitr").joinpath("assets", "stopwords.txt").read_text("ascii").splitlines()
    assert lines == sorted(set(lines))
    assert all(_patterns()[0].findall(_normalised(word)) == [word] for word in lines)


def test_no_stop_word_tells_a_topic() -> None:
    telling = "health sick vote won party god church gay sex black white race women men women she"
    assert STOP_WORDS & set(telling.split()) == {"she"}
