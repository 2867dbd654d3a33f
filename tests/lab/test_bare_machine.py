"""On a machine with only Python, numpy and torch the lab computes; elsewhere a report is made of its files."""

import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr import cli
from eitr.lab import laboratory
from eitr.lab.__main__ import main
from tests.lab.small import small_data

ROOT = Path(__file__).parents[2]
ABSENT = ("lxml", "matplotlib", "numba", "PIL", "pyarrow", "rich", "safetensors", "scipy", "typer")
SMALL = """
from dataclasses import replace
from eitr.lab.runs.profile import PROFILES
from tests.lab.small import PLAN
PROFILES["quick"] = replace(PROFILES["quick"], rounds=2, plan=PLAN)
"""
BARE = f"""
import runpy, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT}:
            raise ModuleNotFoundError(name + " is not installed here", name=name)

sys.meta_path.insert(0, Absent())
{SMALL}
runpy.run_module("eitr.lab", run_name="__main__")
"""
EVERYTHING = f"""
{SMALL}
from eitr.cli import main
main()
"""


def python(*arguments):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nonsense"], "there is no experiment 'nonsense'"),
        (["run", "weights", "--seeds", "0"], "the number of seeds must be between 1 and"),
        (["compare"], "name at least one rule; `eitr lab compare --list` shows them"),
        (["compare", "--resume", "--out", "absent"], "there is nothing to resume in absent"),
        (
            ["compare", "--rule", "median", "--attack", "none", "--rounds", "1", "--seeds", "0"],
            "the number of seeds must",
        ),
        (["compare", "--attackers", "x"], "argument --attackers: 'x' is not a list of numbers"),
        (["compare", "--clients", "1.5"], "argument --clients: '1.5' is not a list of whole numbers"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["eitr.lab", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    *usage, said = capsys.readouterr().err.splitlines()
    assert f"error: {message}" in said
    assert not usage or usage[0].startswith("usage: ")
    assert list(tmp_path.iterdir()) == []


COMMANDS = {
    "run_experiments": ["run", "weights", "hyper"],
    "compare": ["compare", "--rule", "median", "--attack", "shift", "--clients", "5,10", "--participation", "0.5,1"],
}


@pytest.fixture(params=COMMANDS)
def command(request):
    return request.param


@pytest.fixture
def asked(command, monkeypatch):
    """Note what each call of the function behind a command is given, by name, instead of computing."""
    calls: list[dict[str, Any]] = []
    signature = inspect.signature(getattr(laboratory, command))

    def note(*arguments, **more):
        calls.append(signature.bind(*arguments, **more).arguments)
        calls[-1]["out"] = Path(calls[-1]["out"])
        return SimpleNamespace(folder=more["out"])

    monkeypatch.setattr(laboratory, command, note)
    return calls


def run_bare(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["eitr.lab", *words])
    main()


def test_options_are_those_of_the_full_command_line(command, asked, capsys, monkeypatch):
    run_bare(monkeypatch, *COMMANDS[command])
    CliRunner().invoke(cli.app, ["lab", *COMMANDS[command]])
    bare, full = asked
    assert bare == full
    assert "make the report with: eitr lab report results" in capsys.readouterr().err


def test_options_of_own_files_are_those_of_the_full_command_line(command, asked, monkeypatch):
    options = ["--text-column", "body", "--label-map", "doctor=health", "--classes", "health,politics"]
    words = [*COMMANDS[command], *options]
    run_bare(monkeypatch, *words)
    CliRunner().invoke(cli.app, ["lab", *words])
    run_bare(monkeypatch, *words, "--skip-bad")
    bare, full, skipping = (one["options"] for one in asked)
    assert bare == full
    assert bare.arguments() == options
    assert skipping.arguments() == [*options, "--skip-bad"]


@pytest.mark.long
def test_a_bare_machine_computes_and_another_makes_the_report(tmp_path):
    out = tmp_path / "results"
    arguments = ["--data", small_data(tmp_path), "--profile", "quick", "--seeds", 1, "--device", "cpu", "--out", out]
    ran = python("-c", BARE, "run", "weights", *arguments)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.splitlines()[-1] == f"results in {out}; make the report with: eitr lab report {out}"
    assert len(list((out / "runs").glob("*.npz"))) == 10
    assert not (out / "rounds.parquet").exists()
    refused = python("-c", BARE, "run", "weights", *arguments)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    script = EVERYTHING.replace(
        'runpy.run_module("eitr.cli", run_name="__main__")', "from eitr.cli import main; main()"
    )
    reported = python("-c", script, "lab", "report", out)
    assert reported.returncode == 0, reported.stderr
    assert (out / "report.html").is_file()
    assert (out / "rounds.parquet").is_file()
