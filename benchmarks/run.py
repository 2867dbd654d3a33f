"""One run of the benchmark: time everybody, measure memory, judge, and write what was found."""

import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import memory, peers, timing
from benchmarks.acceptance import verdicts
from benchmarks.contenders import REPUTATION, RESIDUAL, STRAIGHTFORWARD, TORCH_MEDIAN, contenders
from benchmarks.machine import describe_machine
from benchmarks.report import Report, as_json, as_markdown

Step = Callable[[str], None]
"""Told what comes next."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What to measure."""

    clients: Sequence[int]
    parameters: int | None
    """Of a client; None: so many that the table of updates takes 100 MB."""
    repeats: int
    memory: tuple[int, int]
    """Clients and parameters for the measurement of memory."""


def run(sizes: Sizes, *, threads: int, seed: int, quick: bool) -> Report:
    """Measure everything, with a progress bar on stderr."""
    machine = describe_machine(threads)
    everybody = contenders()
    for_memory = [REPUTATION, RESIDUAL, TORCH_MEDIAN, STRAIGHTFORWARD] if memory.available() else []
    with _progress() as progress:
        task = progress.add_task("", total=len(everybody) * sizes.repeats * len(sizes.clients) + len(for_memory))
        started = iter(range(1_000_000))

        def step(what: str) -> None:
            progress.update(task, description=what, completed=next(started))

        timings = [
            timing.measure(
                everybody, clients, parameters=sizes.parameters, repeats=sizes.repeats, seed=seed, progress=step
            )
            for clients in sizes.clients
        ]
        peaks = [_peak(name, sizes, step) for name in for_memory]
        step("done")
    # On tiny tables fixed costs rule: nothing to judge.
    judged = verdicts([], []) if quick else verdicts(timings, peaks)
    return Report(machine, sizes.repeats, quick, timings, peaks, judged, _left_out())


def write(report: Report, folder: Path) -> str:
    """Write bench.md, bench.json and the plot; return the Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown = as_markdown(report)
    (folder / "bench.md").write_text(markdown, encoding="utf-8")
    (folder / "bench.json").write_text(json.dumps(as_json(report), indent=1) + "\n", encoding="utf-8")
    if _can_plot():
        from benchmarks.plot import draw

        draw(report.timings, folder)
    return markdown


def _peak(contender: str, sizes: Sizes, step: Step) -> memory.Memory:
    step(f"memory: {contender}")
    clients, parameters = sizes.memory
    return memory.measure(contender, clients=clients, parameters=parameters)


def _progress() -> Progress:
    """Return a bar on stderr: stdout is for the tables."""
    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
    )


def _left_out() -> list[str]:
    missing = []
    if not peers.installed():
        missing.append(f"the rules of ByzFL, which are not installed: {peers.HOW_TO_INSTALL}")
    if not memory.available():
        missing.append("peak memory, which is read from /proc: this system has none")
    if not _can_plot():
        missing.append("the plot, which needs matplotlib: make setup-dev")
    return missing


def _can_plot() -> bool:
    return importlib.util.find_spec("matplotlib") is not None
