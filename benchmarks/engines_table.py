"""The same federation of page classifiers on four engines: accuracies, differences, seconds, lines of configuration.

    python -m benchmarks.engines_table [--rule reputation,fused] [--flower-python build/flower-tests/bin/python]
    python -m benchmarks.engines_table --engines lab,http-server --clients 4 --rounds 2
    python -m benchmarks.engines_table --show-configuration

All start from the shipped model, with the same seed, the same shares of generated pages and the same training, and the
accuracy is that on the same test pages. The difference is the largest one of a parameter to the lab's model, and to the
model of the lab with clients that are called as the engine calls them: rules order equal values by these ids. Seconds
are those of everything that has to be started for one federation; compare them on one machine only. Lines are what a
user writes: one setting, one command or one statement each (`--show-configuration` prints them).

Flower has an environment of its own, which `make test-flower` makes. Exit status 1: accuracies differ, as they do with
`fused` on the server, whose validation pages and seed of projections are its own.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines_http import run_http
from benchmarks.engines_lab import run_lab
from benchmarks.engines_setting import (
    ENGINES,
    HTTP,
    LAB,
    TITLES,
    Setting,
    accuracy,
    configuration,
    first_model,
)
from benchmarks.machine import describe_machine, machine_line
from benchmarks.markdown import table
from eitr.errors import InputError
from eitr.model.classifier import Classifier
from eitr.model.network import Vector

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 1800.0
QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}


def main() -> int:
    """Run the engines one after the other; print and write the table."""
    options = _options()
    found = []
    for rule in options.rule.split(","):
        setting = Setting(
            rule=rule, clients=options.clients, rounds=options.rounds, size=options.size, seed=options.seed
        )
        if options.show_configuration:
            for engine, lines in configuration(setting).items():
                print(f"{TITLES[engine]}: {len(lines)} lines", *lines, sep="\n    ", end="\n\n")
            continue
        found.append(compare(setting, options.engines, options.flower_python))
    if options.show_configuration:
        return 0
    machine = describe_machine(2)
    text = f"{machine_line(machine)}.\n\n" + "\n\n".join(report(one) for one in found)
    options.to.parent.mkdir(parents=True, exist_ok=True)
    options.to.write_text(text + "\n", "utf-8")
    options.to.with_suffix(".json").write_text(json.dumps({"machine": machine, "trials": found}, indent=1) + "\n")
    print(text)
    return int(any(len({row["accuracy"] for row in one["engines"]}) > 1 for one in found))


def compare(setting: Setting, engines: list[str], flower: Path) -> dict[str, Any]:
    """Run a federation on engines, the lab's always first; return what each came to."""
    lines = {engine: len(written) for engine, written in configuration(setting).items()}
    rows: list[dict[str, Any]] = []
    ours: Vector | None = None
    for engine in (LAB, *(one for one in engines if one != LAB)):
        print(f"{setting.rule}: {engine} ... ", end="", file=sys.stderr, flush=True)
        vector, seconds, ids = _run(engine, setting, flower)
        ours = vector if ours is None else ours
        named = run_lab(setting, ids)[0] if ids else ours
        rows.append(
            {
                "engine": engine,
                "accuracy": accuracy(setting, vector),
                "difference": float(np.abs(vector - ours).max()),
                "difference_same_ids": float(np.abs(vector - named).max()),
                "seconds": round(seconds, 1),
                "lines": lines[engine],
            }
        )
        print(f"{rows[-1]}", file=sys.stderr)
    first = first_model(setting)
    moved = float(np.abs(np.asarray(ours) - first).max())
    return {"setting": json.loads(setting.text), "first": accuracy(setting, first), "moved": moved, "engines": rows}


def _run(engine: str, setting: Setting, flower: Path) -> tuple[Vector, float, list[str]]:
    """Return model, seconds, and what its clients are called, if in another order than the lab's."""
    if engine == LAB:
        return *run_lab(setting), []
    folder = Path(tempfile.mkdtemp(prefix="eitr-engines-"))
    try:
        if engine == HTTP:
            return *run_http(setting, folder), []
        vector, seconds = _run_flower(engine, setting, folder, flower)
        keys = folder / "keys.json"
        return vector, seconds, json.loads(keys.read_text()) if keys.exists() else []
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_flower(engine: str, setting: Setting, folder: Path, python: Path) -> tuple[Vector, float]:
    if not python.exists():
        raise InputError(f"{python} does not exist: run make test-flower, or leave Flower out with --engines")
    command = [str(python.absolute()), "-m", "benchmarks.engines_flower", engine, setting.text, str(folder)]
    environment = {
        **os.environ,
        **QUIET,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "FLWR_HOME": str(folder / "home"),
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST
    )
    if done.returncode or not (folder / "model.safetensors").exists():
        raise InputError(f"{engine} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    seconds = json.loads((folder / "seconds.json").read_text())
    return Classifier.load(folder).model.vector, float(seconds)


def report(one: dict[str, Any]) -> str:
    """Return the table of a rule."""
    setting = one["setting"]
    rows = [
        [
            TITLES[row["engine"]],
            f"{100 * row['accuracy']:.2f} %",
            *("0" if row[name] == 0 else f"{row[name]:.1e}" for name in ("difference", "difference_same_ids")),
            f"{row['seconds']:.1f}",
            str(row["lines"]),
        ]
        for row in one["engines"]
    ]
    return (
        f"`{setting['rule']}`, {setting['clients']} clients, {setting['rounds']} rounds, {setting['size']} pages, seed "
        f"{setting['seed']}. The shipped model has {100 * one['first']:.2f} %; parameters moved by up to "
        f"{one['moved']:.2g}.\n\n"
        + table(
            ["engine", "accuracy", "largest difference", "with the same ids", "seconds", "lines of configuration"], rows
        )
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rule", default="reputation", help="rules, with commas")
    parser.add_argument("--engines", type=_engines, default=list(ENGINES), help=f"some of {','.join(ENGINES)}")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=1200, help="pages in all")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--flower-python", type=Path, default=Path("build", "flower-tests", "bin", "python"))
    parser.add_argument("--show-configuration", action="store_true", help="print the lines that are counted, and end")
    parser.add_argument("--to", type=Path, default=Path("bench-out", "engines.md"))
    return parser.parse_args()


def _engines(text: str) -> list[str]:
    found = text.split(",")
    if not set(found) <= set(ENGINES):
        raise argparse.ArgumentTypeError(f"engines are {', '.join(ENGINES)}")
    return found


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InputError as failed:
        sys.exit(f"error: {failed}")
