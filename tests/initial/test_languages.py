"""The words of five further languages that count as English ones, and the further sketches."""

from collections import defaultdict
from importlib.resources import files

import pytest

from eitr.initial.languages import (
    ambiguous,
    concepts,
    english_of,
    english_words,
    foreign_forms,
    sketches,
    without_accents,
)
from eitr.initial.material import material
from eitr.pages.language import FUNCTION_WORDS, HOMOGRAPHS, LANGUAGES, OTHER
from eitr.pages.tokens import STOP_WORDS, tokens
from eitr.taxonomy import NAMES, NON_SENSITIVE

EVERYDAY = {"contact", "help", "insurance", "news", "privacy", "search", "terms"}
"""Concepts of menus and footers, which no topic has."""
FILLER = """
Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna
aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat.
Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur. Excepteur sint
occaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est laborum. Vitae porta massa ante
libero justo fames morbi urna.
"""

FOREIGN = LANGUAGES[1:]
each_language = pytest.mark.parametrize("language", FOREIGN)


@each_language
def test_there_are_hundreds_of_concepts_and_many_more_words(language: str) -> None:
    assert len(concepts(language)) >= 500
    assert sum(map(len, concepts(language).values())) >= 1500


@each_language
def test_every_concept_is_a_word_that_english_pages_use(language: str) -> None:
    sketched = {word for pages in material().sketches for page in pages for word in page}
    assert set(concepts(language)) <= english_words() | sketched | EVERYDAY


@each_language
def test_every_concept_has_one_line(language: str) -> None:
    text = files("eitr.initial").joinpath("material", f"concepts.{language}.txt").read_text("utf-8")
    assert sum(":" in line for line in text.splitlines()) == len(concepts(language))


@each_language
def test_every_word_is_its_own_only_token(language: str) -> None:
    listed = [word for words in concepts(language).values() for word in words]
    assert [tokens(word) for word in listed] == [[word] for word in listed]


def test_no_word_counts_as_two_concepts() -> None:
    meanings = defaultdict(set)
    for language in FOREIGN:
        for english, words in concepts(language).items():
            for word in words:
                meanings[word].add(english)
    assert {word: found for word, found in meanings.items() if len(found) > 1} == {}


@each_language
def test_no_word_is_listed_twice(language: str) -> None:
    listed = [word for words in concepts(language).values() for word in words]
    assert sorted(listed) == sorted(set(listed))


@each_language
def test_no_word_is_an_english_word(language: str) -> None:
    listed = {word for words in concepts(language).values() for word in words}
    assert listed & (english_words() | STOP_WORDS) == set()


def test_no_word_is_a_function_word_of_the_six_languages() -> None:
    function_words = {word for name in (*LANGUAGES, OTHER) for word in FUNCTION_WORDS[name]}
    assert english_of().keys() & function_words == set()


def test_no_word_is_dropped_from_texts_of_its_language() -> None:
    for language in FOREIGN:
        listed = {word for words in concepts(language).values() for word in words}
        assert listed & {*HOMOGRAPHS["any"], *HOMOGRAPHS[language]} == set()


def test_no_ambiguous_word_counts() -> None:
    assert english_of().keys() & ambiguous() == set()
    assert {"messe", "papa", "partido", "autista", "lei", "isla", "haut", "sacramento", "italiano"} <= ambiguous()


def test_filler_text_counts_as_nothing() -> None:
    assert [word for word in tokens(FILLER) if word in english_of()] == []


def test_spellings_without_accents_count_as_the_word() -> None:
    assert english_of()["santé"] == english_of()["sante"] == "health"
    assert english_of()["ärzte"] == english_of()["aerzte"] == "doctor"
    assert english_of()["religião"] == english_of()["religiao"] == "religion"
    assert without_accents("cœur", "fr") == "coeur"


def test_a_spelling_without_accents_that_is_an_english_word_stays_that_word() -> None:
    assert english_of()["cáncer"] == "cancer"
    assert "cancer" not in english_of()
    assert "vaccine" not in english_of()  # "vacciné", vaccinated


@pytest.mark.parametrize("label", range(NON_SENSITIVE))
@each_language
def test_most_reserved_words_of_every_topic_have_a_translation(language: str, label: int) -> None:
    # What is missing is written alike in all languages ("hiv", "islam") or matters in one country ("brexit").
    reserved = material().reserved[label]
    translated = {english_of().get(word) for words in concepts(language).values() for word in words}
    stems = {word[:6] for word in translated if word}
    assert sum(word[:6] in stems for word in reserved) >= 0.4 * len(reserved)


def test_a_foreign_word_gets_the_place_of_its_concept() -> None:
    forms = foreign_forms({"doctor": 3, "doctors": 3, "pharmacy": 5, "médico": 0})
    assert forms["arzt"] == forms["médica"] == forms["médecin"] == forms["dottoressa"] == forms["doutora"] == 3
    assert forms["farmacia"] == forms["farmácia"] == forms["apotheke"] == 5
    assert "médico" not in forms  # It has a place of its own.
    assert "krankenhaus" not in forms  # Its concept has none.


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_class_has_a_dozen_further_sketches(language: str) -> None:
    for name, pages in zip(NAMES, sketches(language), strict=True):
        assert len(pages) >= 12, name
        assert all(len(page) >= 2 for page in pages), name


@each_language
def test_every_sketch_of_a_topic_has_a_word_that_the_model_can_know(language: str) -> None:
    known = english_words() | english_of().keys()
    for name, pages in zip(NAMES[:NON_SENSITIVE], sketches(language), strict=False):
        assert [page for page in pages if known.isdisjoint(page)] == [], name


def test_hard_negatives_and_short_pages_are_there_in_number() -> None:
    english = sketches("en")
    assert len(english[NON_SENSITIVE]) >= 150
    assert sum(map(len, english[:NON_SENSITIVE])) >= 30
