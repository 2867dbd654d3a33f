"""The work that all engines are given, as a folder: dense pages of every client and of the test, settings, first model.

Needs NumPy alone, so that Flower can read it in an environment of its own. What an engine hands back is a `Course`.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CORES = 2
"""For everybody."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is to be done, apart from the pages."""

    size: int
    """Pages of the built-in data set, those to test on among them."""
    clients: int
    alpha: float
    seed: int
    layers: tuple[int, ...]
    epochs: int
    max_batches: int
    batch_size: int
    learning_rate: float
    momentum: float
    dropout: float


class Pages(NamedTuple):
    """Dense pages with their labels."""

    inputs: NDArray[np.float32]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Work:
    """One federation."""

    settings: Settings
    clients: list[Pages]
    test: Pages
    initial: NDArray[np.float32]
    """The first global model: layer by layer the kernel (inputs, outputs), then the bias."""


@dataclass
class Course:
    """What an engine did, round by round."""

    ends: list[float] = field(default_factory=list)
    """When each round had ended, its evaluation included, in seconds of one clock."""
    accuracies: list[float] = field(default_factory=list)
    """On the test pages."""
    steps: list[int] = field(default_factory=list)
    """Steps of all clients together."""
    clock: Callable[[], float] = time.perf_counter

    def add(self, accuracy: float, steps: int) -> None:
        """Note that a round has ended now."""
        self.accuracies.append(accuracy)
        self.steps.append(steps)
        self.ends.append(self.clock())

    def write(self, path: Path) -> None:
        """Write what was noted as JSON."""
        path.write_text(json.dumps({"ends": self.ends, "accuracies": self.accuracies, "steps": self.steps}))


def write_work(work: Work, folder: Path) -> None:
    """Write the work to an empty folder."""
    (folder / "settings.json").write_text(json.dumps(asdict(work.settings)))
    np.save(folder / "initial.npy", work.initial)
    for name, pages in (("test", work.test), *enumerate(work.clients)):
        np.save(folder / f"{name}.inputs.npy", pages.inputs)
        np.save(folder / f"{name}.labels.npy", pages.labels)


def read_settings(folder: Path) -> Settings:
    """Read the settings of the work in a folder."""
    found = json.loads((folder / "settings.json").read_text())
    return Settings(**{**found, "layers": tuple(found["layers"])})


@cache
def read_work(folder: Path) -> Work:
    """Read the work in a folder; a process reads it once."""
    settings = read_settings(folder)
    clients = [_pages(folder, str(client)) for client in range(settings.clients)]
    return Work(settings, clients, _pages(folder, "test"), np.load(folder / "initial.npy"))


def stay_on_cores(cores: int = CORES) -> None:
    """Keep this process, and those it starts, on so many processors, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def _pages(folder: Path, name: str) -> Pages:
    return Pages(np.load(folder / f"{name}.inputs.npy"), np.load(folder / f"{name}.labels.npy"))
