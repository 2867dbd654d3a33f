import hashlib
from typing import Any

import numpy as np
import pytest

from eitr.datasets import builtin, save_examples
from eitr.datasets.vectors import examples_of
from eitr.errors import InputError
from eitr.pages.tokens import tokens
from eitr.taxonomy import NON_SENSITIVE

from .softmax import accuracy


def digest(**settings):
    content = "\0".join(f"{page.content()}\0{label}" for page, label, _ in builtin.pages(**settings))
    return hashlib.sha256(content.encode()).hexdigest()


def test_the_fast_way_gives_what_reading_the_pages_gives(tmp_path, monkeypatch):
    monkeypatch.setattr(builtin, "CHUNK", 256)
    save_examples(builtin.examples(size=700, seed=5, words=300), tmp_path / "fast.npz")
    read = examples_of("builtin", lambda: builtin.pages(size=700, seed=5), seed=5, words=300)
    save_examples(read, tmp_path / "read.npz")
    assert (tmp_path / "fast.npz").read_bytes() == (tmp_path / "read.npz").read_bytes()


def test_a_seed_gives_the_same_pages_on_every_machine():
    expected = "b92d38f1c44956ddddafa4279b04c2f43b0c44db20d91d4212d9ffbe2a9da9ad"
    assert digest(size=100, seed=1) == expected


def test_other_seeds_and_difficulties_give_other_pages():
    variants: list[dict[str, Any]] = [{"seed": 0}, {"seed": 1}, {"seed": 0, "difficulty": 0.6}]
    assert len({digest(size=100, **variant) for variant in variants}) == 3


def test_half_of_the_pages_are_not_sensitive_and_a_fifth_is_to_test_on():
    examples = builtin.examples()
    assert len(examples) == 6000
    assert (examples.labels == NON_SENSITIVE).sum() == 3000
    assert examples.test.sum() == 1200
    assert (examples.labels[examples.test] == NON_SENSITIVE).sum() == 600
    assert np.bincount(examples.labels).min() > 300


def test_words_follow_zipfs_law():
    counts: dict[str, int] = {}
    for page, _, _ in builtin.pages(size=2000):
        for word in tokens(page.content()):
            counts[word] = counts.get(word, 0) + 1
    often = np.sort(np.array(list(counts.values())))[::-1][10:1000]
    slope = np.polyfit(np.log(np.arange(10, 1000)), np.log(often), 1)[0]
    assert -1.4 < slope < -0.5


def test_pages_look_like_pages():
    page = next(builtin.pages(size=100)).page
    assert page.title[0].isupper()
    assert page.text.endswith(".")
    assert len(tokens(page.title)) == builtin.TITLE
    lengths = [len(tokens(page.content())) for page, _, _ in builtin.pages(size=500)]
    assert builtin.SHORTEST <= min(lengths) < max(lengths) <= builtin.LONGEST


def test_the_default_is_as_hard_as_real_news():
    assert 0.82 < accuracy(builtin.examples()) < 0.92


def test_difficulty_goes_from_trivial_to_hopeless():
    trivial, hopeless = (builtin.examples(size=3000, difficulty=difficulty) for difficulty in (0.0, 1.0))
    assert accuracy(trivial) > 0.97
    # Half are not sensitive: whoever always says so is right as often.
    assert accuracy(hopeless) < 0.55


def test_at_the_greatest_difficulty_the_words_do_not_depend_on_the_class():
    at_most = builtin.examples(size=20_000, difficulty=1.0, words=100)
    sensitive = at_most.labels != NON_SENSITIVE
    dense = at_most.rows.dense()
    difference = np.abs(dense[sensitive].mean(0) - dense[~sensitive].mean(0))
    assert difference.max() < 0.01


@pytest.mark.parametrize(
    "settings", [{"size": 10}, {"size": 10**9}, {"difficulty": -0.1}, {"difficulty": float("nan")}, {"seed": -1}]
)
def test_settings_that_make_no_sense_are_errors(settings):
    with pytest.raises(InputError):
        builtin.examples(**settings)
    with pytest.raises(InputError):
        next(builtin.pages(**settings))


@pytest.mark.long
def test_as_many_pages_as_the_paper_has_are_made_in_seconds():
    examples = builtin.examples(size=442_190)
    assert len(examples) == 442_190
    assert (examples.labels == NON_SENSITIVE).sum() == 221_095
