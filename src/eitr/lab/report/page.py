"""The report as one HTML page: no scripts, nothing fetched, made for screen readers, dark mode and paper."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from eitr.lab.experiments.interface import FAILS, HOLDS, MEASURED, OPEN, Table
from eitr.lab.report.content import (
    ABOUT_READINGS,
    CLAIMED,
    OTHER,
    WANTED,
    Section,
    claims_heading,
    count_verdicts,
    local_work,
    readings_of,
    shown_statuses,
)
from eitr.lab.results.metadata import LabMetadata, Timings
from eitr.lab.runs.start import RANDOM


class Badge(NamedTuple):
    """How the status of a claim is shown."""

    css: str
    symbol: str


BADGES = {
    HOLDS: Badge("holds", "✓"),
    FAILS: Badge("fails", "✗"),
    OPEN: Badge("open", "?"),
    MEASURED: Badge("open", "–"),
}
SUBJECTS = {CLAIMED: "Claims of the paper", WANTED: "Our goals"}
LONG = 14
"""A table with more rows is folded."""


def page(lab: LabMetadata, timings: Timings, sections: Sequence[Section]) -> str:
    """Return the whole page."""
    templates = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    templates.filters |= {"cell": cell, "duration": duration}
    counts = count_verdicts(sections)
    templates.tests |= {"number_or_none": is_number, "number_column": is_number_column}
    return templates.get_template("report.html").render(
        lab=lab,
        sections=sections,
        badges=BADGES,
        counts=counts,
        shown=shown_statuses(sections),
        unfinished=sum(not section.finished for section in sections),
        subject=SUBJECTS.get(claims_heading(sections), "Claims of the paper and goals of ours"),
        claims_heading=claims_heading,
        readings=readings_of(sections),
        readings_of=readings_of,
        about_readings=ABOUT_READINGS,
        other=OTHER,
        facts=_facts(lab, timings, sections),
        long=LONG,
    )


def _facts(lab: LabMetadata, timings: Timings, sections: Sequence[Section]) -> dict[str, str]:
    """Return data, hardware, seeds and time by name."""
    return {
        "Data": lab.data,
        "Start": "a random model for each seed" if lab.start == RANDOM else lab.start,
        "Profile": lab.profile,
        "Seeds": f"{lab.seeds}, unless an experiment says otherwise; numbers are means over seeds, ± one standard "
        "deviation",
        "Local work": local_work(lab),
        "Runs": f"{len({run for section in sections for run in section.runs})} distinct",
        "Device": lab.device,
        "Hardware": _pairs(lab.hardware),
        "Versions": _pairs(lab.versions),
        "Started": lab.started,
        "Time": duration(timings.total) if timings.total is not None else "",
    }


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def is_number(value: Any) -> bool:
    """Return whether a value of a table is a number, or None in the place of one."""
    return value is None or (hasattr(value, "__float__") and not isinstance(value, str))


def is_number_column(table: Table, column: int) -> bool:
    """Return whether all values of a column are numbers."""
    return bool(table.rows) and all(is_number(row[column]) for row in table.rows)


def cell(value: Any) -> str:
    """Return a value as people read it: four digits, a dash for what is missing, a number and its unit on one line.

    >>> cell(0.123456), cell(float("nan")), cell(3.0)
    ('0.1235', '–', '3')
    """
    if not is_number(value):
        return str(value).replace(" %", "\u00a0%").replace(" ± ", "\u00a0±\u00a0")
    if value is None or not math.isfinite(float(value)):
        return "–"
    number = float(value)
    if number.is_integer() and abs(number) < 1e9:
        return str(int(number))
    return f"{round(number, 4):.6g}" if 1e-4 <= abs(number) < 1e5 else f"{number:.2e}"


def duration(seconds: float | None) -> str:
    """Return a time in words: 45 s, 3 min 20 s, 2 h 5 min."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
