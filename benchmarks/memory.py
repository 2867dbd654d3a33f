"""Peak memory above the loaded input, each contender in a fresh process (`memory_probe.py`)."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Memory:
    """Bytes that a contender needed above its input."""

    contender: str
    clients: int
    parameters: int
    input_bytes: int
    peak_bytes: int

    @property
    def share(self) -> float:
        """The peak as a multiple of the input."""
        return self.peak_bytes / self.input_bytes


def available() -> bool:
    """Say whether memory can be measured here: it is read from /proc."""
    return Path("/proc/self/status").exists()


def measure(contender: str, *, clients: int, parameters: int) -> Memory:
    """Start a process that measures one contender, with the threads that this one was given."""
    command = [sys.executable, "-m", "benchmarks.memory_probe", contender, str(clients), str(parameters)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"measuring the memory of {contender} failed:\n{done.stderr}")
    return Memory(contender, clients, parameters, **json.loads(done.stdout))
