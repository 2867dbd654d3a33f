"""The report as one page: no scripts, nothing fetched, readable aloud, in the dark and on paper."""

import math
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

from eitr.lab.experiments.interface import ClaimVerdict, Table
from eitr.lab.report.content import CLAIMED, FAILS, HOLDS, OPEN, STATUSES, WANTED, Section, claims_heading, status_of
from eitr.lab.report.markup import Markup, tag
from eitr.lab.results.metadata import LabMetadata, Timings

SYMBOLS = {HOLDS: "✓", FAILS: "✗", OPEN: "?"}
CLASSES = {HOLDS: "holds", FAILS: "fails", OPEN: "open"}
LONG = 14
"""A table with more rows is folded."""


def page(lab: LabMetadata, times: Timings, sections: Sequence[Section]) -> str:
    """Return the whole page."""
    title = f"EITR lab report: {lab.profile} profile, {lab.data}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        ),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8"))),
    )
    body = tag(
        "body",
        tag("a", "Skip to the results", class_="skip", href="#main"),
        tag("header", tag("h1", "EITR lab report"), tag("p", _overview(lab, sections))),
        _contents(sections),
        tag(
            "main",
            _summary(lab, times, sections),
            [_experiment(section) for section in sections],
            id="main",
            tabindex="-1",
        ),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _overview(lab: LabMetadata, sections: Sequence[Section]) -> str:
    counts = [f"{_total(sections, status)} {_verb(status, _total(sections, status))}" for status in STATUSES]
    unfinished = sum(not section.finished for section in sections)
    more = f" {unfinished} experiments are unfinished." if unfinished > 1 else ""
    more = " 1 experiment is unfinished." if unfinished == 1 else more
    claims = sum(len(section.verdicts) for section in sections)
    return (
        f"{_subject(sections)}, judged setting by setting: of {claims}, {counts[0]}, {counts[1]} and {counts[2]} "
        f"on this data.{more}"
    )


def _subject(sections: Sequence[Section]) -> str:
    """Return what is judged: claims of the paper, goals of ours, or both."""
    subjects = {CLAIMED: "Claims of the paper", WANTED: "Our goals"}
    return subjects.get(claims_heading(sections), "Claims of the paper and goals of ours")


def _verb(status: str, number: int) -> str:
    """Return a status that agrees with a number: 1 holds, 2 hold."""
    return status if number == 1 or status == OPEN else {HOLDS: "hold", FAILS: "do not hold"}[status]


def _total(sections: Sequence[Section], status: str) -> int:
    return sum(section.count(status) for section in sections)


def _contents(sections: Sequence[Section]) -> Markup:
    links = [("summary", "Summary"), *((part.experiment.id, part.experiment.title) for part in sections)]
    return tag("nav", tag("ul", [tag("li", tag("a", title, href=f"#{id}")) for id, title in links]),
               aria_label="Contents")  # fmt: skip


def _summary(lab: LabMetadata, times: Timings, sections: Sequence[Section]) -> Markup:
    rows = [
        [
            tag("a", section.experiment.title, href=f"#{section.experiment.id}"),
            *(section.count(status) for status in STATUSES),
            len(section.runs),
            section.missing,
            _duration(section.seconds),
        ]
        for section in sections
    ]
    heads = ("experiment", *(f"{SYMBOLS[status]} {status}" for status in STATUSES), "runs", "runs missing", "time")
    verdicts = [(section.experiment.id, verdict) for section in sections for verdict in section.verdicts]
    claims = [[tag("a", id, href=f"#{id}"), verdict.claim, _badge(verdict)] for id, verdict in verdicts]
    everything = _table("All claims", ("experiment", claims_heading(sections), "verdict"), claims, class_="verdicts")
    return tag(
        "section",
        tag("h2", "Summary", id="summary-title"),
        _table("Claims by experiment", heads, rows),
        tag("details", tag("summary", f"All {len(claims)} claims in one table"), everything) if claims else None,
        tag("h3", "How it was made"),
        _facts(lab, times, sections),
        id="summary",
        aria_labelledby="summary-title",
    )


def _facts(lab: LabMetadata, times: Timings, sections: Sequence[Section]) -> Markup:
    """Return data, hardware, seeds and time as a list."""
    facts = [
        ("Command", tag("code", lab.command) if lab.command else None),
        ("Data", lab.data),
        ("Profile", lab.profile),
        (
            "Seeds",
            f"{lab.seeds}, unless an experiment says otherwise; numbers are means over seeds, ± one standard deviation",
        ),
        ("Runs", f"{len({run for section in sections for run in section.runs})} distinct"),
        ("Device", lab.device),
        ("Hardware", _pairs(lab.hardware)),
        ("Versions", _pairs(lab.versions)),
        ("Started", lab.started),
        ("Time", _duration(times.total) if times.total is not None else None),
    ]
    return tag("dl", [(tag("dt", word), tag("dd", value)) for word, value in facts if value])


def _pairs(values: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _experiment(section: Section) -> Markup:
    chosen = section.experiment
    parts: list[Any] = [
        tag("h2", chosen.title, id=f"{chosen.id}-title"),
        tag("p", "Not in the paper. " if chosen.ours else f"In the paper: {chosen.paper}. ", chosen.note),
    ]
    if not section.finished:
        parts += [
            tag(
                "p",
                tag("strong", "Unfinished: "),
                f"{section.missing} of {len(section.runs)} runs are missing. Go on with",
            ),
            tag("pre", tag("code", section.command)),
        ]
    else:
        parts += [
            tag("figure", Markup(section.svg or ""), tag("figcaption", _caption(section))),
            _summed_up(section),
            _verdicts(section),
            _numbers(section),
            tag("p", "Made by ", tag("code", section.command)),
        ]
    return tag("section", parts, id=chosen.id, aria_labelledby=f"{chosen.id}-title")


def _caption(section: Section) -> str:
    chosen = section.experiment
    return f"{chosen.title}." if chosen.ours else f"{chosen.title} ({chosen.paper} of the paper)."


def _summed_up(section: Section) -> Markup | None:
    """Return the table of the few numbers, if there is one."""
    table = section.summary
    title = f"In short: {section.experiment.title}"
    return None if table is None else _table(title, table.columns, table.rows, class_="numbers")


def _verdicts(section: Section) -> Markup:
    rows = [[verdict.claim, verdict.measured, _badge(verdict)] for verdict in section.verdicts]
    heads = (claims_heading([section]), "we measured", "verdict")
    return _table(f"Verdicts: {section.experiment.title}", heads, rows, class_="verdicts")


def _badge(verdict: ClaimVerdict) -> Markup:
    status = status_of(verdict)
    return tag(
        "span", tag("span", f"{SYMBOLS[status]} ", aria_hidden="true"), status, class_=f"badge {CLASSES[status]}"
    )


def _numbers(section: Section) -> Markup:
    table = section.table or Table(())
    caption = f"Numbers: {section.experiment.title}"
    shown = _table(caption, table.columns, table.rows, class_="numbers")
    if len(table.rows) <= LONG:
        return shown
    return tag("details", tag("summary", f"The numbers behind the figure ({len(table.rows)} rows)"), shown)


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], class_: str | None = None) -> Markup:
    """Return a table that scrolls by itself when it is too wide."""
    cells = [list(row) for row in rows]
    kinds = ["number" if cells and all(map(_is_number, column)) else None for column in zip(*cells, strict=True)]
    kinds = kinds or [None] * len(heads)
    body = [
        tag("tr", [tag("td", _shown(cell), class_="number" if _is_number(cell) else None) for cell in row])
        for row in cells
    ]
    table = tag(
        "table",
        tag("caption", caption),
        tag(
            "thead",
            tag("tr", [tag("th", head, scope="col", class_=kind) for head, kind in zip(heads, kinds, strict=True)]),
        ),
        tag("tbody", body),
        class_=class_,
    )
    return tag("div", table, class_="scroll", role="region", aria_label=caption, tabindex="0")


def _is_number(cell: Any) -> bool:
    return cell is None or (hasattr(cell, "__float__") and not isinstance(cell, str))


def _shown(cell: Any) -> Any:
    """Return a cell as people read it: four digits, a dash for what is not there."""
    if not _is_number(cell):
        return cell if isinstance(cell, Markup) else _unbroken(str(cell))
    if cell is None or not math.isfinite(float(cell)):
        return "–"
    number = float(cell)
    if number.is_integer() and abs(number) < 1e9:
        return str(int(number))
    return f"{round(number, 4):.6g}" if 1e-4 <= abs(number) < 1e5 else f"{number:.2e}"


def _unbroken(words: str) -> str:
    """Keep a number and its unit on one line."""
    return words.replace(" %", "\u00a0%").replace(" ± ", "\u00a0±\u00a0")


def _duration(seconds: float | None) -> str:
    """Return a time in words: 45 s, 3 min 20 s, 2 h 5 min."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
