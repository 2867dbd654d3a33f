"""The documents of the lab say what there is, and their examples run."""

import doctest
import gzip
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.aggregation.interface import Rule
from eitr.attacks.interface import Attack, Scene
from eitr.attacks.registry import ATTACKS
from eitr.datasets import SOURCES, load
from eitr.lab.experiments.registry import EXPERIMENTS
from eitr.lab.results.long_table import PARAMETERS
from eitr.lab.runs.profile import PROFILES
from eitr.lab.simulation import compute
from eitr.settings import settings_of
from tests.lab.small import small_profile

ROOT = Path(__file__).parents[2]
LAB = (ROOT / "docs" / "lab.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def python_in(text, heading):
    section = text.split(f"## {heading}\n", 1)[1]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


@pytest.mark.parametrize(
    "names", [EXPERIMENTS, SOURCES, PROFILES, PARAMETERS], ids=["experiments", "data", "profiles", "columns"]
)
def test_everything_that_has_a_name_is_documented(names):
    assert [name for name in names if f"`{name}`" not in LAB] == []


def test_the_three_lines_for_a_notebook_run(tmp_path, monkeypatch):
    small_profile(monkeypatch)
    monkeypatch.setattr(compute, "load", lambda *named, **more: load("builtin", size=300, words=60))
    monkeypatch.chdir(tmp_path)
    lines = re.search(r"```python\n(.*?)```", LAB, re.DOTALL)[1]
    exec(lines, {})
    assert (tmp_path / "weights.svg").read_text().count("<svg") == 1
    assert (tmp_path / "results" / "lab.json").is_file()


def test_the_example_of_a_rule_is_one():
    names: dict[str, Any] = {"__name__": "example"}
    exec(python_in(CONTRIBUTING, "Add a rule"), names)
    made = names["ClippedMean"]
    assert isinstance(made(), Rule)
    example = doctest.DocTestParser().get_doctest(made.__doc__, names, "ClippedMean", None, None)
    assert doctest.DocTestRunner().run(example) == (0, 4)


def test_the_example_of_an_attack_is_one():
    import torch

    example = python_in(CONTRIBUTING, "Add an attack")
    assert example in (ROOT / "src" / "eitr" / "attacks" / "sign_flip.py").read_text()
    names: dict[str, Any] = {}
    exec(
        "from dataclasses import dataclass\nfrom typing import ClassVar\nimport torch\n"
        "from eitr.attacks.model_poisoning import ModelPoisoning\nfrom eitr.attacks.interface import Scene\n"
        "from eitr.settings import setting\n" + example,
        names,
    )
    made = names["SignFlip"](scale=2.0)
    assert isinstance(made, Attack)
    scene = Scene(torch.tensor([1.0]), torch.tensor([[1.5]]), torch.tensor([[1.4]]))
    assert made.craft(scene).tolist() == [[0.0]]


def test_the_section_about_attacks_names_everything_an_attack_can_override():
    section = CONTRIBUTING.split("## Add an attack\n", 1)[1].split("\n## ", 1)[0]
    hooks = [name for name, part in vars(Attack).items() if inspect.isfunction(part) and not name.startswith("_")]
    assert {"craft", "active", "renews", "probe"} < set(hooks)
    assert [name for name in hooks if f"`{name}`" not in section and f"def {name}(" not in section] == []


def test_the_example_of_a_data_set_is_one(tmp_path):
    names: dict[str, Any] = {}
    exec(python_in(CONTRIBUTING, "Add a data set"), names)
    (tmp_path / "my_pages.jsonl.gz").write_bytes(gzip.compress(b'{"title": "fever", "label": "religion"}\n'))
    (page,) = names["SOURCE"].pages(tmp_path)
    assert (page.page.title, page.label, page.test) == ("fever", 2, None)


def test_the_example_of_an_experiment_is_one():
    from tests.lab.experiments.generated_results import generated_results

    names: dict[str, Any] = {}
    exec(python_in(CONTRIBUTING, "Add an experiment"), names)
    made = names["TwoRules"]()
    results = generated_results(made, PROFILES["quick"])
    assert [row[0] for row in made.table(results).rows] == ["reputation", "fedavg"]
    assert made.verdicts(results)[0].holds
    (axes,) = made.figure(results).axes
    assert [line.get_label() for line in axes.get_lines()] == ["Reputation", "FedAvg"]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_every_attack_has_a_worked_example_a_reference_and_help_for_each_setting(attack):
    assert ">>>" in attack.__doc__
    assert re.search(r"\b(19|20)\d\d\b", attack.__doc__.split(">>>")[-1])
    assert all(bounds.help for _, bounds in settings_of(attack))
