"""The report of a study as files: one HTML page that needs nothing else, CSV files, and JSON for machines."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from eitr import __version__
from eitr.io.atomic import write_together
from eitr.server.dashboard.charts import Chart, Series, bars, lines
from eitr.server.dashboard.spreadsheet import cell
from eitr.server.domain.study.analysis import FEW, FEWEST, Analysis, VersionDetail
from eitr.taxonomy import TOPICS

HERE = Path(__file__).parent
TITLES = {topic.name: topic.title for topic in TOPICS}
PAPER = {"centralised": 0.5313, "federated": 0.8036, "auc": 0.79, "kappa": 0.56}
"""What the paper reports of its study with 50 people."""


def write_report(found: Analysis, folder: Path) -> list[Path]:
    """Write all files into a folder, and return their names; nothing is written if a step fails."""
    files = {"report.html": html(found), "report.json": json.dumps(found.document(), indent=1) + "\n", **tables(found)}
    folder.mkdir(parents=True, exist_ok=True)
    write_together({folder / name: text.encode() for name, text in files.items()})
    return [folder / name for name in files]


def html(found: Analysis) -> str:
    """Return the page."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"number": number, "percent": percent}
    return templates.get_template("study_report.html").render(
        found=found,
        charts={"versions": _versions(found), "roc": _roc(found.details), "reputations": _reputations(found)},
        titles=TITLES,
        paper=PAPER,
        first=found.versions[0] if found.versions else None,
        newest=found.versions[-1] if found.versions else None,
        fewest=FEWEST,
        version=__version__,
    )


def tables(found: Analysis) -> dict[str, str]:
    """Return the CSV files by name."""
    versions = [
        {"version": one.version, "accuracy": one.accuracy, "balanced accuracy": one.balanced, "AUC": one.auc}
        for one in found.versions
    ]
    confusion = [
        {"version": one.version, "class of the page": name, **dict(zip(found.classes, row, strict=True))}
        for one in found.details
        for name, row in zip(found.classes, one.confusion, strict=True)
    ]
    points = [{"version": one.version, "false alarms": x, "hits": y} for one in found.details for x, y in one.roc]
    return {
        "people.csv": _csv(found.people),
        "pages.csv": _csv(found.pages),
        "experts.csv": _csv(found.expert_pairs),
        "reputations.csv": _csv(found.reputations),
        "versions.csv": _csv(versions),
        "confusion.csv": _csv(confusion),
        "roc.csv": _csv(points),
        "exclusions.csv": _csv(found.exclusions),
    }


def number(value: float | None, digits: int = 2) -> str:
    """Write a number; a dash where there is none.

    >>> number(0.4567), number(None)
    ('0.46', '–')
    """
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """Write a share.

    >>> percent(0.8036)
    '80.4 %'
    """
    return "–" if value is None else f"{100 * value:.1f} %"


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(rows[0])
    writer.writerows([cell(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _versions(found: Analysis) -> Chart | None:
    if not found.versions:
        return None
    first = found.versions[0]
    span = [found.versions[0].version, found.versions[-1].version]
    series = [
        Series("accuracy", [(one.version, one.accuracy) for one in found.versions], "overall"),
        Series("balanced accuracy", [(one.version, one.balanced) for one in found.versions], "low2", "square"),
        Series("centralised classifier", [(version, first.accuracy) for version in span], "low3", ""),
    ]
    if found.majority is not None:
        series.append(Series("always the most frequent class", [(one, found.majority) for one in span], "limit", ""))
    told = f"From {first.accuracy:.1%} to {found.versions[-1].accuracy:.1%} of the pages of known class."
    return lines("versions", "Accuracy over versions of the model", told, "Version", series)


def _roc(details: Sequence[VersionDetail]) -> Chart | None:
    drawn = [one for one in details if one.roc]
    if not drawn:
        return None
    styles = (("low3", ""), ("overall", ""))
    series = [
        Series(f"version {one.version}", [(round(100 * x), y) for x, y in one.roc], style, shape)
        for one, (style, shape) in zip(drawn, styles, strict=False)
    ]
    series.append(Series("chance", [(0, 0.0), (100, 1.0)], "limit", ""))
    told = "Hits over false alarms when sensitive pages are told from others, the first version and the newest."
    return lines("roc", "ROC curve: sensitive or not", told, "False alarms, %", series)


def _reputations(found: Analysis) -> Chart | None:
    least = [_least(one["participants"]) for one in found.reputations]
    if not any(least):
        return None
    rows = [
        (f"{one['from']:.1f}–{one['to']:.1f}", count / max(least), str(one["participants"]))
        for one, count in zip(found.reputations, least, strict=True)
    ]
    told = "About how many participants of the study ended with which reputation."
    return bars("reputations", "Reputations of participants", told, ("Reputation", "Participants"), rows)


def _least(count: int | str) -> int:
    """Return the smallest number that a range of counts stands for.

    >>> _least(0), _least("fewer than 3"), _least("6 to 8")
    (0, 1, 6)
    """
    return 1 if count == FEW else int(str(count).partition(" ")[0])
