from dataclasses import replace

import pytest

from eitr.initial.corpus import Labelled
from eitr.initial.material import material
from eitr.initial.vocabulary_choice import weighted, with_forms
from eitr.taxonomy import NAMES, NON_SENSITIVE

COMMON = tuple(f"chat{'abcdefghijklmnopqrst'[n]}" for n in range(20))


def rows() -> list[Labelled]:
    """Ten rows a sensitive class with two words of its own, and 400 of many other words."""
    sensitive = [
        Labelled((f"topic{name[:3]}", f"more{name[:3]}", "chata"), label, "", "train")
        for label, name in enumerate(NAMES)
        if label != NON_SENSITIVE
        for _ in range(10)
    ]
    return sensitive + [Labelled(COMMON, NON_SENSITIVE, "", "train") for _ in range(400)]


def chosen(rows: list[Labelled]) -> list[str]:
    return with_forms(rows, material(), 2000)[0]


def test_every_class_gets_its_words_though_one_is_much_larger() -> None:
    assert {f"topic{name[:3]}" for name in NAMES[:NON_SENSITIVE]} <= set(chosen(rows()))


def test_a_word_of_all_classes_alike_is_not_chosen() -> None:
    assert "everywhere" not in chosen([replace(row, words=(*row.words, "everywhere")) for row in rows()])


def test_every_reserved_word_is_known() -> None:
    words, forms = with_forms(rows(), material(), 1000)
    assert {word for words in material().reserved for word in words} <= {*words, *forms}


def test_names_of_people_are_left_out() -> None:
    named = [replace(row, words=(*row.words, "kardashian", "topical")) if row.label == 0 else row for row in rows()]
    assert "topical" in chosen(named)
    assert "kardashian" not in chosen(named)


def test_a_word_of_one_site_is_left_out_when_there_are_several() -> None:
    several = [replace(row, source=f"site {place % 5}") for place, row in enumerate(rows())]
    branded = [
        replace(row, words=(*row.words, "everysite", *(["onesite"] if row.source == "site 0" else [])))
        if row.label == 0
        else row
        for row in several
    ]
    found = chosen([*branded, *branded, *branded, *branded])
    assert "everysite" in found
    assert "onesite" not in found


def test_a_word_the_rows_do_not_know_weighs_no_more_than_a_rare_one() -> None:
    vocabulary = weighted(["topichea", "unheard", "chata"], rows())
    assert vocabulary.idf[0] == vocabulary.idf[1] > vocabulary.idf[2] == pytest.approx(1.0, abs=0.01)


def test_the_choice_with_forms_has_exactly_as_many_words_and_knows_many_more() -> None:
    words, forms = with_forms(rows(), material(), 1000)
    assert len(words) == len(set(words)) == 1000
    assert len(forms) > 5000
    assert forms.keys().isdisjoint(words)
    assert set(forms.values()) <= set(range(1000))


def test_no_form_counts_as_a_word_of_another_class() -> None:
    words, forms = with_forms(rows(), material())
    classes = {word: label for label in range(len(NAMES)) for word in material().words(label)}
    assert [
        (form, words[place])
        for form, place in forms.items()
        if classes.get(form, classes.get(words[place])) != classes.get(words[place], classes.get(form))
    ] == []


def test_nearly_the_whole_lexicon_is_known() -> None:
    words, forms = with_forms(rows(), material())
    lexicon = frozenset().union(*(material().words(label) for label in range(len(NAMES))))
    assert len(lexicon & {*words, *forms}) > 0.9 * len(lexicon)


def test_a_row_with_a_form_counts_for_the_weight_of_its_word() -> None:
    plain_weight = weighted(["topichea", "chata"], rows()).idf[0]
    with_form = weighted(["topichea", "chata"], rows(), {"topicpol": 0}).idf[0]
    assert with_form < plain_weight
