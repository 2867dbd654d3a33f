"""What the extension costs, as a page of docs/."""

import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.extension_worker import PAGES, summary
from benchmarks.machine import machine_line
from benchmarks.markdown import significant, table

SCRIPT_MEDIAN_MS, SCRIPT_LONGEST_MS = 7.0, 50.0
CLASSIFYING_MS = 1.0
BUNDLE_BYTES = 75_000
MEMORY_MB = 32.0
TRAINING_TASK_MS = 50.0

INTRODUCTION = """# What the extension costs

Written by `make bench-extension` (`benchmarks/extension.py`), which measures the package as it is built, in Chromium.
"""
EXPLANATION = """
- **Content script**: all tasks of `content.js` on a page, from its evaluation to 2.5 s after its first report, from
  Chromium's trace. Layout that the browser does during a task is included. A page's number is the median of its visits,
  each in a new tab and mostly a new process, so compilation is included. *Longest task*: how long a page is blocked.
- **Classification**: the core of the package, run in the extension's own worker on the texts that the content script
  reported; median of 15 runs per page. *Tokens to probabilities* is TF-IDF and network; *text to probabilities* also
  splits the text into tokens. Badge and storage are not included; finding the words that led to the prediction
  ("explaining") is given separately.
- **Package**: every script, gzipped one by one; the model, the vocabulary, the table of trackers and the list of
  suffixes are data.
- **Memory**: the extension's process, compared with an extension that has the same manifest and pages but empty
  scripts, both after ten real pages; proportional set size, mean of two browsers each, started alternately.
- **Training**: tasks of the worker's thread in a round with {pages} own and 200 cover pages, from the trace, with the
  download of the model and the upload of the update.
- *Processor time* is the time a thread ran on a core. *Wall* time includes waiting for a core.
"""


def write_report(found: dict[str, Any], path: Path) -> list[str]:
    """Write the page; return the names of the limits that were exceeded."""
    rows = _rows(found)
    missed = [name for name, value, aim, _ in rows if value > aim]
    lines = [
        [name, significant(value), significant(aim), "yes" if value <= aim else "**no**", beside]
        for name, value, aim, beside in rows
    ]
    parts = [
        INTRODUCTION,
        f"{machine_line(found['machine'])}; Chromium {found['chromium']}.",
        "",
        table(["what", "measured", "at most", "within", "details"], lines),
        "",
        _verdict(missed, found["machine"]),
        EXPLANATION.format(pages=PAGES).rstrip(),
        "",
        "## The slowest pages for the content script",
        "",
        _slowest(found["visits"]),
        "",
        "## The scripts",
        "",
        table(["file", "bytes, gzipped"], [[name, f"{size:,}"] for name, size in found["bundle"].items()]),
        "",
    ]
    path.write_text("\n".join(parts), "utf-8")
    return missed


def _verdict(missed: list[str], machine: dict[str, Any]) -> str:
    """Say what exceeds its limit, and how far wall times can be trusted."""
    short = f"Above the limit: {'; '.join(missed)}." if missed else "All are within their limits, in processor time."
    load, cores = machine["load_average"] or 0.0, machine["cores"]
    if load <= cores:
        return short
    return f"{short} The load was {load:g} on {cores} cores, so wall times include waiting for others."


def _rows(found: dict[str, Any]) -> list[tuple[str, float, float, str]]:
    """Name, number, aim, and what to know about it."""
    visits, classified, trained = found["visits"], found["classification"]["rows"], found["training"]
    real = _by_page([one for one in visits if not one["page"].startswith("made-")])
    made = _by_page([one for one in visits if one["page"].startswith("made-")])
    known, known_most = summary(classified, "classifying")
    whole, whole_most = summary(classified, "reading", "classifying")
    why, why_most = summary(classified, "explaining")
    ours, empty = found["memory"]["ours"], found["memory"]["empty"]
    added = [
        statistics.mean(one[place] for one in ours) - statistics.mean(one[place] for one in empty) for place in (0, 1)
    ]
    return [
        (
            "content script, median real page, ms",
            statistics.median(one["total"] for one in real),
            SCRIPT_MEDIAN_MS,
            f"wall {statistics.median(one['total_wall'] for one in real):.1f}; "
            f"largest page {max(one['total'] for one in real):.1f}",
        ),
        (
            "content script, median generated page, ms",
            statistics.median(one["total"] for one in made),
            SCRIPT_MEDIAN_MS,
            f"wall {statistics.median(one['total_wall'] for one in made):.1f}",
        ),
        (
            "content script, longest task, ms",
            max(one["longest"] for one in visits),
            SCRIPT_LONGEST_MS,
            f"wall {max(one['longest_wall'] for one in visits):.1f}; of {len(visits)} visits",
        ),
        ("tokens to probabilities, median page, ms", known, CLASSIFYING_MS, f"largest {known_most:.2f}"),
        (
            "text to probabilities, median page, ms",
            whole,
            CLASSIFYING_MS,
            f"largest {whole_most:.2f}; explaining {why:.2f}, largest {why_most:.2f}; "
            f"the very first {found['classification']['cold']:.1f}",
        ),
        (
            "all scripts gzipped, bytes",
            float(sum(found["bundle"].values())),
            float(BUNDLE_BYTES),
            f"{len(found['bundle'])} files",
        ),
        (
            "memory added, extension's process, MB",
            added[0],
            MEMORY_MB,
            f"{statistics.mean(one[0] for one in ours):.1f} against {statistics.mean(one[0] for one in empty):.1f}; "
            f"after the popup was open {added[1]:+.1f}",
        ),
        (
            "training, longest task of the worker, ms",
            max(one["longest_cpu"] for one in trained),
            TRAINING_TASK_MS,
            f"wall {max(one['longest'] for one in trained):.1f}; "
            f"{trained[0]['tasks']} tasks in {trained[0]['seconds']:.1f} s",
        ),
    ]


def _by_page(visits: list[dict[str, Any]]) -> list[dict[str, float]]:
    """The medians of each page's visits."""
    pages = defaultdict(list)
    for one in visits:
        pages[one["page"]].append(one)
    names = ("total", "total_wall", "longest", "longest_wall")
    return [{name: statistics.median(one[name] for one in several) for name in names} for several in pages.values()]


def _slowest(visits: list[dict[str, Any]], count: int = 8) -> str:
    largest = sorted(visits, key=lambda one: -one["longest"])[:count]
    rows = [
        [
            one["page"],
            f"{one['longest']:.1f}",
            f"{one['longest_wall']:.1f}",
            f"{one['total']:.1f}",
            str(one["pieces"]),
            f"{one['characters']:,}",
        ]
        for one in largest
    ]
    return table(["page", "longest ms", "wall", "all tasks ms", "tasks", "characters"], rows)
