"""The document of known mistakes says of each page what both models answer, and which answers are wrong."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks import known_mistakes
from benchmarks.known_mistakes import (
    CONSENT,
    FOOTER,
    MENU,
    SECTIONS,
    KnownMistake,
    answer_with_three,
    answer_with_two,
    from_history,
    is_wrong,
    report,
    with_banner,
)
from eitr.errors import InputError
from eitr.initial.languages import sketches
from eitr.initial.material import material
from eitr.model import Model, Network
from eitr.model.answer import CannotTell
from eitr.model.classifier import Classifier, Prediction
from eitr.pages import Vocabulary
from eitr.pages.language import LANGUAGES
from eitr.pages.tokens import tokens
from eitr.taxonomy import NAMES

HEALTH, HARMLESS = NAMES[0], NAMES[-1]


def predicted(label: str, chance: float, shown: str | None = None, why: CannotTell | None = None) -> Prediction:
    return Prediction(label, {label: chance}, shown, why, 5, "en")


def classifier_of(word: str, label: int) -> Classifier:
    """Return a classifier that gives pages with the word a class, and calls the others not sensitive."""
    kernel = np.zeros((1, 6), np.float32)
    kernel[0, label] = 20
    bias = np.zeros(6, np.float32)
    bias[-1] = 5
    return Classifier(Model(Network((1, 6)), np.concatenate([kernel.ravel(), bias])), Vocabulary((word,), np.ones(1)))


@pytest.mark.parametrize(
    ("chance", "answer"), [(0.6, "health, 60 %"), (0.55, "not sensitive (health 55 %)"), (0.99, "health, 99 %")]
)
def test_version_0_1_showed_a_topic_from_its_threshold_on(chance: float, answer: str) -> None:
    assert answer_with_two(predicted(HEALTH, chance)) == answer
    assert answer_with_two(predicted(HARMLESS, 0.43)) == "not sensitive, 43 %"


def test_there_are_three_answers_today() -> None:
    assert answer_with_three(predicted(HEALTH, 0.5, shown=HEALTH)) == "health, 50 %"
    assert answer_with_three(predicted(HARMLESS, 0.7)) == "not sensitive, 70 %"
    unclear = predicted(HEALTH, 0.44, why="close")
    assert answer_with_three(unclear) == "cannot tell: not sure enough (health 44 %)"


@pytest.mark.parametrize(
    ("label", "answer", "wrong"),
    [
        (HEALTH, "health, 90 %", False),
        (HEALTH, "politics, 90 %", True),
        (HEALTH, "not sensitive (health 55 %)", True),
        (HEALTH, "cannot tell: not sure enough (health 44 %)", False),
        (HARMLESS, "not sensitive, 90 %", False),
        (HARMLESS, "not sensitive (health 55 %)", False),
        (HARMLESS, "health, 70 %", True),
    ],
)
def test_an_answer_is_wrong_if_it_names_another_class(label: str, answer: str, wrong: bool) -> None:
    assert is_wrong(label, answer) == wrong


def test_the_report_lists_each_page_with_both_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = (KnownMistake("a vet", HARMLESS, "vet vet"), KnownMistake("a clinic", HEALTH, "clinic clinic"))
    monkeypatch.setattr(known_mistakes, "SECTIONS", {"All": pages})
    text = report(classifier_of("vet", 0), classifier_of("clinic", 0))
    assert "2 pages. Wrong answers before: 2; today: 0. Cannot tell, today: 1." in text
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| a ")]
    assert rows == [
        [
            "a vet",
            "not sensitive",
            "health, 100 %: **wrong**",
            "cannot tell: knows too few words (not sensitive 97 %)",
            "",
        ],
        ["a clinic", "health", "not sensitive, 97 %: **wrong**", "health, 100 %", "clinic"],
    ]


def test_the_model_of_version_0_1_is_in_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = ["git", "cat-file", "-e", known_mistakes.OLD_COMMIT]
    if subprocess.run(known, cwd=known_mistakes.ROOT, capture_output=True, check=False).returncode:
        pytest.skip("this checkout has no history")
    assert from_history(known_mistakes.OLD_COMMIT).vocabulary.version == 1
    monkeypatch.setattr(known_mistakes, "ROOT", tmp_path)
    with pytest.raises(InputError, match="give --old FOLDER"):
        from_history(known_mistakes.OLD_COMMIT)


def test_no_page_is_one_that_the_model_was_trained_on() -> None:
    trained = {words for written in material().sketches for words in written}
    trained |= {words for language in LANGUAGES for written in sketches(language) for words in written}
    pages = [mistake.text for mistakes in SECTIONS.values() for mistake in mistakes]
    assert len(pages) == len(set(pages))
    assert not {tuple(tokens(text)) for text in pages} & trained


def test_a_banner_is_about_sixty_words_of_menu_consent_and_footer() -> None:
    assert 60 <= len(" ".join((MENU, CONSENT, FOOTER)).replace("|", "").split()) <= 90
    assert with_banner("text").splitlines() == [MENU, CONSENT, "text", FOOTER]
