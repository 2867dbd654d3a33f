"""A run as Markdown, for people, and as JSON, for programs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.acceptance import Verdict
from benchmarks.machine import machine_line
from benchmarks.markdown import significant, table
from benchmarks.memory import Memory
from benchmarks.timing import Timings


@dataclass(frozen=True)
class Report:
    """All that a run found."""

    machine: dict[str, Any]
    repeats: int
    quick: bool
    """Whether the sizes were tiny, for a test of the benchmark itself."""
    timings: Sequence[Timings]
    memory: Sequence[Memory]
    verdicts: Sequence[Verdict]
    left_out: Sequence[str]
    """What could not be measured here, and how to get it."""


def as_markdown(report: Report) -> str:
    """Return the tables, the verdicts and what was left out."""
    warning = ["A quick run on tiny sizes: the numbers mean nothing."] if report.quick else []
    parts = [*warning, _machine(report), *(_timings(timings) for timings in report.timings)]
    if report.memory:
        parts.append(_memory(report.memory))
    parts.append("Acceptance\n\n" + "\n".join(f"- {verdict}" for verdict in report.verdicts))
    if report.left_out:
        parts.append("Left out\n\n" + "\n".join(f"- {reason}" for reason in report.left_out))
    return "\n\n".join(parts) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "machine": report.machine,
        "repeats": report.repeats,
        "quick": report.quick,
        "timings": [row for timings in report.timings for row in _timing_rows(timings)],
        "memory": [{**asdict(row), "times_input": row.share} for row in report.memory],
        "acceptance": [asdict(verdict) for verdict in report.verdicts],
        "left_out": list(report.left_out),
    }


def _machine(report: Report) -> str:
    return f"{machine_line(report.machine)}. float32, {report.repeats} repeats."


def _timings(timings: Timings) -> str:
    head = ("", "parameters", "s/million, median", "fastest", "time / torch.median", "straightforward / time")
    rows = [
        (
            row.contender,
            f"{row.parameters:,}",
            significant(row.median),
            significant(min(row.seconds)),
            significant(row.times(timings.torch_median)),
            significant(timings.straightforward.times(row)),
        )
        for row in timings.rows
    ]
    return f"{timings.clients} clients, seconds per million parameters\n\n{table(head, rows)}"


def _memory(memory: Sequence[Memory]) -> str:
    first = memory[0]
    title = f"Peak memory above the input, {first.clients} clients, {first.parameters:,} parameters"
    rows = [(row.contender, f"{row.peak_bytes / 1e6:,.0f}", f"{row.share:.2f}") for row in memory]
    note = "The straightforward version with slope tensors of 32 MB (256 MB where its time is measured)."
    return f"{title}\n\n{table(('', 'MB', 'times the input'), rows)}\n\n{note}"


def _timing_rows(timings: Timings) -> list[dict[str, Any]]:
    return [
        {
            "contender": row.contender,
            "clients": row.clients,
            "parameters": row.parameters,
            "seconds_per_million": row.seconds,
            "median": row.median,
            "fastest": min(row.seconds),
            "times_torch_median": row.times(timings.torch_median),
            "faster_than_straightforward": timings.straightforward.times(row),
        }
        for row in timings.rows
    ]
