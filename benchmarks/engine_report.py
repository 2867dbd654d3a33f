"""Rounds a second of several engines on the same work: numbers and verdicts, as Markdown and as JSON."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.engine_work import Settings
from benchmarks.machine import machine_line
from benchmarks.markdown import significant, table

OURS = "EITR, sparse engine"
FLOWER = "Flower simulation"
LOOP = "PyTorch loop, 2 threads"
LOOP_ONE_THREAD = "PyTorch loop, 1 thread"
LOOPS = (LOOP, LOOP_ONE_THREAD)

FASTER_THAN_FLOWER = 10.0
FASTER_THAN_LOOP = 3.0
"""At least so many times our rounds a second; the loop's threads are those with which it is faster."""
POINTS_APART = 2.0
"""At most so many points of accuracy lie between those who did the same work."""


@dataclass(frozen=True)
class Measured:
    """One start of one contender."""

    contender: str
    seconds: list[float]
    """Of each round but the first, in which things are compiled, started and read."""
    accuracies: list[float]
    """After each round, the first among them."""
    steps: int
    """Of all clients together, in every round."""
    load_average: float | None
    """Before the start."""

    @property
    def mean(self) -> float:
        """The mean seconds of a round."""
        return statistics.mean(self.seconds)


@dataclass(frozen=True)
class Verdict:
    """A promise and what was measured; None where it was not."""

    promise: str
    measured: str | None
    holds: bool | None

    def __str__(self) -> str:
        if self.holds is None:
            return f"not measured: {self.promise}"
        return f"{'holds' if self.holds else 'falls short'}: {self.promise}: {self.measured}"


@dataclass(frozen=True)
class Report:
    """All that was found, the starts in the order in which they were made."""

    machine: dict[str, Any]
    settings: Settings
    measured: Sequence[Measured]
    quick: bool
    left_out: Sequence[str]
    """What was not measured, and how to get it."""

    @property
    def contenders(self) -> list[str]:
        """The names of those that were measured, in the order of their first start."""
        return list(dict.fromkeys(one.contender for one in self.measured))

    def of(self, contender: str) -> list[Measured]:
        """Return all starts of a contender."""
        return [one for one in self.measured if one.contender == contender]

    def seconds(self, contender: str) -> list[float]:
        """Return the mean seconds of a round of each start."""
        return [one.mean for one in self.of(contender)]

    def ratios(self, contender: str) -> list[float]:
        """Return, for each start, how many of our rounds fit into one of its: ours are those before and after it."""
        found = []
        for place, one in enumerate(self.measured):
            if one.contender == contender:
                before = [other.mean for other in self.measured[: place + 1] if other.contender == OURS][-1:]
                after = [other.mean for other in self.measured[place:] if other.contender == OURS][:1]
                found.append(one.mean / statistics.mean(before + after))
        return found

    @property
    def rounds(self) -> int:
        """The rounds after which accuracies are compared: as many as everybody but the one-thread loop did."""
        longest = [
            max(len(one.accuracies) for one in self.of(name)) for name in self.contenders if name != LOOP_ONE_THREAD
        ]
        return min(longest)

    def accuracy(self, contender: str) -> float | None:
        """Return the accuracy after these rounds, of the first start that did them."""
        return next(
            (one.accuracies[self.rounds - 1] for one in self.of(contender) if len(one.accuracies) >= self.rounds), None
        )


def verdicts(report: Report) -> list[Verdict]:
    """Judge a run; on tiny sizes there is nothing to judge."""
    loops = [statistics.median(report.ratios(name)) for name in LOOPS if report.of(name)]
    flower = statistics.median(report.ratios(FLOWER)) if report.of(FLOWER) else None
    known = [found for found in map(report.accuracy, report.contenders) if found is not None]
    apart = 100 * (max(known) - min(known))
    same = Verdict(
        f"after {report.rounds} rounds accuracies at most {POINTS_APART:g} points apart",
        f"{apart:.1f} points",
        apart <= POINTS_APART,
    )
    found = [
        _faster(f"at least {FASTER_THAN_FLOWER:g}x Flower", flower, FASTER_THAN_FLOWER),
        _faster(f"at least {FASTER_THAN_LOOP:g}x the loop", min(loops, default=None), FASTER_THAN_LOOP),
        same,
    ]
    return [Verdict(one.promise, None, None) for one in found] if report.quick else found


def as_markdown(report: Report) -> str:
    """Return the tables, the verdicts and what was left out."""
    parts = ["A quick run on tiny sizes: the numbers mean nothing."] if report.quick else []
    parts += [_machine(report), _work(report), _rounds(report), _drift(report)]
    parts.append("Acceptance\n\n" + "\n".join(f"- {verdict}" for verdict in verdicts(report)))
    if report.left_out:
        parts.append("Left out\n\n" + "\n".join(f"- {reason}" for reason in report.left_out))
    return "\n\n".join(parts) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "machine": report.machine,
        "settings": asdict(report.settings),
        "quick": report.quick,
        "measured": [asdict(one) for one in report.measured],
        "engines": [
            {
                "contender": name,
                "seconds_per_round": report.seconds(name),
                "rounds_per_second": 1 / statistics.median(report.seconds(name)),
                "ratios_to_ours": report.ratios(name),
                "accuracy": report.accuracy(name),
            }
            for name in report.contenders
        ],
        "compared_after_rounds": report.rounds,
        "acceptance": [asdict(verdict) for verdict in verdicts(report)],
        "left_out": list(report.left_out),
    }


def _faster(promise: str, ratio: float | None, bound: float) -> Verdict:
    if ratio is None:
        return Verdict(promise, None, None)
    return Verdict(promise, f"{significant(ratio)}x", ratio >= bound)


def _machine(report: Report) -> str:
    return f"{machine_line(report.machine)}."


def _work(report: Report) -> str:
    settings = report.settings
    layers = "-".join(str(width) for width in settings.layers)
    return (
        f"{settings.clients} clients on {settings.size:,} pages (Dirichlet {settings.alpha:g}), network {layers}, "
        f"dropout {settings.dropout:g}, batches of {settings.batch_size}, {settings.epochs} epochs of at most "
        f"{settings.max_batches} batches: {report.measured[0].steps:,} steps a round, everybody alike. FedAvg; the "
        "global model is tested after every round."
    )


def _rounds(report: Report) -> str:
    head = ("", "rounds/s", "s/round", "fastest-slowest start", "time / ours", "from-to", "accuracy", "rounds timed")
    rows = []
    for name in report.contenders:
        seconds, ratios = report.seconds(name), report.ratios(name)
        accuracy = report.accuracy(name)
        rows.append(
            (
                name,
                significant(1 / statistics.median(seconds)),
                significant(statistics.median(seconds)),
                f"{significant(min(seconds))}-{significant(max(seconds))}",
                significant(statistics.median(ratios)),
                f"{significant(min(ratios))}-{significant(max(ratios))}",
                "" if accuracy is None else f"{accuracy:.1%}",
                str(sum(len(one.seconds) for one in report.of(name))),
            )
        )
    return f"Medians over the starts; accuracy after {report.rounds} rounds\n\n{table(head, rows)}"


def _drift(report: Report) -> str:
    rows = [
        (one.contender, str(len(one.accuracies)), significant(one.mean), str(one.load_average))
        for one in report.measured
    ]
    return f"All starts in their order\n\n{table(('', 'rounds', 's/round', 'load before'), rows)}"
