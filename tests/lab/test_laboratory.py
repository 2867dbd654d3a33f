import json
import shutil

import numpy as np
import pyarrow.parquet as parquet
import pytest

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.datasets import Examples, load, save_examples  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from eitr.lab import laboratory, open_lab, run_experiments  # noqa: E402
from eitr.lab.experiments.registry import experiment  # noqa: E402
from eitr.lab.runs.profile import make_profile  # noqa: E402
from tests.lab.small import ROUNDS, small_data, small_profile  # noqa: E402


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    small_profile(monkeypatch)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return str(small_data(tmp_path_factory.mktemp("data")))


def run(data, out, *ids, **more):
    return run_experiments(ids or ["weights"], out=out, data=data, profile="quick", seeds=1, device="cpu", **more)


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_profile(monkeypatch)
        return run(data, tmp_path_factory.mktemp("lab") / "new" / "results")


def files_of(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_folder_has_a_file_per_run_its_metadata_and_its_timings(finished):
    runs = [f"runs/{one.key}.npz" for one in experiment("weights").runs(finished.profile)]
    assert files_of(finished.folder) == sorted([*runs, "lab.json", "timings.json"])
    said = json.loads((finished.folder / "lab.json").read_text())
    assert said["command"] == "eitr lab run weights --data small.npz --profile quick --seeds 1 --out results"
    assert (said["experiments"], said["data"], said["seeds"], said["device"]) == (["weights"], "small", 1, "cpu")
    times = json.loads((finished.folder / "timings.json").read_text())
    assert set(times[0]["runs"]) == {one.key for one in experiment("weights").runs(finished.profile)}


def test_everything_can_be_made_of_a_folder_there_and_later(finished):
    lab = open_lab(finished.folder)
    assert lab == finished
    assert len(lab.results("weights")) == 10
    assert len(lab.table("weights").rows) == 10 * ROUNDS
    assert len(lab.verdicts("weights")) == 16
    assert lab.figure("weights").axes


def test_a_report_brings_a_table_with_every_run_and_every_round(finished, tmp_path):
    shutil.copytree(finished.folder, tmp_path / "lab")
    assert open_lab(tmp_path / "lab").report() == tmp_path / "lab" / "report.html"
    table = parquet.read_table(tmp_path / "lab" / "rounds.parquet").to_pylist()
    accuracy = [row for row in table if row["quantity"] == "accuracy"]
    assert len(accuracy) == 10 * ROUNDS
    assert {row["round"] for row in accuracy} == set(range(1, ROUNDS + 1))
    assert {row["data"] for row in table} == {"small"}


def test_the_same_command_twice_gives_the_same_bytes(finished, data, tmp_path):
    run(data, tmp_path / "again")
    for name in files_of(finished.folder):
        if name not in ("lab.json", "timings.json"):
            assert (tmp_path / "again" / name).read_bytes() == (finished.folder / name).read_bytes(), name


def test_a_folder_with_something_in_it_is_left_alone(data, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty: continue with --resume"):
        run(data, tmp_path)
    assert files_of(tmp_path) == ["mine.txt"]
    with pytest.raises(InputError, match="not a folder"):
        run(data, tmp_path / "mine.txt")


def test_a_finished_lab_computes_nothing_again(finished, data, monkeypatch):
    def refuse(runs, *given):
        assert runs == []
        return iter(())

    monkeypatch.setattr(laboratory, "compute", refuse)
    before = files_of(finished.folder)
    run(data, finished.folder, resume=True)
    assert files_of(finished.folder) == before


@pytest.mark.parametrize("change", [{"seeds": 2}, {"profile": "paper"}, {"data": "builtin"}])
def test_other_settings_do_not_go_into_the_same_folder(finished, data, change):
    settings = {"out": finished.folder, "data": data, "profile": "quick", "seeds": 1, "resume": True, **change}
    with pytest.raises(InputError, match="holds results of other settings"):
        run_experiments(["weights"], device="cpu", **settings)


@pytest.mark.parametrize("content", ["{", "[]", '{"experiments": ["weights"]}', '{"experiments": 3}'])
def test_damaged_metadata_is_said_to_be_damaged(data, tmp_path, content):
    (tmp_path / "lab.json").write_text(content)
    with pytest.raises(InputError, match=r"lab\.json: damaged"):
        open_lab(tmp_path)
    with pytest.raises(InputError, match=r"lab\.json: damaged"):
        run(data, tmp_path, resume=True)


def test_a_folder_without_a_description_is_no_lab(tmp_path):
    with pytest.raises(InputError, match="give the folder of a lab run"):
        open_lab(tmp_path)


def test_runs_that_experiments_share_are_computed_once(data, tmp_path, monkeypatch):
    computed = []

    def pretend(runs, *given):
        computed.extend(runs)
        return iter(())

    monkeypatch.setattr(laboratory, "compute", pretend)
    run(data, tmp_path / "both", "convergence", "attackers")
    profile = make_profile("quick", data=data, seeds=1)
    asked = [one for id in ("convergence", "attackers") for one in experiment(id).runs(profile)]
    assert len(computed) == len(set(computed)) == len(set(asked)) < len(asked)


def test_experiments_of_several_calls_gather_in_one_folder(finished, data, tmp_path, monkeypatch):
    monkeypatch.setattr(laboratory, "compute", lambda *given: iter(()))
    run(data, tmp_path / "lab", "weights")
    run(data, tmp_path / "lab", "hyper", "weights", resume=True)
    assert json.loads((tmp_path / "lab" / "lab.json").read_text())["experiments"] == ["weights", "hyper"]


def test_bad_data_leave_nothing_behind(tmp_path):
    with pytest.raises(InputError, match="no data set is called"):
        run("nonsense", tmp_path / "lab")
    assert not (tmp_path / "lab").exists()


def test_attackers_that_cannot_rehearse_on_a_device_are_refused_and_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("eitr.lab.simulation.compute.sparse", lambda device: False)
    with pytest.raises(InputError, match="'inside' tries updates on the rule before it sends one"):
        run_experiments(["inside"], profile="quick", out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_data_without_test_pages_are_refused(tmp_path):
    from eitr.datasets import load, save_examples

    examples = load("builtin", size=100, words=30)
    save_examples(examples.take(np.flatnonzero(~examples.test)), tmp_path / "train.npz")
    with pytest.raises(InputError, match="no test pages"):
        run(str(tmp_path / "train.npz"), tmp_path / "lab")


def test_data_of_other_classes_are_refused(tmp_path):
    examples = load("builtin", size=100, words=30)
    renamed = Examples("pets", examples.rows, examples.labels, examples.test, examples.words, tuple("abcdef"))
    save_examples(renamed, tmp_path / "pets.npz")
    with pytest.raises(InputError, match="classes a, b, c"):
        run_experiments(["weights"], out=tmp_path / "lab", data=str(tmp_path / "pets.npz"), profile="quick")
    assert not (tmp_path / "lab").exists()


def test_resuming_into_a_folder_of_something_else_is_refused(data, tmp_path):
    (tmp_path / "letters.txt").write_text("dear all")
    with pytest.raises(InputError, match="other files than results"):
        run_experiments(["weights"], out=tmp_path, data=data, profile="quick", resume=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["letters.txt"]


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_time_between_checkpoints_is_a_number(tmp_path, seconds):
    with pytest.raises(InputError, match="checkpoints"):
        run_experiments(["weights"], out=tmp_path / "lab", checkpoint_seconds=seconds)


def test_no_experiment_at_all_is_refused(tmp_path):
    with pytest.raises(InputError, match="at least one experiment"):
        run_experiments([], out=tmp_path / "lab")


def test_a_computation_that_breaks_off_still_notes_its_time(data, tmp_path, monkeypatch):
    def broken(runs, *given):
        raise KeyboardInterrupt

    monkeypatch.setattr(laboratory, "compute", broken)
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "lab")
    assert len(json.loads((tmp_path / "lab" / "timings.json").read_text())) == 1


def test_runs_that_are_no_federations_need_no_data(tmp_path):
    lab = run_experiments(["reputation-once"], out=tmp_path / "lab", profile="quick", seeds=1, device="cpu")
    assert len(lab.results("reputation-once")) == len(experiment("reputation-once").runs(lab.profile))
    assert lab.verdicts("reputation-once")


def test_a_kill_before_the_metadata_was_written_costs_nothing(data, tmp_path, monkeypatch):
    monkeypatch.setattr(laboratory, "compute", lambda *given: iter(()))
    (tmp_path / "lab" / "runs").mkdir(parents=True)
    assert run(data, tmp_path / "lab", resume=True).folder == tmp_path / "lab"
    assert (tmp_path / "lab" / "lab.json").is_file()


def test_a_folder_that_cannot_be_made_is_one_line(data, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        run(data, tmp_path / "file" / "lab")
