"""The tutorial "your own defence in 15 minutes", followed literally in an empty folder."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from tests.document_examples import Example, examples

TUTORIAL = Path(__file__).resolve().parent.parent / "docs" / "tutorial-own-defence.md"
PYTHON = shlex.quote(sys.executable)


def file_of(example: Example) -> str:
    """Return the file that the text last named before a block of Python."""
    before = "\n".join(TUTORIAL.read_text(encoding="utf-8").splitlines()[: example.line - 1])
    return re.findall(r"`(\w+\.py)`", before)[-1]


def run(example: Example, folder: Path) -> str:
    command = re.sub(r"^eitr ", f"{PYTHON} -m eitr ", re.sub(r"^python ", f"{PYTHON} ", example.text))
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"line {example.line}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_tutorial_works_as_it_is_written(tmp_path: Path) -> None:
    printed = []
    for example in examples(TUTORIAL):
        if example.language == "python":
            with (tmp_path / file_of(example)).open("a", encoding="utf-8") as stream:
                stream.write(f"\n\n{example.text}")
        else:
            assert example.language == "shell"
            printed.append(run(example, tmp_path))
    shown, tested, *_ = printed
    assert "smallest cosine" in shown
    assert "1 passed" in tested
    compared, judged = (
        json.loads((tmp_path / name / "report.json").read_text())["experiments"][0]
        for name in ("compared", "agreement")
    )
    assert compared["finished"]
    assert judged["finished"]
    worst = {row[0]: row[1] for row in compared["summary"]["rows"]}
    assert worst["agreeing-mean"] < worst["fedavg"] - 10
    assert [one["verdict"] for one in judged["verdicts"]] == ["not judged by quick runs"]
    assert (tmp_path / "compared" / "report.html").is_file()
