"""A report for machines (JSON) and for documents (Markdown)."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from eitr.lab.experiments.interface import Table
from eitr.lab.report.content import (
    ABOUT_READINGS,
    OTHER,
    Section,
    claims_heading,
    count_verdicts,
    local_work,
    makes_claims,
    readings_of,
    shown_statuses,
)
from eitr.lab.results.metadata import LabMetadata, Timings

QUICK = "The quick profile has too few and too short rounds to judge a claim. It shows what was measured."
NO_CLAIMS = "Nothing here makes a claim that could be judged. The numbers are in `report.html` and `report.json`."


def json_document(lab: LabMetadata, times: Timings, sections: Sequence[Section]) -> str:
    """Return everything a report says, as JSON; a number that is not there is null."""
    content = {
        "lab": {
            **asdict(lab),
            "data_arguments": lab.public_data_arguments(),
            "seconds": times.total,
            "local_work": local_work(lab),
        },
        "counts": count_verdicts(sections),
        "counts_by_reading": {reading or OTHER: numbers for reading, numbers in readings_of(sections).items()},
        "distinct_runs": len({run for section in sections for run in section.runs}),
        "experiments": [_experiment(section) for section in sections],
    }
    return json.dumps(_plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _experiment(section: Section) -> dict[str, Any]:
    chosen = section.experiment
    return {
        "id": chosen.id,
        "title": chosen.title,
        "paper": None if chosen.ours else chosen.paper,
        "note": chosen.note,
        "command": section.command,
        "finished": section.finished,
        "runs": len(section.runs),
        "missing_runs": section.missing,
        "seconds": section.seconds,
        "figure": f"figures/{chosen.id}.svg" if section.svg is not None else None,
        "table": _table(section.table),
        **({} if section.summary is None else {"summary": _table(section.summary)}),
        "verdicts": [
            {
                "claim": one.claim,
                "reading": one.reading or None,
                "measured": one.measured,
                "holds": one.holds,
                "verdict": one.status,
            }
            for one in section.verdicts
        ],
    }


def _table(table: Table | None) -> dict[str, Any] | None:
    return None if table is None else {"columns": list(table.columns), "rows": [list(row) for row in table.rows]}


def _plain(value: Any) -> Any:
    """Return JSON values only: numbers of numpy become Python's, NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def markdown_verdicts(lab: LabMetadata, sections: Sequence[Section]) -> str:
    """Return all verdicts as Markdown: where there are readings, side by side first, then what was measured."""
    readings = readings_of(sections)
    lines = [
        "# Verdicts",
        "",
        *([QUICK, ""] if lab.full_profile().quick else []),
        f"Profile {_cell(lab.profile)}, data {_cell(lab.data)}, start {_cell(lab.start)}, {lab.seeds} seeds; "
        "means ± one standard deviation.",
        f"Local work: {local_work(lab)}.",
        "",
    ]
    if readings:
        lines += [ABOUT_READINGS, "", *_side_by_side(sections, readings), "", "## What was measured", ""]
    if not makes_claims(sections):
        return "\n".join([*lines, NO_CLAIMS]) + "\n"
    extra = ["reading"] if readings else []
    lines += _head("experiment", claims_heading(sections), *extra, "we measured", "verdict")
    for section in sections:
        if not section.finished:
            missing = f"{section.missing} of {len(section.runs)} runs are missing"
            lines.append(_row(_named(section), "", *("" for _ in extra), missing, "unfinished"))
        for one in section.verdicts:
            whose = [one.reading or "–"] if readings else []
            lines.append(_row(_named(section), one.claim, *whose, one.measured, one.status))
    return "\n".join(lines) + "\n"


def _side_by_side(sections: Sequence[Section], readings: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return a table with one row per claim and one column per reading, the numbers of verdicts last."""
    lines = _head("experiment", claims_heading(sections), *(reading or OTHER for reading in readings))
    for section in sections:
        for same_claim in section.claims:
            judged = {verdict.reading: verdict.status for verdict in same_claim}
            cells = [judged.get(reading, "") for reading in readings]
            lines.append(_row(_named(section), same_claim[0].claim, *cells))
    for status in shown_statuses(sections):
        numbers = [str(counts[status]) for counts in readings.values()]
        lines.append(_row("", f"all together: {status}", *numbers))
    return lines


def _named(section: Section) -> str:
    """Return an experiment with the figure of the paper that it repeats."""
    chosen = section.experiment
    return chosen.id if chosen.ours else f"{chosen.id}, {chosen.paper.partition(' (')[0]}"


def _head(*names: str) -> list[str]:
    return [_row(*names), f"|{'---|' * len(names)}"]


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Return a text that stays in its cell and is no markup."""
    for mark in "\\|<>*_`[]":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
