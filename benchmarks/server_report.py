"""Updates a second, waiting and memory of servers: numbers and verdicts, as Markdown and as JSON."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.engine_report import Verdict
from benchmarks.machine import machine_line
from benchmarks.markdown import significant, table
from benchmarks.server_field import POSTGRESQL

OURS = "EITR"
NAIVE = "naive endpoint"
MEGABYTE = 1e6

FASTER_THAN_NAIVE = 2.0
UPDATES_PER_SECOND = 100.0
"""On PostgreSQL."""
MANIFEST_MS = 50.0
"""99 of 100 questions for the manifest are answered in less, while updates come in."""
GROWTH = 2_000.0
"""Bytes of memory an update may leave behind, on average: 20 MB over 10,000, of the 10.6 GB that went through."""
FINE = ("202", "closed")
WAITING_AND_MEMORY = (
    "p50 ms",
    "p99 ms",
    "errors",
    "manifest p50 ms",
    "p99",
    "max",
    "memory MB: start",
    "most",
    "end",
)
"""The columns that `_waiting` and `_memories` fill."""


@dataclass(frozen=True, kw_only=True)
class Burst:
    """Updates sent one after the other by all clients, and what they met."""

    kind: str
    """Of database."""
    contender: str
    seconds: float
    latencies: list[float]
    statuses: dict[str, int]
    example: str
    manifest: list[float]
    memory_start: int
    memory_most: int
    memory_end: int
    processor: float
    """Seconds of processor time of the server."""
    database_processor: float
    """... of a database that is a process of its own; with others, the server's holds it."""
    clients_processor: float
    versions: int
    """Models that were published meanwhile."""
    load_average: float | None

    @property
    def rate(self) -> float:
        """Updates received a second."""
        return len(self.latencies) / self.seconds

    @property
    def errors(self) -> int:
        """Answers that should not have been."""
        return sum(count for status, count in self.statuses.items() if status not in FINE)

    def waited(self, share: float) -> float:
        """Return the milliseconds within which a share of updates was answered."""
        return quantile(self.latencies, share)

    def __str__(self) -> str:
        return (
            f"{self.rate:.0f} updates/s, p50 {self.waited(0.5):.0f} ms, p99 {self.waited(0.99):.0f} ms, manifest p99 "
            f"{quantile(self.manifest, 0.99):.1f} ms, {self.memory_end / MEGABYTE:.0f} MB, {self.errors} errors"
            + (f" ({self.example})" if self.example else "")
        )


@dataclass(frozen=True)
class Course:
    """Our memory over many updates."""

    kind: str
    contender: str
    step: int
    bursts: list[Burst]

    @property
    def slope(self) -> float:
        """Bytes that an update leaves behind: a line through the memory after each step but the first."""
        after = [burst.memory_end for burst in self.bursts][1:]
        if len(after) < 2:
            return 0.0
        return float(np.polyfit(np.arange(len(after)) * self.step, after, 1)[0])


@dataclass(frozen=True)
class Report:
    """All that was found, the turns in the order in which they were taken."""

    machine: dict[str, Any]
    parameters: int
    clients: int
    alone: float
    """Updates a second that the clients can send to nobody."""
    bursts: Sequence[Burst]
    courses: Sequence[Course]
    rounds: Sequence[Burst]
    quick: bool

    @property
    def kinds(self) -> list[str]:
        """The kinds of database."""
        return list(dict.fromkeys(burst.kind for burst in self.bursts))

    def contenders(self, kind: str) -> list[str]:
        """Return who was measured on a kind of database."""
        return list(dict.fromkeys(burst.contender for burst in self.bursts if burst.kind == kind))

    def of(self, kind: str, contender: str) -> list[Burst]:
        """Return all turns of a contender."""
        return [burst for burst in self.bursts if (burst.kind, burst.contender) == (kind, contender)]

    def rate(self, kind: str, contender: str) -> float:
        """Return the median over the turns."""
        return statistics.median(burst.rate for burst in self.of(kind, contender))

    def ratio(self, kind: str, contender: str) -> float:
        """Return how many times the naive endpoint's updates a second these are, medians over the turns."""
        return self.rate(kind, contender) / self.rate(kind, NAIVE)


def quantile(seconds: Sequence[float], share: float) -> float:
    """Return a quantile in milliseconds.

    >>> quantile([0.001, 0.002, 0.003], 0.5)
    2.0
    """
    return 1000 * float(np.quantile(seconds, share)) if seconds else float("nan")


def verdicts(report: Report) -> list[Verdict]:
    """Judge a run; few updates say nothing."""
    found = []
    for kind in report.kinds:
        ratio = report.ratio(kind, OURS)
        found.append(
            Verdict(
                f"on {kind} at least {FASTER_THAN_NAIVE:g}x the naive endpoint",
                f"{significant(ratio)}x",
                ratio >= FASTER_THAN_NAIVE,
            )
        )
        if kind == POSTGRESQL:
            rate = report.rate(kind, OURS)
            promise = f"on {kind} at least {UPDATES_PER_SECOND:g} updates a second"
            found.append(Verdict(promise, significant(rate), rate >= UPDATES_PER_SECOND))
        slowest = statistics.median(quantile(burst.manifest, 0.99) for burst in report.of(kind, OURS))
        promise = f"on {kind} the manifest within {MANIFEST_MS:g} ms, 99 of 100 times, while updates come in"
        found.append(Verdict(promise, f"{significant(slowest)} ms", slowest < MANIFEST_MS))
    for course in report.courses:
        promise = f"on {course.kind} {course.contender} leaves at most {GROWTH:,.0f} bytes of memory an update behind"
        found.append(Verdict(promise, f"{course.slope:,.0f}", course.slope <= GROWTH))
    errors = sum(burst.errors for burst in _all(report))
    found.append(Verdict("no errors", str(errors), errors == 0))
    return [Verdict(one.promise, None, None) for one in found] if report.quick else found


def as_markdown(report: Report) -> str:
    """Return the tables and the verdicts."""
    parts = ["A quick run with few updates: the numbers mean nothing."] if report.quick else []
    parts += [f"{machine_line(report.machine)}.", _work(report)]
    parts += [_ingest(report, kind) for kind in report.kinds]
    parts += [_memory(course) for course in report.courses]
    if report.rounds:
        parts.append(_rounds(report))
    parts.append("Acceptance\n\n" + "\n".join(f"- {verdict}" for verdict in verdicts(report)))
    return "\n\n".join(parts) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values; of latencies the quantiles."""
    return {
        "machine": report.machine,
        "quick": report.quick,
        "parameters": report.parameters,
        "clients": report.clients,
        "clients_alone_updates_per_second": report.alone,
        "ingest": [_row(burst) for burst in report.bursts],
        "ratios": {kind: {name: report.ratio(kind, name) for name in report.contenders(kind)} for kind in report.kinds},
        "memory": [
            {
                "kind": course.kind,
                "contender": course.contender,
                "step": course.step,
                "bytes_per_update": course.slope,
                "bursts": [_row(burst) for burst in course.bursts],
            }
            for course in report.courses
        ],
        "rounds": [_row(burst) for burst in report.rounds],
        "acceptance": [asdict(verdict) for verdict in verdicts(report)],
    }


def _row(burst: Burst) -> dict[str, Any]:
    found = asdict(burst)
    for name in ("latencies", "manifest"):
        seconds = found.pop(name)
        found[f"{name}_ms"] = {
            "count": len(seconds),
            **{f"p{100 * share:g}": quantile(seconds, share) for share in (0.5, 0.9, 0.99, 1.0)},
        }
    return {**found, "updates_per_second": burst.rate, "errors": burst.errors}


def _all(report: Report) -> list[Burst]:
    return [*report.bursts, *report.rounds, *(burst for course in report.courses for burst in course.bursts)]


def _work(report: Report) -> str:
    return (
        f"{report.clients} clients on connections that stay open, updates of {report.parameters:,} float32 parameters "
        f"({4 * report.parameters / MEGABYTE:.2f} MB); to somebody who does nothing with them the clients send "
        f"{report.alone:,.0f} a second."
    )


def _ingest(report: Report, kind: str) -> str:
    head = (
        "",
        "updates/s",
        "slowest-fastest turn",
        "times naive",
        *WAITING_AND_MEMORY,
        "processor ms/update: server",
        "database",
        "clients",
    )
    rows = []
    for name in report.contenders(kind):
        bursts = report.of(kind, name)
        rates = [burst.rate for burst in bursts]
        rows.append(
            (
                name,
                significant(report.rate(kind, name)),
                f"{significant(min(rates))}-{significant(max(rates))}",
                significant(report.ratio(kind, name)),
                *_waiting(bursts),
                *_memories(bursts),
                *_processors(bursts),
            )
        )
    turns, size = len(report.of(kind, OURS)), len(report.of(kind, OURS)[0].latencies)
    title = f"{kind}, updates alone: {turns} turns of {size:,} updates each, medians over the turns"
    return f"{title}\n\n{table(head, rows)}"


def _waiting(bursts: Sequence[Burst]) -> tuple[str, ...]:
    """Return columns: waiting for an update's answer, errors, waiting for the manifest."""

    def median(values: Sequence[float]) -> str:
        return significant(statistics.median(values))

    return (
        median([burst.waited(0.5) for burst in bursts]),
        median([burst.waited(0.99) for burst in bursts]),
        str(sum(burst.errors for burst in bursts)),
        median([quantile(burst.manifest, 0.5) for burst in bursts]),
        median([quantile(burst.manifest, 0.99) for burst in bursts]),
        significant(max(quantile(burst.manifest, 1.0) for burst in bursts)),
    )


def _memories(bursts: Sequence[Burst]) -> tuple[str, ...]:
    sizes = (bursts[0].memory_start, max(burst.memory_most for burst in bursts), bursts[-1].memory_end)
    return tuple(f"{size / MEGABYTE:.0f}" for size in sizes)


def _processors(bursts: Sequence[Burst]) -> tuple[str, ...]:
    """Return columns: milliseconds of processor time an update, of everybody who has a part in it."""
    updates = sum(len(burst.latencies) for burst in bursts)
    spent = [(burst.processor, burst.database_processor, burst.clients_processor) for burst in bursts]
    return tuple(significant(1000 * sum(seconds) / updates) for seconds in zip(*spent, strict=True))


def _memory(course: Course) -> str:
    rows = [
        (
            f"{course.step * number:,}",
            f"{burst.memory_end / MEGABYTE:.1f}",
            f"{burst.memory_most / MEGABYTE:.1f}",
            significant(burst.rate),
        )
        for number, burst in enumerate(course.bursts, 1)
    ]
    title = f"{course.kind}, memory of {course.contender} over {course.step * len(course.bursts):,} updates"
    slope = f"{course.slope:,.0f} bytes an update, from the second row on."
    return f"{title}\n\n{table(('updates', 'MB', 'most', 'updates/s'), rows)}\n\n{slope}"


def _rounds(report: Report) -> str:
    head = (
        "",
        "updates/s",
        "rounds",
        "rounds/s",
        "came too late",
        *WAITING_AND_MEMORY,
    )
    rows = [
        (
            burst.kind,
            significant(burst.rate),
            str(burst.versions),
            significant(burst.versions / burst.seconds),
            str(burst.statuses.get("closed", 0)),
            *_waiting([burst]),
            *_memories([burst]),
        )
        for burst in report.rounds
    ]
    return (
        "Rounds that follow each other, with aggregation; who comes too late sends again to the next round\n\n"
        f"{table(head, rows)}"
    )
