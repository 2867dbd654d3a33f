"""The lab on the user's own data: the commands of docs/lab.md, and results that never mix."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr import cli
from eitr.datasets import load, read_examples, save_examples
from eitr.datasets.own.options import FileOptions
from eitr.errors import InputError
from eitr.lab import laboratory, open_lab, run_experiments
from eitr.lab.experiments.registry import experiment
from eitr.lab.laboratory import find_data
from eitr.lab.results.store import Store
from tests.datasets.own_files import rows, write, write_folder
from tests.lab.small import small_profile

LAB = (Path(__file__).parents[2] / "docs" / "lab.md").read_text("utf-8")
OWN_NAMES = {"health": "doctor", "non-sensitive": "news"}


def commands():
    """Return the commands of the section about your own data, continued lines joined."""
    section = LAB.split("## Your own data\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^    (eitr .+)$", section.replace("\\\n", ""), re.MULTILINE)


def test_the_commands_of_the_document_run(tmp_path, monkeypatch):
    small_profile(monkeypatch)
    monkeypatch.chdir(tmp_path)
    own = [
        {"title": row["title"], "body": row["text"], "topic": OWN_NAMES.get(row["label"], row["label"])}
        for row in rows(120)
    ]
    write(tmp_path / "pages.csv", own)
    write(tmp_path / "pages.jsonl.gz", [*rows(), {"text": "no label"}])
    write_folder(tmp_path / "saved-pages", rows(12))
    for command in commands():
        result = CliRunner().invoke(cli.app, shlex.split(command)[1:])
        assert result.exit_code == 0, (command, result.output)
    assert read_examples(tmp_path / "pages.npz").name.startswith("pages@")
    lab = open_lab(tmp_path / "own")
    assert lab.profile.data.startswith("pages@")
    accuracy = [result["accuracy"] for result in lab.results("weights")]
    assert len(accuracy) == len(set(experiment("weights").runs(lab.profile)))
    assert np.isfinite(accuracy).all()
    assert set(parquet.read_table(tmp_path / "own" / "rounds.parquet")["data"].to_pylist()) == {lab.profile.data}
    told = json.loads((tmp_path / "own" / "lab.json").read_text())
    assert told["command"].replace("--out results", "--out own") == shlex.join(shlex.split(commands()[1]))


@pytest.fixture
def nothing_computed(monkeypatch):
    monkeypatch.setattr(laboratory, "compute", lambda *given: iter(()))


def run(data, out, **more):
    return run_experiments(["weights"], out=out, data=str(data), profile="quick", seeds=1, device="cpu", **more)


@pytest.mark.usefixtures("nothing_computed")
def test_a_file_of_the_same_name_with_other_pages_does_not_go_into_the_same_folder(tmp_path):
    path = write(tmp_path / "pages.csv", rows())
    first = run(path, tmp_path / "lab")
    assert run(path, tmp_path / "lab", resume=True) == first
    write(path, rows(66))
    with pytest.raises(InputError, match="holds results of other settings"):
        run(path, tmp_path / "lab", resume=True)
    swapped = FileOptions(label_map={"health": "politics", "politics": "health"})
    with pytest.raises(InputError, match="holds results of other settings"):
        run(write(path, rows()), tmp_path / "lab", resume=True, options=swapped)


@pytest.mark.usefixtures("nothing_computed")
def test_a_prepared_file_of_the_same_name_with_other_pages_does_not_either(tmp_path):
    save_examples(load("builtin", size=200, words=30), tmp_path / "news-sections.npz")
    lab = run(tmp_path / "news-sections.npz", tmp_path / "lab")
    assert lab.profile.data == "news-sections"
    run(tmp_path / "news-sections.npz", tmp_path / "lab", resume=True)
    save_examples(load("builtin", size=200, words=31), tmp_path / "news-sections.npz")
    with pytest.raises(InputError, match="holds results of data news-sections with other content"):
        run(tmp_path / "news-sections.npz", tmp_path / "lab", resume=True)


@pytest.mark.usefixtures("nothing_computed")
def test_not_even_where_everything_is_computed(tmp_path, monkeypatch):
    save_examples(load("builtin", size=200, words=30), tmp_path / "mine.npz")
    run(tmp_path / "mine.npz", tmp_path / "lab")
    monkeypatch.setattr(Store, "has", lambda store, run: True)
    run(tmp_path / "mine.npz", tmp_path / "lab", resume=True)
    save_examples(load("builtin", size=200, words=31), tmp_path / "mine.npz")
    with pytest.raises(InputError, match="with other content"):
        run(tmp_path / "mine.npz", tmp_path / "lab", resume=True)


@pytest.mark.usefixtures("nothing_computed")
def test_a_folder_of_an_older_lab_without_a_digest_goes_on(tmp_path):
    save_examples(load("builtin", size=200, words=30), tmp_path / "mine.npz")
    run(tmp_path / "mine.npz", tmp_path / "lab")
    path = tmp_path / "lab" / "lab.json"
    told = json.loads(path.read_text())
    digest = told.pop("data_digest")
    del told["data_arguments"]
    path.write_text(json.dumps(told))
    run(tmp_path / "mine.npz", tmp_path / "lab", resume=True)
    assert json.loads(path.read_text())["data_digest"] == digest


@pytest.mark.parametrize(
    "change",
    [
        {"data_arguments": [1, 2]},
        {"data_arguments": ["--data"]},
        {"data_arguments": "--data"},
        {"data_digest": 3},
        {"start": 3},
        {"grid": {"rules": ["median"], "attacks": ["shift"], "rounds": None}},
    ],
)
@pytest.mark.usefixtures("nothing_computed")
def test_damaged_names_of_data_are_said_to_be_damaged(tmp_path, change):
    run(write(tmp_path / "a.csv", rows()), tmp_path / "lab")
    path = tmp_path / "lab" / "lab.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match="damaged"):
        open_lab(tmp_path / "lab")


def test_a_prepared_file_of_own_data_has_the_identity_of_these_data(tmp_path):
    path = write(tmp_path / "pages.csv", rows())
    save_examples(load(path), tmp_path / "on-the-gpu.npz")
    prepared = find_data(str(tmp_path / "on-the-gpu.npz"))
    assert prepared.name == find_data(str(path)).name
    assert prepared.arguments == ("--data", str(tmp_path / "on-the-gpu.npz"))
    save_examples(load(path).take(np.arange(50)), tmp_path / "on-the-gpu.npz")
    assert find_data(str(tmp_path / "on-the-gpu.npz")).name != prepared.name


def test_a_data_set_keeps_its_name_and_takes_no_options():
    assert find_data("news-sections") == laboratory.LabData("news-sections", ("--data", "news-sections"))
    with pytest.raises(InputError, match="builtin has its own columns and labels: leave out --label-map"):
        find_data("builtin", FileOptions(label_map={"a": "health"}))


def test_too_few_pages_for_the_clients_leave_nothing_behind(tmp_path):
    path = write(tmp_path / "few.csv", rows(12))
    with pytest.raises(InputError, match=r"few@\w+: 6 pages to train on are too few for 10 clients"):
        run(path, tmp_path / "lab")
    assert not (tmp_path / "lab").exists()
