import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr import cli
from eitr.lab.experiments.registry import EXPERIMENTS
from eitr.lab.results.metadata import LabMetadata
from tests.lab.small import small_data, small_profile

EITR = Path(sys.executable).with_name("eitr")


def invoke(*arguments):
    return CliRunner().invoke(cli.app, list(map(str, arguments)), catch_exceptions=True)


def complaint(capsys, monkeypatch, *arguments):
    """Run the command line as a process would, in this one; return its exit status and what it complained about."""
    monkeypatch.setattr(sys, "argv", ["eitr", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code, capsys.readouterr().err


def test_every_experiment_is_listed():
    shown = invoke("lab", "list").output
    listed = json.loads(invoke("lab", "list", "--json").output)
    assert [one["id"] for one in listed] == list(EXPERIMENTS)
    assert all(one["id"] in shown for one in listed)
    assert all(one["runs"]["quick"] <= one["runs"]["paper"] and one["title"] and one["paper"] for one in listed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "there is no experiment 'nonsense'"),
        (["weights", "--data", "nonsense"], "no data set is called 'nonsense'"),
        (["weights", "--data", "absent.npz"], "absent.npz: cannot be read: No such file"),
        (["weights", "--data", "news-sections", "--data-dir", "."], "news_sections.jsonl.gz is missing; needed"),
        (["weights", "--data", "news-sections", "--data-dir", "gone"], "the data folder gone is not there"),
        (["weights", "--data", "cifar10"], "images, not pages"),
        (["weights", "--profile", "slow"], "there is no profile 'slow'"),
        (["weights", "--device", "abacus"], "the device is auto, cpu or cuda, not 'abacus'"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, said = complaint(capsys, monkeypatch, "lab", "run", *arguments)
    assert status == 2
    assert message in said
    assert len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--seeds", "0"], ["--seeds", "x"], ["--checkpoint-seconds", "-1"]])
def test_a_number_out_of_range_names_the_option(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("lab", "run", "weights", *arguments)
    assert result.exit_code == 2
    assert arguments[0] in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_data_is_one_line_in_a_real_process_too(tmp_path):
    result = subprocess.run(
        [EITR, "lab", "run", "weights", "--data", "covid", "--data-dir", "."],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "covid_pages.jsonl.gz is missing" in result.stderr


def test_a_run_ends_with_a_report_and_another_report_changes_nothing(tmp_path, monkeypatch):
    small_profile(monkeypatch)
    out = tmp_path / "results"
    arguments = ["weights", "--data", small_data(tmp_path), "--profile", "quick", "--seeds", 1, "--device", "cpu"]
    result = invoke("lab", "run", *arguments, "--out", out)
    assert result.exit_code == 0, result.output
    assert "claim or goal" in result.output
    report = (out / "report.html").read_bytes()
    told = json.loads(invoke("lab", "report", out, "--json").output)
    assert [one["id"] for one in told["experiments"]] == ["weights"]
    assert told["experiments"][0]["finished"]
    assert told["lab"]["command"] in report.decode()
    assert (out / "report.html").read_bytes() == report
    refused = invoke("lab", "run", *arguments, "--out", out)
    assert "not empty" in str(refused.exception)
    again = invoke("lab", "run", *arguments, "--out", out, "--resume", "--json")
    assert json.loads(again.stdout)["counts"] == told["counts"]


def test_a_command_of_a_report_is_one_that_this_command_line_takes(monkeypatch):
    asked: dict[str, Any] = {}
    monkeypatch.setattr(
        "eitr.lab.laboratory.run_experiments", lambda ids, **more: asked.update(more, ids=ids) or exit(0)
    )

    shown = LabMetadata(experiments=["weights"], profile="quick", data="builtin", seeds=3)
    words = shown.command_for("weights", "hyper", resume=True).split()
    assert words[0] == "eitr"
    assert invoke(*words[1:]).exit_code == 0
    assert (asked["ids"], asked["profile"], asked["data"], asked["seeds"]) == (
        ["weights", "hyper"],
        "quick",
        "builtin",
        3,
    )
    assert (asked["resume"], asked["out"]) == (True, Path("results"))


def test_a_report_of_an_empty_folder_is_one_line(tmp_path, capsys, monkeypatch):
    status, said = complaint(capsys, monkeypatch, "lab", "report", tmp_path)
    assert status == 2
    assert "lab.json is missing" in said
    assert len(said.splitlines()) == 1


def test_without_torch_running_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    status, said = complaint(capsys, monkeypatch, "lab", "run", "weights")
    assert status == 2
    assert said == "error: the lab computes with torch, which is not installed: pip install 'eitr[lab]'\n"


def test_without_torch_python_says_the_same(monkeypatch):
    import eitr.lab
    from eitr.errors import InputError

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match="not installed"):
        eitr.lab.run_experiments  # noqa: B018
    with pytest.raises(AttributeError):
        eitr.lab.nonsense  # noqa: B018


def test_help_has_examples():
    for command in ("list", "run", "report"):
        assert "Example" in invoke("lab", command, "--help").output
