import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eitr.errors import InputError
from eitr.initial import __main__ as command
from eitr.initial import classifier, leaving_out
from eitr.initial.__main__ import main
from eitr.initial.classifier import headlines_and_pages, make_classifier, network_for, pieces
from eitr.initial.corpus import Labelled
from eitr.initial.fit import Ingredient, Progress, Recipe
from eitr.initial.languages import sketches
from eitr.initial.leaving_out import judge_recipe, read_model
from eitr.initial.material import Material
from eitr.initial.sources import Pages, for_training, read_sources
from eitr.initial.yardstick import measure
from eitr.initial.yardstick_report import LACKING
from eitr.model import Classifier, Vector
from eitr.pages.language import LANGUAGES
from eitr.pages.reading import WITH_BOILERPLATE
from eitr.pages.vocabulary import VERSION, Vocabulary

QUICK = Recipe(pages=1500, rates=(0.3,) * 8, averaged=1)


def test_a_recipe_is_judged_on_every_source_by_models_that_did_not_see_it(
    toy_sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_on: list[set[str]] = []

    def spying(training: Pages, recipe: Recipe, seed: int, progress: Progress) -> Classifier:
        trained_on.append(set(training))
        return Classifier.shipped()

    monkeypatch.setattr(leaving_out, "make_classifier", spying)
    pages = read_sources(toy_sources)
    verdicts = judge_recipe(pages, QUICK, 1, lambda _: None)
    news, home, reference = {"news_rows", "agnews_test"}, {"alexa_homepages_a", "web_unlabelled"}, {"medquad"}
    assert trained_on == [home | reference, news | reference, news | home, news | home | reference]
    assert set(verdicts.sources) == set(pages)


@pytest.mark.long
def test_models_that_did_not_see_a_source_recognise_its_topics(toy_sources: Path) -> None:
    verdicts = judge_recipe(read_sources(toy_sources), QUICK, 1, lambda _: None)
    assert measure(verdicts, 0.6)["english"]["mean_recall"] > 0.5


def test_without_headlines_pieces_of_pages_stand_for_them(toy_sources: Path) -> None:
    training = for_training(read_sources(toy_sources), without="news")
    rows, sources = headlines_and_pages(training)
    assert max(len(row.words) for row in rows) == 15
    assert {row.section for row in rows} == {"alexa_homepages_a", "medquad", "web_unlabelled"}
    assert {row.language for row in rows} == {"en"}
    assert {page.language for pages in sources.values() for page in pages} == {"en", "de"}


def test_pieces_are_spread_over_a_page_and_no_source_has_too_many() -> None:
    words = tuple(str(place) for place in range(100))
    page = Labelled(words, 0, "", "")
    assert [piece.words[0] for piece in pieces({"one": [page]})] == ["0", "34", "68"]
    assert [piece.words for piece in pieces({"one": [replace(page, words=words[:4])]})] == [words[:4]]
    assert len(pieces({"one": [page] * 1000, "two": [page] * 1000})) == 2 * 3 * 300


def test_the_command_judges_a_finished_model_and_writes_all_files(
    toy_sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--data-dir", str(toy_sources), "--evaluate", "--model", "shipped"]
    assert main([*arguments, "--out", str(tmp_path / "one")]) == 0
    assert "false alarms, ordinary web pages" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "evaluation.json",
        "evaluation.md",
        "evaluation.svg",
    ]
    beside = ["--beside", str(tmp_path / "one" / "evaluation.json"), "--name", "again", "--final"]
    assert main([*arguments, *beside, "--out", str(tmp_path / "two")]) == 0
    both = json.loads((tmp_path / "two" / "evaluation.json").read_text("utf-8"))
    assert list(both) == ["shipped", "again"]
    assert both["shipped"]["english"]["mean_recall"] > 0.5
    assert "validation" in both["again"]["by_source"]
    assert "validation" not in both["shipped"]["by_source"]


def test_saved_results_are_written_again_without_data(
    toy_sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged, written = tmp_path / "judged", tmp_path / "written"
    arguments = ["--data-dir", str(toy_sources), "--evaluate", "--model", "shipped", "--name", "one"]
    assert main([*arguments, "--out", str(judged)]) == 0
    assert main(["--render", "--beside", str(judged / "evaluation.json"), "--out", str(written)]) == 0
    for name in ("evaluation.json", "evaluation.md", "evaluation.svg"):
        assert (judged / name).read_bytes() == (written / name).read_bytes()
    with pytest.raises(SystemExit):
        main(["--render"])
    assert "--render needs --beside" in capsys.readouterr().err


def test_data_are_needed_to_build_and_to_judge(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--evaluate"], ["--card"]):
        with pytest.raises(SystemExit):
            main(arguments)
        assert "arguments are required: --data-dir" in capsys.readouterr().err


def test_what_is_no_evaluation_or_no_model_is_named(
    toy_sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.json").write_text("{")
    arguments = ["--data-dir", str(toy_sources), "--evaluate", "--model", "shipped"]
    assert main([*arguments, "--beside", str(tmp_path / "bad.json")]) == 2
    assert "not an evaluation.json" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"no model\.safetensors"):
        read_model(str(tmp_path))


@pytest.mark.parametrize("ingredient", Ingredient)
def test_an_ingredient_can_be_left_out(
    ingredient: Ingredient, toy_sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: dict[str, Any] = {}

    def spying(vocabulary: Vocabulary, rows: object, ours: Material, *, sources: Pages, **rest: object) -> Vector:
        fitted.update(forms=vocabulary.forms, sketches=ours.sketches, sources=sources)
        return np.ones(network_for(vocabulary).size, np.float32)

    def made(recipe: Recipe) -> Vector:
        training = for_training(read_sources(toy_sources))
        return make_classifier(training, recipe, 1, lambda _: None).model.vector

    monkeypatch.setattr(classifier, "fit", spying)
    whole, every = made(QUICK), dict(fitted)
    part, some = made(replace(QUICK, without=ingredient)), dict(fitted)
    languages = {page.language for pages in some["sources"].values() for page in pages}
    assert (some["sources"] == {}) == (ingredient == Ingredient.DATA)
    assert ("krankenhaus" not in some["forms"]) == (ingredient == Ingredient.LANGUAGES) == (languages == {"en"})
    assert "krankenhaus" in every["forms"]
    lost = sum(map(len, every["sketches"])) - sum(map(len, some["sketches"]))
    further = {language: sum(map(len, sketches(language))) for language in LANGUAGES}
    expected = {
        Ingredient.HARD_NEGATIVES: further["en"],
        Ingredient.LANGUAGES: sum(further.values()) - further["en"],
    }
    assert lost == expected.get(ingredient, 0)
    assert (part[-1] == 1) == (ingredient == Ingredient.CALIBRATION)
    assert whole[-1] == np.float32(1 / 1.5)


def test_boilerplate_is_left_in_by_reading_the_pages_with_it(
    toy_sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def spying(data_dir: Path, *, version: int, last: bool) -> Pages:
        read.append(version)
        return read_sources(data_dir, version=version, last=last)

    monkeypatch.setattr(command, "read_sources", spying)
    monkeypatch.setattr(leaving_out, "make_classifier", lambda *_: Classifier.shipped())
    arguments = ["--data-dir", str(toy_sources), "--evaluate", "--out", str(tmp_path)]
    for ingredient in ("boilerplate", "calibration"):
        assert main([*arguments, "--without", ingredient]) == 0
        assert list(json.loads((tmp_path / "evaluation.json").read_text("utf-8"))) == [f"without {ingredient}"]
        assert f"| {LACKING[Ingredient(ingredient)]} |" in (tmp_path / "evaluation.md").read_text("utf-8")
    assert read == [WITH_BOILERPLATE, VERSION]


def test_only_a_recipe_can_lack_an_ingredient(toy_sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--data-dir", str(toy_sources), "--evaluate", "--model", "shipped", "--without", "data"])
    assert "--without needs --evaluate and no --model" in capsys.readouterr().err
