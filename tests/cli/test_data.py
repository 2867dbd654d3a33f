import json
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree
from typer.testing import CliRunner

from eitr import cli
from eitr.datasets import SOURCES, read_examples

EITR = Path(sys.executable).with_name("eitr")


def invoke(*arguments):
    return CliRunner().invoke(cli.app, list(map(str, arguments)), catch_exceptions=True)


def test_every_data_set_is_listed_with_what_it_needs_and_its_licence():
    shown = invoke("data", "list").output
    listed = json.loads(invoke("data", "list", "--json").output)
    assert [one["name"] for one in listed] == list(SOURCES)
    assert all(one["name"] in shown for one in listed)
    assert all(one["licence"] and one["summary"] for one in listed)
    assert [one["name"] for one in listed if not one["needs"]] == ["builtin"]


def test_a_data_set_becomes_a_file_for_a_bare_machine(tmp_path):
    out = tmp_path / "pages.npz"
    result = invoke("data", "prepare", "builtin", "--size", 200, "--words", 50, "--out", out)
    assert result.exit_code == 0
    examples = read_examples(out)
    assert (len(examples), examples.rows.width) == (200, 50)
    tests = int(examples.test.sum())
    assert f"{200 - tests} pages to train on, {tests} to test on" in result.stderr
    first = out.read_bytes()
    invoke("data", "prepare", "builtin", "--size", 200, "--words", 50, "--out", out)
    assert out.read_bytes() == first
    invoke("data", "prepare", "builtin", "--size", 200, "--words", 50, "--out", out, "--seed", 1)
    assert out.read_bytes() != first


@pytest.mark.parametrize("prepared", [False, True])
def test_a_partition_is_drawn(tmp_path, prepared):
    name = "builtin"
    if prepared:
        name = tmp_path / "pages.npz"
        invoke("data", "prepare", "builtin", "--size", 200, "--words", 50, "--out", name)
    out = tmp_path / "partition.svg"
    result = invoke("data", "partition", name, "--clients", 4, "--alpha", 0.5, "--size", 200, "--out", out)
    assert result.exit_code == 0
    assert "4 clients with" in result.stderr
    assert etree.parse(out).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prepare", "nonsense", "--out", "a.npz"], "no data set is called 'nonsense'"),
        (["prepare", "surl", "--data-dir", ".", "--out", "a.npz"], "surl.tsv is missing; needed: the authors' SURL"),
        (["partition", "builtin", "--size", "100", "--clients", "500", "--out", "a.svg"], "more than the"),
        (["partition", "builtin", "--alpha", "0", "--size", "100", "--out", "a.svg"], "alpha must be above 0"),
        (["partition", "absent.npz", "--out", "a.svg"], "absent.npz: cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(arguments, message, tmp_path):
    result = subprocess.run([EITR, "data", *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_help_has_examples():
    for command in ("list", "prepare", "partition"):
        assert "Example" in invoke("data", command, "--help").output
