"""`eitr flower`: a project for Flower, and what a checkpoint says. Neither needs Flower."""

import ast
import json
import tomllib
from dataclasses import fields
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from eitr.aggregation import make_rule
from eitr.cli import app
from eitr.errors import InputError
from eitr.flower.checkpoint import Checkpoint, take_over
from eitr.flower.round_step import Reply, combine
from eitr.flower.run_settings import RunSettings

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "flower.md"


def run(*words):
    return CliRunner().invoke(app, ["flower", *map(str, words)])


def test_a_new_project_has_apps_and_all_settings_at_their_defaults(tmp_path):
    assert run("new", tmp_path / "mine").exit_code == 0
    declared = tomllib.loads((tmp_path / "mine" / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    for component in declared["components"].values():
        module, name = component.split(":")
        tree = ast.parse((tmp_path / "mine" / f"{module.replace('.', '/')}.py").read_text())
        assert name in [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    names = {item.name.replace("_", "-") for item in fields(RunSettings)}
    assert set(declared["config"]) == names
    assert RunSettings.read(declared["config"]) == RunSettings(nodes=3)
    text = DOCUMENT.read_text()
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_a_folder_with_files_is_not_overwritten(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    refused = run("new", tmp_path)
    assert isinstance(refused.exception, InputError)
    assert "is not empty" in str(refused.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_show_lists_rounds_reputations_and_refusals(tmp_path):
    rule, model = make_rule("fused"), {"w": np.zeros(20, np.float32)}
    rng = np.random.default_rng(0)
    replies: dict[str, Reply | str] = {
        f"{number}": Reply({"w": rng.normal(0, 0.1, 20).astype(np.float32)}, 10) for number in range(3)
    }
    outcome = combine(rule, rule.init(), model, {**replies, "3": "sent a NaN"}, number=1)
    told = {"round": 1, "refused": outcome.refused, "weights": outcome.weights}
    nodes = {"0": "Ann", "1": "Bob", "2": "\x1b[31mCem", "3": "Eve"}
    take_over(tmp_path, Checkpoint(1, outcome.model, outcome.state, {}, nodes, (told,)))
    found = json.loads(run("show", tmp_path, "--json").stdout)
    assert (found["round"], found["rule"]) == (1, "fused")
    eve = found["nodes"][3]
    assert (eve["name"], eve["refused"], eve["last_refusal"], eve["weight"]) == ("Eve", 1, "round 1: sent a NaN", 0.0)
    assert eve["reputation"] < found["nodes"][0]["reputation"]
    shown = run("show", tmp_path).stdout
    assert "1 rounds done with the rule fused" in shown
    assert "\x1b[31m" not in shown


def test_a_folder_without_a_checkpoint_is_named(tmp_path):
    assert "checkpoint.safetensors: cannot be read" in str(run("show", tmp_path).exception)
