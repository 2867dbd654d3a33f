from collections import Counter

import pytest

from eitr.initial.material import material
from eitr.pages.tokens import tokens
from eitr.taxonomy import NAMES, NON_SENSITIVE

LABELS = range(len(NAMES))


@pytest.mark.parametrize("label", LABELS)
def test_every_word_of_the_lexicon_is_one_token_and_sorted(label: int) -> None:
    for words in material().lexicon[label].values():
        assert [tokens(word) for word in words] == [[word] for word in words]
        assert list(words) == sorted(set(words))


def test_no_word_of_the_lexicon_belongs_to_two_classes() -> None:
    counts = Counter(word for label in LABELS for word in material().words(label))
    assert [word for word, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("label", LABELS)
def test_the_lexicon_is_rich_in_every_class(label: int) -> None:
    lexicon = material().lexicon[label]
    assert len(material().words(label)) >= (900 if label == NON_SENSITIVE else 400)
    assert len(lexicon) >= (15 if label == NON_SENSITIVE else 5)
    assert min(map(len, lexicon.values())) >= 25


def test_the_reserved_words_are_distinct_tokens_and_fit_the_vocabulary() -> None:
    reserved = [word for words in material().reserved for word in words]
    assert [tokens(word) for word in reserved] == [[word] for word in reserved]
    assert len(set(reserved)) == len(reserved)
    assert len(reserved) <= 1000


def test_no_name_is_reserved() -> None:
    assert material().names.isdisjoint(word for words in material().reserved for word in words)


@pytest.mark.parametrize("label", LABELS)
def test_every_class_has_many_sketches_and_none_is_empty(label: int) -> None:
    sketches = material().sketches[label]
    assert len(sketches) >= 80
    assert min(map(len, sketches)) >= 3
