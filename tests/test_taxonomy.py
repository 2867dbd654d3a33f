import re

import pytest

from eitr.taxonomy import NAMES, NON_SENSITIVE, TOPICS, index_of

PROTOCOL_ORDER = ("health", "politics", "religion", "sexual-orientation", "ethnicity", "non-sensitive")


def test_the_six_classes_stand_in_the_order_of_the_protocol():
    assert NAMES == PROTOCOL_ORDER
    assert tuple(topic.name for topic in TOPICS) == PROTOCOL_ORDER


@pytest.mark.parametrize(("place", "name"), list(enumerate(PROTOCOL_ORDER)))
def test_the_index_of_a_class_is_its_place_in_every_vector(place, name):
    assert index_of(name) == place


def test_only_the_last_class_is_not_sensitive_and_only_it_has_no_letter():
    assert TOPICS[NON_SENSITIVE].name == "non-sensitive"
    assert [topic.name for topic in TOPICS if not topic.letter] == ["non-sensitive"]


def test_letters_colours_and_titles_tell_the_classes_apart():
    for field in ("name", "letter", "colour", "title", "about"):
        assert len({getattr(topic, field) for topic in TOPICS}) == len(TOPICS)


def test_an_unknown_class_has_no_index():
    with pytest.raises(ValueError, match="not in"):
        index_of("sports")


def relative_luminance(colour):
    """WCAG 2.1."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("topic", TOPICS, ids=NAMES)
def test_white_letters_can_be_read_on_every_badge(topic):
    assert re.fullmatch("#[0-9a-f]{6}", topic.colour)
    assert 1.05 / (relative_luminance(topic.colour) + 0.05) >= 4.5
