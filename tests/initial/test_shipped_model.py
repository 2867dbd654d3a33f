"""The model in the package, as it is: small enough, well formed, and good on pages it has never seen."""

import json
from pathlib import Path

import pytest

import eitr
from eitr.initial.corpus import validation_pages
from eitr.initial.evaluation import Evaluation, evaluate
from eitr.model import Network, load
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

ACCURACY = 0.89
"""Measured when it was built: 0.913, and 0.916 for the mean recall."""


@pytest.fixture(scope="module")
def assets() -> Path:
    return Path(eitr.__file__).parent / "assets"


@pytest.fixture(scope="module")
def evaluation(assets: Path) -> Evaluation:
    network, vector = load(assets / "model.safetensors")
    vocabulary = Vocabulary.load(assets / "vocabulary.json")
    return evaluate(network, vector, vocabulary, validation_pages(vocabulary.version))


def test_model_and_vocabulary_are_small(assets: Path) -> None:
    model, words = (assets / name for name in ("model.safetensors", "vocabulary.json"))
    assert model.stat().st_size + words.stat().st_size < 1.2e6
    assert words.stat().st_size <= 140_000


def test_the_vocabulary_has_a_thousand_distinct_words_and_fits_the_network(assets: Path) -> None:
    words = Vocabulary.load(assets / "vocabulary.json").words
    assert len(set(words)) == len(words) == 1000
    assert load(assets / "model.safetensors").network == Network()


def test_the_model_knows_thousands_of_forms(assets: Path) -> None:
    assert len(Vocabulary.load(assets / "vocabulary.json").forms) >= 5000


def test_most_validation_pages_are_classified_rightly(evaluation: Evaluation) -> None:
    assert evaluation.accuracy >= ACCURACY
    assert evaluation.macro_recall >= ACCURACY


@pytest.mark.parametrize("name", NAMES)
def test_no_class_is_given_up(evaluation: Evaluation, name: str) -> None:
    assert evaluation.recall[name] >= 0.8


def test_the_model_is_about_as_sure_as_it_is_right(evaluation: Evaluation) -> None:
    assert evaluation.calibration_error < 0.1


def test_the_comparison_shows_why_the_words_were_not_simply_counted(assets: Path) -> None:
    comparison = json.loads((assets / "vocabulary_comparison.json").read_text("utf-8"))
    ours, plain = comparison["with forms"], comparison["plain top 1000"]
    for name in ("newsgroups", "validation, held back"):
        assert ours[name]["macro_recall"] > plain[name]["macro_recall"] + 0.1
