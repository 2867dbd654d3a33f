"""The README's examples run as printed, in order, in an empty folder."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="one example takes part in a federation; install eitr[server]")

from tests.document_examples import Example, examples
from tests.server.process import Running

README = Path(__file__).resolve().parent.parent / "README.md"
NOT_HERE = ("make ", ".venv/bin/eitr serve", ".venv/bin/eitr lab")
"""Commands that set up the checkout, go on for ever or take minutes; other tests run them."""
SERVER = "http://127.0.0.1:8000"


def run(example: Example, folder: Path) -> str:
    eitr = f"{shlex.quote(sys.executable)} -m eitr "
    shell = ["bash", "-euc", example.text.replace(".venv/bin/eitr ", eitr)]
    command = shell if example.language == "shell" else [sys.executable, "-c", example.text]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"README line {example.line}: {done.stderr}"
    return done.stdout


def test_every_example_runs_in_order_in_an_empty_folder(tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    printed = []
    with Running("serve", tmp_path / "server").ready() as server:
        for example in examples(README):
            assert example.language in ("python", "shell"), f"README line {example.line}"
            if not example.text.startswith(NOT_HERE):
                printed.append(run(example._replace(text=example.text.replace(SERVER, server.address)), folder))
    assert json.loads((folder / "labels.jsonl").read_text())["label"] == "politics"
    report = json.loads((folder / "report.json").read_text())
    assert [client["weight"] > 0 for client in report["clients"]] == [True] * 7 + [False] * 3
    assert sum("Health" in text for text in printed) == 1
    assert sum("label='health'" in text for text in printed) == 1
    assert sum(bool(re.search(r"\[0\.14\d* ", text)) for text in printed) == 1


def test_the_examples_are_found() -> None:
    languages = [example.language for example in examples(README) if not example.text.startswith(NOT_HERE)]
    assert languages.count("python") >= 4
    assert languages.count("shell") >= 6
