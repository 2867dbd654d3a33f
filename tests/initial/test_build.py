import gzip
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from eitr.errors import InputError
from eitr.initial import Report, build
from eitr.initial.__main__ import main
from eitr.initial.corpus import read_rows, validation_pages
from eitr.initial.fit import Recipe
from eitr.model import load
from eitr.pages.vocabulary import Vocabulary

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
