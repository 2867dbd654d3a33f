"""Scenarios from the command line: tables, figures and JSON, the same each time."""

import json

import pytest
from typer.testing import CliRunner

from eitr import cli
from eitr.errors import InputError
from eitr.lab.scale.plan import Plan
from eitr.lab.scale.run import run_scenarios

TINY = ("--browsers", "2000", "--days", "1", "--step", "300")


def invoke(*arguments):
    return CliRunner().invoke(cli.app, ["lab", "scale", *map(str, arguments)], catch_exceptions=True)


def test_the_command_writes_tables_figures_and_numbers(tmp_path):
    done = invoke("founders", "cohort", *TINY, "--no-growth", "--out", tmp_path)
    assert done.exit_code == 0
    assert "| `cohort` |" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["day.svg", "scale.json", "scale.md"]
    found = json.loads((tmp_path / "scale.json").read_text())
    assert list(found["scenarios"]) == ["founders", "cohort"]
    assert found["scenarios"]["cohort"]["plan"]["founders"] == 2000
    assert len(found["scenarios"]["founders"]["curves"]["gbit"]) == 144
    again = tmp_path / "again"
    told = invoke("founders", "cohort", *TINY, "--no-growth", "--out", again, "--json")
    assert told.exit_code == 0
    assert (again / "scale.json").read_bytes() == (tmp_path / "scale.json").read_bytes()
    assert (again / "day.svg").read_bytes() == (tmp_path / "day.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("tomorrow",), "there is no scenario 'tomorrow'"),
        (("--browsers", "-5"), "browsers must be a whole number"),
        (("--browsers", "999999999999"), "browsers must be a whole number"),
        (("--days", "0"), "days must be"),
        (("--step", "7"), "step must divide"),
        (("--seed", "-1"), "seed must be"),
    ],
)
def test_bad_options_are_told_in_a_sentence(arguments, complaint, tmp_path):
    done = invoke(*arguments, "--out", tmp_path)
    assert isinstance(done.exception, InputError)
    assert complaint in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_the_scenario_that_grows_is_run_with_fewer_browsers_too():
    told: list[str] = []
    base = Plan(browsers=10_001, days=1, step=300)
    found = run_scenarios(["today"], base, tell=told.append)
    assert [one["plan"]["browsers"] for one in found["growth"]] == [10_000, 10_001]
    assert told[-1] == "3 of 3 done: founders with 10,001 browsers"
