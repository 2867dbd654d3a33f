"""The language of a text, told by its function words; the golden cases are in test_golden.py."""

import pytest

from eitr.pages.language import FOREIGN, FUNCTION_WORDS, HOMOGRAPHS, LANGUAGES, OTHER, UNKNOWN, language_of
from eitr.pages.page import Page
from eitr.pages.reading import Reading, read_body
from eitr.pages.tokens import STOP_WORDS, normalised, tokens, words


def test_there_is_a_table_for_every_language_one_for_all_others_and_some_for_close_ones() -> None:
    names = tuple(FUNCTION_WORDS)
    assert names[:7] == (*LANGUAGES, OTHER)
    assert {"ca", "gl", "ro", "nl", "pl", "cs", "tl", "ht", "la"} <= set(names[7:])
    assert all(len(FUNCTION_WORDS[name]) >= 80 for name in names[:7])


def test_every_function_word_and_homograph_is_a_single_word_and_listed_once() -> None:
    for listed in (*FUNCTION_WORDS.values(), *HOMOGRAPHS.values()):
        assert [words(word) for word in listed] == [[word] for word in listed]
        assert len(set(listed)) == len(listed)


def test_a_function_word_of_another_language_is_none_of_the_six() -> None:
    shared = {word for language in LANGUAGES for word in FUNCTION_WORDS[language]}.intersection(FUNCTION_WORDS[OTHER])
    assert shared == set()


def test_homographs_are_listed_for_every_language_but_english() -> None:
    assert HOMOGRAPHS.keys() == {"any", *LANGUAGES[1:]}
    for language in LANGUAGES[1:]:
        assert not set(HOMOGRAPHS[language]) & (STOP_WORDS | set(HOMOGRAPHS["any"]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_function_words_of_a_language_are_in_that_language(language: str) -> None:
    assert language_of(FUNCTION_WORDS[language]) == language


@pytest.mark.parametrize(
    ("language", "text", "missing"),
    [
        ("de", "Nun war der Arzt da, und das Ergebnis ist gut", {"nun", "war", "gut"}),
        ("es", "Sin un médico no se han ido los padres", {"sin", "un", "han", "padres"}),
        ("fr", "Un pain pour les femmes, car elle est encore dans la rue", {"un", "pain", "femmes", "car", "encore"}),
        ("it", "Da Roma si sale con gli amici nella camera di un albergo", {"roma", "sale", "camera", "un"}),
        ("pt", "Eu vejo os barcos no mar e não se venda um dos meus", {"eu", "os", "mar", "venda", "dos"}),
    ],
)
def test_words_that_are_english_by_accident_are_no_tokens(language: str, text: str, missing: set[str]) -> None:
    found = read_body(Page(text=text))
    assert found.language == language
    assert missing <= set(words(normalised(text)))
    assert not missing & set(found.tokens)


def test_the_same_words_are_tokens_of_an_english_text() -> None:
    english = "The nun said that a sin in Roma is a pain for the mayor of the land, and it was war"
    assert read_body(Page(text=english)).language == "en"
    assert {"nun", "sin", "roma", "pain", "mayor", "land", "war"} <= set(read_body(Page(text=english)).tokens)


def test_a_text_says_its_language_however_often_it_is_repeated() -> None:
    text = words("wir sind auch am Sonntag für Sie da")
    assert {language_of(text * times) for times in (1, 2, 50)} == {"de"}


@pytest.mark.parametrize("language", list(FUNCTION_WORDS)[7:])
def test_the_function_words_of_a_close_language_are_in_none_of_the_six(language: str) -> None:
    assert language_of(FUNCTION_WORDS[language]) == OTHER


def test_a_single_word_is_a_token_in_no_known_language() -> None:
    # Vocabularies are checked word by word: a word must stay a token, whatever languages have it.
    for listed in HOMOGRAPHS.values():
        for word in listed:
            assert tokens(word) == [word]
            language = UNKNOWN if word.isascii() else FOREIGN
            assert read_body(Page(title=word)) == Reading(language, [word])
