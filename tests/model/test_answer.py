"""What people are told about a page; TypeScript's side of the golden cases is in tests/extension/test_parity.py."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eitr.model import Classifier, Model, Network
from eitr.model.answer import THRESHOLD, answer
from eitr.pages import Page, Vocabulary
from eitr.taxonomy import NAMES

GOLDEN = Path(__file__).parents[1] / "golden" / "answers.json"
CASES: list[dict[str, Any]] = json.loads(GOLDEN.read_text("utf-8"))["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_page_gets_the_golden_answer(case: dict[str, Any]) -> None:
    topic, cannot_tell = answer(case["probabilities"], case["language"], case["known_words"], case["threshold"])
    assert (topic if topic is None else NAMES[topic], cannot_tell) == (case["answer"], case["cannot_tell"])


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    """A classifier of two words for health and two for everything else."""
    words = ("doctor", "fever", "football", "goal")
    kernel = np.zeros((4, 6), np.float32)
    kernel[:2, 0] = kernel[2:, 5] = 4
    vector = np.concatenate([kernel.ravel(), np.zeros(6, np.float32)])
    vocabulary = Vocabulary(words, np.ones(4), {"arzt": 0, "fieber": 1, "tor": 3})
    return Classifier(Model(Network((4, 6)), vector), vocabulary)


@pytest.mark.parametrize(
    ("text", "shown", "cannot_tell", "known_words", "language"),
    [
        ("The doctor said that it was a fever", "health", None, 2, "en"),
        ("It was a goal for the football team", None, None, 2, "en"),
        ("The doctor saw the goal of the match", None, "close", 2, "en"),
        ("The doctor, arzt, of the team", "health", None, 1, "en"),
        ("The football of the team", None, "words", 1, "en"),
        ("Der Arzt sagt, das ist nicht das Fieber", "health", None, 2, "de"),
        ("Football: das ist nicht das Tor", None, "words", 2, "de"),
        ("De doctor heeft het niet en de fever zijn ook maar een goal", None, "language", 3, "other"),
    ],
)
def test_a_prediction_says_which_of_the_three_answers_it_is(
    classifier: Classifier, text: str, shown: str | None, cannot_tell: str | None, known_words: int, language: str
) -> None:
    found = classifier.classify([Page(text="football goal"), Page(text=text)])[1]
    assert (found.shown, found.cannot_tell) == (shown, cannot_tell)
    assert (found.known_words, found.language) == (known_words, language)


def test_what_is_shown_is_the_label_and_at_least_as_probable_as_the_threshold() -> None:
    lines = (Path(__file__).parents[2] / "src/eitr/assets/validation.jsonl").read_text("utf-8").splitlines()
    found = Classifier.shipped().classify([Page.from_row(json.loads(line)) for line in lines])
    shown = [each for each in found if each.shown]
    assert len(shown) > 50
    assert all(each.shown == each.label and each.probabilities[each.label] >= THRESHOLD for each in shown)
    assert all(each.cannot_tell or each.label == "non-sensitive" for each in found if not each.shown)
