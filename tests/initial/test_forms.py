from dataclasses import replace

import pytest

from eitr.initial.forms import Inflections, forms_of, leftovers, named_groups, plural, relatives, singulars, stems
from eitr.initial.material import Material, material
from eitr.pages.tokens import tokens
from eitr.taxonomy import NAMES

TOY = Material(
    lexicon=(
        {"diseases": ("cancer", "cancers", "gout", "lupus", "scurvy"), "care": ("nurse", "nurses", "nursing")},
        {"power": ("elect", "elected", "election", "senate", "veto", "vetoes")},
        {},
        {"love": ("races",)},
        {"peoples": ("race",)},
        {},
    ),
    sketches=((),) * len(NAMES),
    reserved=((),) * len(NAMES),
    names=frozenset(),
    apart=frozenset({"aids"}),
    same={"tumor": ("tumour",)},
)
KNOWN = {word for label in range(len(NAMES)) for word in TOY.words(label)} | {
    "tumour",
    "tumor",
    "aid",
    "aids",
    "vetoing",
}


def inflections(kept: tuple[str, ...] = ()) -> Inflections:
    return Inflections(KNOWN, TOY, kept)


@pytest.mark.parametrize(
    ("word", "base"),
    [("cancers", "cancer"), ("vetoes", "veto"), ("vetoing", "veto"), ("nursing", "nurse"), ("tumour", "tumor")],
)
def test_an_inflection_has_its_word_as_base(word: str, base: str) -> None:
    assert inflections().base(word) == base
    assert inflections().base(base) == base


def test_words_of_two_classes_are_never_brought_together() -> None:
    assert inflections().base("races") == "races"


def test_a_word_that_only_looks_like_a_form_stays_apart() -> None:
    assert inflections().base("aids") == "aids"


def test_a_kept_word_loses_its_plural_only() -> None:
    kept = inflections(("nursing", "cancers"))
    assert kept.base("nursing") == "nursing"
    assert kept.base("cancers") == "cancer"


@pytest.mark.parametrize("word", ["virus", "diagnosis", "illness", "gas"])
def test_not_every_final_s_is_a_plural(word: str) -> None:
    assert list(singulars(word)) == []


@pytest.mark.parametrize(
    ("word", "verb"), [("voted", "vote"), ("praying", "pray"), ("banned", "ban"), ("married", "marry")]
)
def test_a_verb_is_found_in_its_forms(word: str, verb: str) -> None:
    assert verb in stems(word)


@pytest.mark.parametrize("word", ["therapy", "church", "doctor", "veto"])
def test_a_plural_leads_back_to_its_singular(word: str) -> None:
    many = plural(word)
    assert many is None or word in singulars(many)


def test_relatives_begin_alike_and_are_of_one_class() -> None:
    assert relatives(["elected", "race"], TOY) == {"elect": 0}


def test_what_is_left_of_a_subtopic_is_a_group_named_by_its_most_frequent_word() -> None:
    left = leftovers(["cancer", "nurse"], inflections(), TOY, doubtful=frozenset({"senate"}))
    assert left[0, "diseases"] == ["gout", "lupus", "scurvy"]
    assert named_groups({(0, "diseases"): left[0, "diseases"]}, {"lupus": 3}) == [["lupus", "gout", "scurvy"]]
    assert "senate" not in {word for members in left.values() for word in members}


def test_forms_point_to_their_words_and_are_tokens() -> None:
    words = ["cancer", "lupus", "nurse"]
    forms = forms_of(words, [["lupus", "gout", "scurvy"]], KNOWN, inflections(), TOY)
    assert forms.items() >= {"cancers": 0, "gout": 1, "scurvy": 1, "nurses": 2, "nursing": 2}.items()
    assert forms.keys().isdisjoint(words)
    assert list(forms) == sorted(forms)
    assert all(tokens(form) == [form] for form in forms)


def test_a_form_that_another_class_claims_is_not_made_up() -> None:
    claimed = replace(TOY, lexicon=(*TOY.lexicon[:5], {"music": ("lupuses", "nurseries")}))
    forms = forms_of(["race"], [], KNOWN, Inflections(KNOWN, claimed, ()), claimed)
    assert "races" not in forms


def test_our_list_of_forms_is_made_of_tokens_of_one_class() -> None:
    ours = material()
    listed = [*ours.apart, *ours.same, *(form for forms in ours.same.values() for form in forms)]
    assert [tokens(word) for word in listed] == [[word] for word in listed]
    classes = {word: label for label in range(len(NAMES)) for word in ours.words(label)}
    for word, forms in ours.same.items():
        assert len({classes[each] for each in (word, *forms) if each in classes}) <= 1, word
