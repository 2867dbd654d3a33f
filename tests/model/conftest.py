"""How the tests of the model run Node.js, and when they cannot."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunNode = Callable[..., str]


@pytest.fixture
def run_node() -> RunNode:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")

    def run(script: Path, *arguments: Path) -> str:
        command = [node, str(script), *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run
