"""How many rounds a second our engine simulates, beside Flower and beside a plain loop in PyTorch, on the same work.

    python -m benchmarks.engine [--flower-python PYTHON | --without-flower] [--quick] [--check]

Everybody trains the same network on the same pages of the same clients, with as many steps, combines by FedAvg and
tests after every round; everybody has two processors and a process of its own, and its first round, in which things are
compiled, started and read, does not count. The starts alternate, ours first and last, so that a machine that gets
slower or faster shows. In the first start of each, so many rounds are done that accuracies can be compared. Absolute
seconds belong to a machine and its load: compare the ratios. Writes engine.md and engine.json.

Flower needs an environment of its own, see requirements-engine.txt.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.engine_ours import make_work, paper_settings
from benchmarks.engine_report import (
    FLOWER,
    LOOP,
    LOOP_ONE_THREAD,
    OURS,
    Measured,
    Report,
    as_json,
    as_markdown,
    verdicts,
)
from benchmarks.engine_work import CORES, Settings, write_work
from benchmarks.machine import describe_machine, load_average

ROOT = Path(__file__).resolve().parent.parent
SIZE = 17_500
"""Pages: about 1,400 to train on for each of ten clients."""
HOW_TO_INSTALL = "see benchmarks/requirements-engine.txt, then --flower-python build/flower/bin/python"
LONGEST = 3600.0
"""Seconds after which a start is given up."""
SURROUNDINGS = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""Nothing is reported to anybody, and Ray's actors do not stand back (nice 15 by default) where others want to run."""


@dataclass(frozen=True)
class Contender:
    """A program that does rounds of the work in a folder and writes its course."""

    name: str
    module: str
    python: str = sys.executable
    threads: int = CORES


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How often and how long everybody is measured."""

    rounds: int
    learning_rounds: int
    """In the first start of those whose accuracies are compared."""
    repeats: int

    def starts(self, flower: str | None) -> Iterator[tuple[Contender, int]]:
        """Yield who starts and for how many rounds: each of the others between two of ours."""
        ours, loop = Contender(OURS, "benchmarks.engine_ours"), Contender(LOOP, "benchmarks.engine_loop")
        others = [loop, Contender(LOOP_ONE_THREAD, loop.module, threads=1)]
        if flower is not None:
            others.append(Contender(FLOWER, "benchmarks.engine_flower", python=flower))
        for repeat in range(self.repeats):
            for contender in (ours, *others):
                learns = repeat == 0 and contender.name != LOOP_ONE_THREAD
                yield contender, self.learning_rounds if learns else self.rounds
        yield loop, self.rounds
        yield ours, self.rounds


class StartFailedError(Exception):
    """A contender did not finish; the message holds the end of what it printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    options = _parser().parse_args(arguments)
    # Not resolved: the interpreter of a virtual environment is a link, and only the link is in the environment.
    flower = None if options.without_flower else str(options.flower_python.absolute())
    if flower is not None and flower_versions(flower) is None:
        print(f"{flower} has no Flower with Ray: {HOW_TO_INSTALL}; or take --without-flower", file=sys.stderr)
        return 2
    quick = options.quick
    plan = Plan(
        rounds=options.rounds or (2 if quick else 8),
        learning_rounds=options.learning_rounds or (2 if quick else 30),
        repeats=options.repeats or (1 if quick else 3),
    )
    settings = paper_settings(options.size or (2000 if quick else SIZE), seed=options.seed)
    try:
        report = run(settings, plan, flower=flower, quick=quick)
    except StartFailedError as failed:
        print(failed, file=sys.stderr)
        return 1
    print(write(report, options.out), end="")
    return int(options.check and not all(verdict.holds for verdict in verdicts(report)))


def run(settings: Settings, plan: Plan, *, flower: str | None, quick: bool) -> Report:
    """Measure everybody, with a line on stderr for each start."""
    machine = describe_machine(CORES)
    left_out = [f"Flower, on request. To compare with it: {HOW_TO_INSTALL}"]
    if flower is not None:
        machine["versions"] |= flower_versions(flower) or {}
        left_out = []
    measured = []
    starts = list(plan.starts(flower))
    with tempfile.TemporaryDirectory(prefix="engine", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        write_work(make_work(settings), folder)
        for number, (contender, rounds) in enumerate(starts, 1):
            print(f"{number}/{len(starts)} {contender.name}: {rounds} rounds ... ", end="", file=sys.stderr, flush=True)
            measured.append(start(contender, folder, rounds))
            print(f"{measured[-1].mean:.2f} s a round, {measured[-1].accuracies[-1]:.1%} right", file=sys.stderr)
    if len({one.steps for one in measured}) != 1:
        raise StartFailedError(f"not the same work: {[(one.contender, one.steps) for one in measured]}")
    return Report(machine, settings, measured, quick, left_out)


def start(contender: Contender, folder: Path, rounds: int) -> Measured:
    """Let a contender do rounds of the work, in a process of its own."""
    load = load_average()
    course = folder / "course.json"
    course.unlink(missing_ok=True)
    environment = os.environ | SURROUNDINGS | {"FLWR_HOME": str(folder / "flwr")}
    # Read when NumPy and PyTorch are loaded, and so too early for the contender to set.
    environment |= {name: str(contender.threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    command = [contender.python, "-m", contender.module, str(folder), str(course), str(rounds), str(contender.threads)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired as late:
        raise StartFailedError(f"{contender.name} had not finished after {LONGEST:g} seconds") from late
    if done.returncode != 0 or not course.exists():
        raise StartFailedError(f"{contender.name} failed:\n{done.stdout[-3000:]}")
    found = json.loads(course.read_text())
    ends, steps = found["ends"], set(found["steps"])
    if len(ends) != rounds or len(steps) != 1:
        raise StartFailedError(f"{contender.name} did {len(ends)} of {rounds} rounds, with {sorted(steps)} steps")
    seconds = [after - before for before, after in pairwise(ends)]
    return Measured(contender.name, seconds, found["accuracies"], steps.pop(), load)


def write(report: Report, folder: Path) -> str:
    """Write engine.md and engine.json; return the Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown = as_markdown(report)
    (folder / "engine.md").write_text(markdown, encoding="utf-8")
    (folder / "engine.json").write_text(json.dumps(as_json(report), indent=1) + "\n", encoding="utf-8")
    return markdown


def flower_versions(python: str) -> dict[str, str] | None:
    """Return the versions of Flower and Ray that an interpreter has; None if one of them, or PyTorch, is missing."""
    ask = "from importlib.metadata import version as v; v('torch'); print(v('flwr'), v('ray'))"
    try:
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return dict(zip(("flwr", "ray"), done.stdout.split(), strict=True)) if done.returncode == 0 else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine", description="Measure rounds a second, beside Flower and a PyTorch loop."
    )
    parser.add_argument(
        "--flower-python", type=Path, default=sys.executable, help="an interpreter with Flower (this one)"
    )
    parser.add_argument("--without-flower", action="store_true", help="leave Flower out")
    parser.add_argument("--size", type=_from(48), help=f"pages of the built-in data set ({SIZE})")
    parser.add_argument("--rounds", type=_from(2), help="rounds of a start; the first does not count (8)")
    parser.add_argument("--learning-rounds", type=_from(2), help="rounds of the first starts (30)")
    parser.add_argument("--repeats", type=_from(1), help="starts of each contender (3)")
    parser.add_argument("--seed", type=int, default=0, help="of pages, partition and training (0)")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder for the results (bench-out)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run? The numbers mean nothing")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a promise is broken or was not measured")
    return parser


def _from(least: int):
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
        return int(text)

    return number


if __name__ == "__main__":
    sys.exit(main())
