import gzip
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eitr.errors import InputError
from eitr.initial import Report, build
from eitr.initial.__main__ import main
from eitr.initial.card import card
from eitr.initial.corpus import read_rows, validation_pages
from eitr.initial.fit import Recipe
from eitr.initial.material import material
from eitr.initial.sources import Kind
from eitr.initial.yardstick_report import OLD, RECIPE
from eitr.model import load
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

QUICK = Recipe(pages=1500, rates=(0.3,) * 8, averaged=1)
FILES = ("MODEL_CARD.md", "model.safetensors", "vocabulary.json")


class Built(NamedTuple):
    folder: Path
    report: Report
    lines: list[str]


@pytest.fixture(scope="module")
def built(toy_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    lines: list[str] = []
    return Built(folder, build(toy_data, folder, 1, lines.append, date="2026-01-02", recipe=QUICK), lines)


def test_one_call_builds_all_files_and_a_model_that_has_learned(built: Built) -> None:
    assert sorted(path.name for path in built.folder.iterdir()) == sorted(FILES)
    assert built.report.evaluations["news rows, test"].accuracy > 0.7
    assert (load(built.folder / "model.safetensors").vector == built.report.vector).all()
    assert Vocabulary.load(built.folder / "vocabulary.json").words == built.report.vocabulary.words
    assert len(built.report.vocabulary) == 1000
    assert built.lines[0] == "reading the data"


def test_the_card_has_the_date_and_every_set(built: Built) -> None:
    card = (built.folder / "MODEL_CARD.md").read_text("utf-8")
    assert "Date: 2026-01-02" in card
    assert all(f"| {name} |" in card for name in built.report.evaluations)


def test_the_card_takes_its_numbers_from_a_saved_evaluation(built: Built) -> None:
    without = (built.folder / "MODEL_CARD.md").read_text("utf-8")
    assert "Measured on sources that were left out" not in without
    measured = {name: numbers(share) for name, share in ((OLD, 0.12345), (RECIPE, 0.6789), ("another", 0.5))}
    text = card(
        date="",
        seed=1,
        recipe=QUICK,
        material=material(),
        rows=1,
        real_pages={},
        forms=1,
        evaluations=built.report.evaluations,
        measured=measured,
    )
    assert f"|  | {OLD}, threshold 0.45 | {RECIPE}, threshold 0.45 | goal |" in text
    assert "| recall, religion | 12.3 | 67.9 | at least 70.0 |" in text
    assert "| false alarms, ordinary web pages | 12.35 | 67.89 | at most 2.0 |" in text
    plain = " ".join(text.split())
    assert "68 of 100 sensitive pages get the right letter (home pages on health, politics and religion: 68)" in plain
    assert "with the model of version 0.1 it was 12 and 12" in plain
    assert "Of random English home pages 68 of 100 get a letter" in plain
    assert "two or three known words: 68 of 100 sensitive ones are found" in plain
    assert "more than 99 %, 67.9 % are right on sources that were left out" in plain


def numbers(share: float) -> dict[str, Any]:
    """What the yardstick measures, with one share in all places."""
    one = {
        "recall": dict.fromkeys(NAMES, share),
        "mean_recall": share,
        "false_alarms": dict.fromkeys([*Kind, "all"], share),
        "called_harmless": share,
    }
    right = {"all": share, "right_of_pages": share}
    return {
        "threshold": 0.45,
        "english": one,
        "other_languages": one,
        "by_source": {"alexa_homepages_a": one},
        "by_length": {"headline": one},
        "unlabelled_letters": {"en": share, "de": share},
        "calibration": {"right_above": {"0.99": right}},
    }


def test_the_card_says_how_probable_a_topic_must_be(built: Built) -> None:
    text = " ".join((built.folder / "MODEL_CARD.md").read_text("utf-8").split())
    assert "a topic that has at least 45 %. In the five other languages the topic needs 60 %" in text
    assert "on a page of which the model knows few words 80 % (1 word)" in text


def test_the_card_of_a_model_is_written_again_without_training(built: Built, toy_data: Path, tmp_path: Path) -> None:
    shutil.copytree(built.folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "MODEL_CARD.md").unlink()
    (tmp_path / "evaluation.json").write_text(json.dumps({RECIPE: numbers(0.6789)}))
    arguments = ["--data-dir", str(toy_data), "--card", "--out", str(tmp_path), "--date", "2026-03-04"]
    assert main([*arguments, "--evaluation", str(tmp_path / "evaluation.json")]) == 0
    assert (tmp_path / "model.safetensors").read_bytes() == (built.folder / "model.safetensors").read_bytes()
    text = (tmp_path / "MODEL_CARD.md").read_text("utf-8")
    assert "Date: 2026-03-04" in text
    assert "| recall, religion | 67.9 | at least 70.0 |" in text
    sets = "## On single sets"
    before = (built.folder / "MODEL_CARD.md").read_text("utf-8")
    assert text.split(sets)[1].split("##")[0] == before.split(sets)[1].split("##")[0]


def test_the_same_data_and_seed_give_the_same_bytes(toy_data: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        build(toy_data, tmp_path / name, 3, lambda _: None, recipe=QUICK)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_sets_that_only_judge_may_be_missing(toy_data: Path, tmp_path: Path) -> None:
    for name in ("news_rows", "news_sections"):
        shutil.copy(toy_data / f"{name}.jsonl.gz", tmp_path)
    report = build(tmp_path, tmp_path / "out", 1, lambda _: None, recipe=QUICK)
    assert "newsgroups" not in report.evaluations
    assert "validation, held back" in report.evaluations


def test_validation_pages_in_english_and_in_other_languages_are_judged_apart(built: Built) -> None:
    pages = {name: found.pages for name, found in built.report.evaluations.items() if name.startswith("validation")}
    english = sum(page.language == "en" for page in validation_pages())
    assert pages == {
        "validation, held back": english // 2,
        "validation, English": english,
        "validation, other languages": len(validation_pages()) - english,
    }
    assert min(pages.values()) > 100


def test_missing_training_data_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "news_rows.jsonl.gz is missing" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"no gzip", "the file is not gzip"), (None, "line 1 is not JSON"), ("{}", "needs a label")],
)
def test_damaged_data_is_named(tmp_path: Path, content: bytes | str | None, message: str) -> None:
    path = tmp_path / "news_rows.jsonl.gz"
    path.write_bytes(content if isinstance(content, bytes) else gzip.compress((content or "{").encode()))
    with pytest.raises(InputError, match=message):
        read_rows(tmp_path, "news_rows")
