"""What differs between the versions of EITR whose servers are tried: this is the only file that knows.

The trial of another checkout runs in a process that imports `eitr` from there. Version 0.1 speaks protocol 1 and trains
all layers on own pages alone. Later versions speak protocol 2, and train the last layer in private, with cover pages
and noise, unless they are told to train as in the paper.
"""

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.server_process import ROOT
from eitr.model import Network, TrainingPlan, Vector
from eitr.pages import Vocabulary

PRIVATE, PAPER = "private", "paper"
HAS_PRIVATE = find_spec("eitr.model.private") is not None
API = "/api/v2" if HAS_PRIVATE else "/api/v1"
TRAININGS = {
    PRIVATE: "the last layer in one step, with cover pages and noise",
    PAPER: "all layers in ten epochs, own pages alone, no noise",
}
EITR = [sys.executable, "-c", "from eitr.cli import main; main()"]


@dataclass(frozen=True, eq=False)
class Shipped:
    """The model that a server of this version publishes first."""

    network: Network
    vector: Vector
    vocabulary: Vocabulary


def shipped() -> Shipped:
    """Return the model of the package."""
    module = importlib.import_module("eitr.model.classifier" if HAS_PRIVATE else "eitr.classifier")
    found = module.Classifier.shipped()
    return Shipped(found.model.network, found.model.vector, found.vocabulary)


def plan_of(document: Mapping[str, Any]) -> Any:
    """Return the training that a round asks for."""
    if not HAS_PRIVATE:
        return TrainingPlan(**document)
    return importlib.import_module("eitr.model.round_plan").read_plan(document)


def known_settings(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that this version has; the others were introduced later."""
    settings = importlib.import_module("eitr.server.settings")
    known = {settings.variable(name) for name, _ in settings.described()}
    return {name: value for name, value in wanted.items() if name in known}


def invitations(folder: Path, count: int, *, founders: bool, unbounded: bool) -> list[str]:
    """Make invitations with `eitr invite`, with as much of the trust as this version can express."""
    offered = re.sub(r"\x1b\[[0-9;]*m", "", _run("invite", "--help"))
    wanted = {"--founders": founders, "--unbounded": unbounded}
    flags = [flag for flag, wish in wanted.items() if wish and flag in offered]
    lines = _run("invite", str(count), "--note", "trial", "--folder", str(folder), *flags).split()
    return lines[-count:]


def source_folder() -> Path:
    """Return the folder that `eitr` is imported from."""
    return Path(importlib.import_module("eitr").__file__ or "").resolve().parents[1]


def commit() -> str:
    """Return the commit that is tried, or the version where there is no repository."""
    command = ["git", "-C", str(source_folder()), "describe", "--always", "--dirty"]
    found = subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()
    return found or str(importlib.import_module("eitr").__version__)


def _run(*arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(source_folder()), "COLUMNS": "200"}
    command = [*EITR, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
