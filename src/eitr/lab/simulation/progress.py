"""Show the progress of a lab run: bars on a terminal, a line every few seconds elsewhere."""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from eitr.lab.simulation.context import ProgressCallback, no_progress

if TYPE_CHECKING:
    from eitr.lab.runs.run import Run

LINE_SECONDS = 10.0
"""How often a line is printed where there are no bars."""


class Tally:
    """The rounds and runs done by this call; runs that were finished before do not count."""

    def __init__(self, runs: int, rounds: int) -> None:
        self.runs, self.total = runs, rounds
        self.rounds = self.finished = 0
        self._seen: dict[str, int] = {}
        self._start = time.monotonic()

    def note(self, run: "Run", done: int, rounds: int) -> None:
        """Count a round of a run; what a resumed run had behind it is neither done now nor left to do."""
        if run.key not in self._seen:
            self._seen[run.key] = done - 1
            self.total -= done - 1
        self.rounds += done - self._seen.get(run.key, 0)
        self._seen[run.key] = done
        self.finished += done == rounds

    def line(self, run: "Run", accuracy: float) -> str:
        """Return the progress as one line of text."""
        passed = time.monotonic() - self._start
        left = passed / self.rounds * max(self.total - self.rounds, 0) if self.rounds else 0.0
        now = "" if math.isnan(accuracy) else f", accuracy {accuracy:.3f}"
        title = getattr(run, "title", run.kind)
        return (
            f"{self.finished}/{self.runs} runs, {self.rounds}/{self.total} rounds, {clock(passed)} passed, "
            f"{clock(left)} left; {title}{now}"
        )


def clock(seconds: float) -> str:
    """Return a time as minutes and seconds.

    >>> clock(75.2)
    '1:15'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


@contextmanager
def progress_shown(tally: Tally, *, quiet: bool = False) -> Iterator[ProgressCallback]:
    """Give a function that shows every round: bars on a terminal, lines elsewhere, nothing if `quiet`."""
    if quiet:
        yield no_progress
        return
    if sys.stderr.isatty() and find_spec("rich") is not None:
        yield from _bars(tally)
        return
    yield _lines(tally)


def _lines(tally: Tally) -> ProgressCallback:
    last = [0.0]

    def watch(run: "Run", done: int, rounds: int, accuracy: float) -> None:
        tally.note(run, done, rounds)
        if time.monotonic() - last[0] >= LINE_SECONDS:
            last[0] = time.monotonic()
            print(tally.line(run, accuracy), file=sys.stderr, flush=True)

    return watch


def _bars(tally: Tally) -> Iterator[ProgressCallback]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<7}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        runs = progress.add_task("runs", total=tally.runs, now="")
        rounds = progress.add_task("rounds", total=tally.total, now="")

        def watch(run: "Run", done: int, of: int, accuracy: float) -> None:
            tally.note(run, done, of)
            now = "" if math.isnan(accuracy) else f"accuracy {accuracy:.3f}"
            progress.update(runs, completed=tally.finished, total=tally.runs, now=getattr(run, "title", run.kind))
            progress.update(rounds, completed=tally.rounds, total=tally.total, now=now)

        yield watch
