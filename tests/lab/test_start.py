"""Federations that start from a given model: its vocabulary makes the vectors, and results never mix with others."""

import json
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr import cli  # noqa: E402
from eitr.datasets import load, read_examples  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from eitr.lab import compare, open_lab, run_experiments  # noqa: E402
from eitr.lab.experiments.comparison_grid import ReferenceRun  # noqa: E402
from eitr.lab.experiments.registry import EXPERIMENTS  # noqa: E402
from eitr.lab.laboratory import find_data  # noqa: E402
from eitr.lab.runs.federated import FederatedRun, paper_rule  # noqa: E402
from eitr.lab.runs.private_training import PrivateTraining  # noqa: E402
from eitr.lab.runs.profile import make_profile  # noqa: E402
from eitr.lab.runs.start import RANDOM, find_start  # noqa: E402
from eitr.lab.simulation import batched_engine, sparse_engine  # noqa: E402
from eitr.lab.simulation.compute import compute  # noqa: E402
from eitr.lab.simulation.context import Context  # noqa: E402
from eitr.model.classifier import Classifier  # noqa: E402
from eitr.model.files import save  # noqa: E402
from eitr.model.network import Network  # noqa: E402
from eitr.model.plan import TrainingPlan  # noqa: E402
from eitr.pages.pool import Pool, vocabulary_digest  # noqa: E402
from eitr.pages.vocabulary import Vocabulary  # noqa: E402
from tests.datasets.own_files import rows, write  # noqa: E402

CPU = torch.device("cpu")
SMALL: Any = {"rules": "median", "attacks": "label-flip", "clients": [5], "rounds": 2, "steps": 2, "seeds": 1}
HIDDEN = (8, 4)


@pytest.fixture
def pages(tmp_path):
    return write(tmp_path / "pages.jsonl", rows(120))


@pytest.fixture
def folder(pages, tmp_path):
    """A folder with a model of its own size, and a vocabulary with other weights than the pages give, and a form."""
    made = tmp_path / "mine"
    made.mkdir()
    words = sorted(load(str(pages)).words)
    form = words.pop()
    Vocabulary(tuple(words), np.linspace(1, 2, len(words)), {form: 0}).save(made / "vocabulary.json")
    network = Network((len(words), *HIDDEN, 6))
    save(made / "model.safetensors", network, network.initial(99))
    return made


def still(start, **more):
    """Return a federation that learns next to nothing, so that its model stays what it started from."""
    plan = TrainingPlan(epochs=1, batch_size=8, learning_rate=1e-30)
    return ReferenceRun(data="x", rule=paper_rule("fedavg"), clients=3, rounds=1, plan=plan, start=start, **more)


def test_pages_are_read_and_weighed_by_the_vocabulary_of_the_model(folder, pages):
    start = find_start(str(folder))
    found = find_data(str(pages), start=start).examples
    assert found.words == start.classifier.vocabulary.words
    expected = start.classifier.vocabulary.rows(page.page for page in _labelled(pages))
    np.testing.assert_array_equal(found.rows.dense(), expected.dense())
    without = find_data(str(pages)).examples
    assert found.labels.tolist() == without.labels.tolist()
    assert found.test.tolist() == without.test.tolist()


def _labelled(path):
    from eitr.datasets.jsonl import labelled_rows

    return list(labelled_rows(path))


@pytest.mark.parametrize("name", ["builtin", "news-sections"])
def test_data_sets_are_read_by_the_vocabulary_too(name, folder, tmp_path):
    write(tmp_path / "news_sections.jsonl", rows(120, split="train") + rows(12, split="test"))
    vocabulary = find_start(str(folder)).classifier.vocabulary
    found, plain = (load(name, data_dir=tmp_path, size=100, vocabulary=one) for one in (vocabulary, None))
    assert (found.name, found.words) == (name, vocabulary.words)
    assert found.labels.tolist() == plain.labels.tolist()
    assert found.test.tolist() == plain.test.tolist()
    assert len(found.rows.values) > 0


@pytest.mark.parametrize("engine", [sparse_engine, batched_engine])
def test_training_starts_from_the_given_parameters(engine, folder, pages):
    start = find_start(str(folder))
    network, vector = start.classifier.model
    examples = load(str(pages), vocabulary=start.classifier.vocabulary)
    runs = [still(start.name, seed=seed) for seed in (0, 1)]
    before = vector.copy()
    found = [one.arrays for one in engine.run_all(runs, examples, network, Context(device=CPU), vector)]
    tested = np.flatnonzero(examples.test)
    right = start.classifier.probabilities(examples.rows.take(tested)).argmax(axis=1) == examples.labels[tested]
    assert [arrays["accuracy"].tolist() for arrays in found] == [[pytest.approx(right.mean())]] * 2
    assert np.array_equal(vector, before)
    (random,) = engine.run_all([still(RANDOM, seed=1)], examples, network, Context(device=CPU))
    assert random.arrays["loss"][0] != found[1]["loss"][0]


def test_the_network_is_that_of_the_model(folder, pages):
    start = find_start(str(folder))
    examples = load(str(pages), vocabulary=start.classifier.vocabulary)
    (done,) = compute([still(start.name)], Context(device=CPU), examples, start)
    assert done.arrays["parameters"] == start.classifier.model.network.size
    with pytest.raises(InputError, match="runs that do not start from 'random'"):
        next(compute([still(start.name)], Context(device=CPU), examples))


def test_the_start_is_part_of_what_determines_a_result():
    plain, other = still(RANDOM), still("mine@0123456789ab")
    assert "start" not in plain.describe()
    assert other.describe()["start"] == "mine@0123456789ab"
    assert plain.key != other.key


@pytest.mark.parametrize("id", EXPERIMENTS)
def test_every_federation_of_an_experiment_has_the_start_of_its_profile(id):
    runs = EXPERIMENTS[id].runs(make_profile("quick", start="mine@0123456789ab"))
    assert {run.start for run in runs if isinstance(run, FederatedRun)} <= {"mine@0123456789ab"}


def test_the_shipped_model_has_a_name_that_depends_on_model_and_vocabulary(folder, tmp_path):
    shipped = find_start("shipped")
    assert shipped.name.startswith("shipped@")
    assert len(shipped.classifier.vocabulary) == shipped.classifier.model.network.inputs == 1000
    names = {find_start(str(folder)).name}
    network, vector = Classifier.load(folder).model
    save(folder / "model.safetensors", network, vector + 1)
    names.add(find_start(str(folder)).name)
    vocabulary = Classifier.load(folder).vocabulary
    Vocabulary(vocabulary.words, vocabulary.idf, vocabulary.forms, version=1).save(folder / "vocabulary.json")
    names.add(find_start(str(folder)).name)
    assert len(names) == 3
    assert {name.partition("@")[0] for name in names} == {"mine"}


def test_a_comparison_goes_on_with_its_start_and_no_other(folder, pages, tmp_path):
    out = tmp_path / "results"
    done = compare(**SMALL, start=str(folder), data=str(pages), device="cpu", out=out)
    told = json.loads((out / "lab.json").read_text())
    assert told["start"] == done.profile.start == find_start(str(folder)).name
    assert "--start mine " in told["command"]
    assert str(tmp_path) not in told["command"]
    resumed = compare(device="cpu", out=out, resume=True)
    assert resumed == open_lab(out) == done
    assert str(resumed.table("compare")) == str(done.table("compare"))
    report = done.report().read_text()
    assert done.profile.start in report
    assert done.profile.start in (out / "verdicts.md").read_text()
    with pytest.raises(InputError, match=f"holds results of other settings .*, start {done.profile.start}"):
        compare(start="random", data=str(pages), device="cpu", out=out, resume=True)


def test_a_folder_without_a_model_is_one_line(folder, tmp_path):
    with pytest.raises(InputError, match="there is no folder 'nowhere' to start from: give random, shipped, or"):
        run_experiments(["weights"], out=tmp_path / "results", start="nowhere")
    (folder / "vocabulary.json").unlink()
    with pytest.raises(InputError, match=r"vocabulary\.json"):
        run_experiments(["weights"], out=tmp_path / "results", start=str(folder))
    assert not (tmp_path / "results").exists()


def test_the_command_line_prepares_and_compares_from_a_model(folder, pages, tmp_path):
    def invoke(*arguments):
        return CliRunner().invoke(cli.app, list(map(str, arguments)))

    prepared = tmp_path / "there" / "pages.npz"
    prepared.parent.mkdir()
    refused = invoke("data", "prepare", pages, "--start", folder, "--words", 10, "--out", prepared)
    assert "leave out --words" in str(refused.exception)
    assert invoke("data", "prepare", pages, "--start", folder, "--out", prepared).exit_code == 0
    assert read_examples(prepared).words == Classifier.load(folder).vocabulary.words
    chosen = ["--rule", "median", "--attack", "none", "--clients", 5, "--rounds", 1, "--steps", 1, "--seeds", 1]
    words = ["lab", "compare", *chosen, "--device", "cpu", "--out", tmp_path / "results", "--data", prepared]
    other = invoke(*words, "--start", "shipped")
    assert "was prepared with other words" in str(other.exception)
    assert invoke(*words, "--start", folder).exit_code == 0
    same = {**SMALL, "attacks": "none", "rounds": 1, "steps": 1}
    compare(**same, start=str(folder), data=str(pages), device="cpu", out=tmp_path / "direct")
    prepared_runs, direct_runs = (
        {one.name: one.read_bytes() for one in (tmp_path / name / "runs").iterdir()} for name in ("results", "direct")
    )
    assert prepared_runs == direct_runs


@pytest.fixture
def covered(folder, pages):
    """The folder with a pool of cover pages beside the model."""
    start = find_start(str(folder))
    made = load(str(pages), vocabulary=start.classifier.vocabulary)
    digest = vocabulary_digest((folder / "vocabulary.json").read_bytes())
    (folder / "pool.bin").write_bytes(Pool.of(made.rows, made.labels, digest).to_bytes())
    return folder


def test_the_shipped_pool_belongs_to_the_shipped_vocabulary():
    assert len(find_start("shipped").pool) >= 2000


def test_the_pool_of_the_start_is_recorded_and_another_one_is_taken_up(covered, tmp_path):
    def asked(resume):
        return run_experiments(
            ["reputation-once"], start=str(covered), profile="quick", seeds=1, device="cpu", out=tmp_path / "results",
            resume=resume,
        )  # fmt: skip

    first = asked(resume=False)
    pool = find_start(str(covered)).pool
    assert first.profile.pool == find_start(str(covered)).pool_digest
    assert open_lab(tmp_path / "results").profile == first.profile
    (covered / "pool.bin").write_bytes(Pool(pool.rows.take(range(50)), pool.labels[:50], pool.vocabulary).to_bytes())
    second = asked(resume=True)
    assert second.profile.pool not in ("", first.profile.pool)
    assert open_lab(tmp_path / "results").profile == second.profile
    (covered / "pool.bin").unlink()
    assert asked(resume=True).profile.pool == ""


def test_ways_to_train_are_compared_in_one_table(covered, pages, tmp_path):
    asked = {**SMALL, "training": "paper,private:layers=2:cover_pages=20", "data": str(pages), "device": "cpu"}
    done = compare(**asked, start=str(covered), out=tmp_path / "results")
    table = done.table("compare")
    assert table.columns[4:7] == ("alpha", "training", "accuracy")
    assert {row[5] for row in table.rows} == {"paper", "private:layers=2:cover_pages=20"}
    digest = find_start(str(covered)).pool_digest
    trained = {run.training for run in (result.run for result in done.results("compare"))}
    assert trained == {None, PrivateTraining(layers=2, cover_pages=20, pool=digest)}
    comparison: Any = done._experiment("compare")
    assert "or one private step (private:layers=2:cover_pages=20:pool=" in comparison.note
    assert comparison.grid.label("label-flip", comparison.grid.settings[-1]).endswith(
        " %, private:layers=2:cover_pages=20"
    )
    assert f"--training paper,private:layers=2:cover_pages=20:pool={digest} " in open_lab_command(tmp_path / "results")
    report = done.report().read_text()
    assert "; or one private step a round" in report
    for more in ({}, {"training": asked["training"]}):
        assert str(compare(out=tmp_path / "results", resume=True, device="cpu", **more).table("compare")) == str(table)


def open_lab_command(folder):
    return json.loads((folder / "lab.json").read_text())["command"]


def test_a_pool_that_does_not_fit_is_one_line(covered, pages, tmp_path):
    def asked(training="private", start=str(covered)):
        compare(**SMALL, training=training, start=start, data=str(pages), device="cpu", out=tmp_path / "results")

    with pytest.raises(InputError, match="private training needs a model to start from"):
        asked(start="random")
    with pytest.raises(InputError, match="runs with the pool 0123456789ab, and the pool of the start is"):
        asked("private:cover_pages=5:pool=0123456789ab")
    pool = find_start(str(covered)).pool
    (covered / "pool.bin").write_bytes(Pool(pool.rows, pool.labels, bytes(32)).to_bytes())
    with pytest.raises(InputError, match="made for another vocabulary"):
        asked()
    (covered / "pool.bin").unlink()
    with pytest.raises(InputError, match=r"pool\.bin of the start cannot be read"):
        asked()


def test_a_comparison_of_the_papers_way_is_stored_as_before(pages, tmp_path):
    done = compare(**SMALL, training="paper", data=str(pages), device="cpu", out=tmp_path / "results")
    assert "training" not in done.grid
    assert compare(out=tmp_path / "results", resume=True, device="cpu") == done
