"""A report for machines (JSON) and for documents (Markdown)."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from eitr.lab.experiments.interface import STATUSES, Table
from eitr.lab.report.content import Section, claims_heading
from eitr.lab.results.metadata import LabMetadata, Timings

QUICK = "The quick profile has too few and too short rounds to judge a claim. It shows what was measured."


def json_document(lab: LabMetadata, times: Timings, sections: Sequence[Section]) -> str:
    """Return everything a report says, as JSON; a number that is not there is null."""
    content = {
        "lab": {**asdict(lab), "data_arguments": lab.public_data_arguments(), "seconds": times.total},
        "counts": {status: sum(section.count(status) for section in sections) for status in STATUSES},
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
            {"claim": one.claim, "measured": one.measured, "holds": one.holds, "verdict": one.status}
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
    """Return all verdicts as one Markdown table."""
    lines = [
        "# Verdicts",
        "",
        *([QUICK, ""] if lab.full_profile().quick else []),
        f"Profile {_cell(lab.profile)}, data {_cell(lab.data)}, {lab.seeds} seeds; means ± one standard deviation.",
        "",
        f"| experiment | {claims_heading(sections)} | we measured | verdict |",
        "|---|---|---|---|",
    ]
    for section in sections:
        id = section.experiment.id
        if not section.finished:
            lines.append(f"| {id} | | {section.missing} of {len(section.runs)} runs are missing | unfinished |")
        for verdict in section.verdicts:
            lines.append(f"| {id} | {_cell(verdict.claim)} | {_cell(verdict.measured)} | {verdict.status} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return a text that stays in its cell and is no markup."""
    for mark in "\\|<>*_`[]":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
