"""Tests over the repository itself: what every file must keep to."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from eitr import testing
from eitr.aggregation.registry import RULES
from eitr.settings import settings_of

ROOT = Path(__file__).resolve().parent.parent

CHECKS = tuple(name for name in vars(testing) if name.startswith("check_"))
"""They raise an AssertionError."""


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_every_test_asserts_something():
    empty = []
    for path in tracked("tests/*.py", "tests/**/*.py"):
        tree = ast.parse(path.read_text())
        checking = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _asserts(node, set())}
        empty += [
            f"{path.name}::{node.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not _asserts(node, checking)
        ]
    assert empty == []


def _asserts(function, helpers):
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            # `until` fails where what it waits for does not come.
            if name in ("raises", "fail", "until", *CHECKS) or name.startswith("assert") or name in helpers:
                return True
    return False


def test_no_file_names_a_machine_or_a_registry():
    pattern = re.compile(
        r"(^|[^.\w])/(work|farm|root|home)/\w|registry\.npmjs|files\.pythonhosted|pypi\.org|deb\.debian"
    )
    found = []
    for path in tracked():
        if path != Path(__file__).resolve() and path.suffix not in (".bin", ".png", ".safetensors", ".gz"):
            text = path.read_text(encoding="utf-8")
            found += [f"{path.name}: {match[0]}" for match in pattern.finditer(text)]
    assert found == []


def test_the_package_stays_small():
    heavy = [path.name for path in tracked() if path.stat().st_size > 1_500_000]
    assert heavy == []


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_has_a_worked_example_a_reference_and_help_for_each_setting(rule):
    assert ">>>" in rule.__doc__
    assert re.search(r"\b(19|20)\d\d\b", rule.__doc__.split(">>>")[-1])
    assert all(bounds.help for _, bounds in settings_of(rule))


def test_only_the_lab_imports_torch_and_attacks_when_they_run():
    # The core must work where torch is not installed.
    importing = [
        path.relative_to(ROOT).as_posix()
        for path in tracked("src/*.py", "src/**/*.py")
        if re.search(r"^(import|from) torch", path.read_text(), re.M)
    ]
    assert [path for path in importing if not path.startswith("src/eitr/lab/")] == []
