"""How the tests of the extension run Node.js, and when they cannot."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def needs(*packages: str) -> None:
    """Skip the test where Node.js or a package of it is missing."""
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    for package in packages:
        if not (ROOT / "node_modules" / package).is_dir():
            pytest.skip(f"{package} is not installed; run npm ci")


def run(*command: str | Path, timeout: float = 900) -> str:
    """Run a command of Node.js in the repository; return what it printed, or fail with it."""
    done = subprocess.run(
        [shutil.which(str(command[0])) or str(command[0]), *map(str, command[1:])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ask(folder: Path, script: str, task: tuple[str, ...], question: dict[str, Any]) -> Any:
    """Return the answer of a script beside this file to a question, both as JSON in files."""
    given, found = folder / "question.json", folder / "answer.json"
    given.write_text(json.dumps(question))
    run("node", HERE / script, *task, given, found)
    return json.loads(found.read_text())
