"""The yardstick's numbers for people: Markdown tables, and curves as SVG."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eitr.initial.sources import Kind
from eitr.initial.yardstick import (
    CONFIDENCES,
    LEAST_RECALL,
    LEAST_RECALL_OF_A_TOPIC,
    LENGTHS,
    MOST_FALSE_ALARMS,
    MOST_FALSE_ALARMS_IN_OTHER_LANGUAGES,
)
from eitr.taxonomy import NAMES, NON_SENSITIVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOPICS = tuple(name for label, name in enumerate(NAMES) if label != NON_SENSITIVE)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00", "#6b6b6b")
"""Those of Okabe and Ito, which colour-blind readers tell apart."""
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
WITHOUT = "without "
"""Begins the name of a recipe that lacks an ingredient."""
STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "eitr",
}

Measured = Mapping[str, Mapping[str, Any]]
"""Name of a model -> what `measure` returned for it."""


def markdown(measured: Measured, notes: Sequence[str] = ()) -> str:
    """Return the tables, one column for each model; recipes that lack an ingredient have one row each."""
    every, measured = measured, {name: of for name, of in measured.items() if not name.startswith(WITHOUT)}
    sections = [
        ["# How the model does on sources that it was not trained on", "", *notes, ""],
        _summary(measured),
        _ingredients(every) if len(every) > len(measured) else [],
        _one_kind("By length, English", measured, "by_length", [name for name, *_ in LENGTHS]),
        _one_kind("By language", measured, "by_language", _keys(measured, "by_language")),
        _unlabelled(measured),
        _calibration(measured),
        *(_by_source(name, measured[name]["by_source"]) for name in measured),
    ]
    return "\n".join(line for section in sections for line in section)


def svg(measured: Measured) -> str:
    """Return the curves: recall over false alarms, by kind of text, and the reliability of the confidences."""
    measured = {name: of for name, of in measured.items() if not name.startswith(WITHOUT)}
    import matplotlib
    from matplotlib.figure import Figure

    settings: Any = {**matplotlib.rcParamsDefault, "backend": "svg"}
    with matplotlib.rc_context(settings | STYLE):
        figure = Figure(figsize=(10.4, 3.6))
        figure.set_layout_engine("constrained", h_pad=0.1, w_pad=0.08)
        ordinary, difficult, reliability = figure.subplots(1, 3)
        _draw_curves(ordinary, measured, Kind.ORDINARY)
        _draw_curves(difficult, measured, Kind.DIFFICULT)
        _draw_reliability(reliability, measured)
        handles, labels = reliability.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        return _as_svg(figure)


def _summary(measured: Measured) -> list[str]:
    rows = [
        [
            "recall, mean of the topics",
            *(_share(of["english"]["mean_recall"]) for of in measured.values()),
            f"at least {_share(LEAST_RECALL)}",
        ],
        *(
            [
                f"recall, {topic}",
                *(_share(of["english"]["recall"][topic]) for of in measured.values()),
                f"at least {_share(LEAST_RECALL_OF_A_TOPIC)}",
            ]
            for topic in TOPICS
        ),
        *(
            [
                f"false alarms, {kind}",
                *(_share(of["english"]["false_alarms"][kind]) for of in measured.values()),
                f"at most {_share(MOST_FALSE_ALARMS[kind])}",
            ]
            for kind in Kind
        ),
        [
            "recall, other languages",
            *(_share(of["other_languages"]["mean_recall"]) for of in measured.values()),
            "",
        ],
        [
            "false alarms, other languages",
            *(_share(of["other_languages"]["false_alarms"]["all"]) for of in measured.values()),
            f"at most {_share(MOST_FALSE_ALARMS_IN_OTHER_LANGUAGES)}",
        ],
        *(
            [
                f"sensitive, but called not sensitive, {name}",
                *(_share(of[key]["called_harmless"]) for of in measured.values()),
                goal,
            ]
            for name, key, goal in (("English", "english", ""), ("other languages", "other_languages", "never"))
        ),
    ]
    lowest = ", ".join(f"{name} {of['lowest_threshold'] or 'none'}" for name, of in measured.items())
    thresholds = ", ".join(f"{name} {of['threshold']:g}" for name, of in measured.items())
    return [
        "## Summary, in per cent",
        "",
        "English where no language is named. Each number is a mean over sources. Recall: the right topic is shown.",
        f"False alarm: a page that is not sensitive gets a topic. Threshold: {thresholds}.",
        f"The lowest threshold at which both goals for English false alarms hold: {lowest}.",
        "",
        *_table(["", *measured, "goal"], rows),
        "",
    ]


def _ingredients(measured: Measured) -> list[str]:
    """Return a table with one row for each model: what is lost without an ingredient."""
    rows = [
        [
            name,
            _share((of["at_lowest_threshold"] or {}).get("mean_recall")),
            _share(of["english"]["mean_recall"]),
            *(_share(of["english"]["false_alarms"][kind]) for kind in Kind),
            _share(of["other_languages"]["mean_recall"]),
            _share(of["other_languages"]["false_alarms"]["all"]),
            _share(of["calibration"]["right_above"][str(CONFIDENCES[-1])]["right_of_pages"]),
        ]
        for name, of in measured.items()
        if "at_lowest_threshold" in of
    ]
    header = [
        "",
        "recall at the goals",
        "recall",
        *(f"false alarms, {kind}" for kind in Kind),
        "recall, other languages",
        "false alarms, other languages",
        f"right above {CONFIDENCES[-1]}",
    ]
    return [
        "## What each ingredient brings, in per cent",
        "",
        "The same recipe without one of its ingredients. Recall at the goals: at the lowest threshold at which both",
        "goals for English false alarms hold, so that models with more and fewer false alarms can be compared. Another",
        "seed alone changes it by 1 to 2 points. Hard negatives and boilerplate hardly occur in these sources, whose",
        "text was extracted before; single pages show what they bring (tests/golden/boilerplate.json, structure.json).",
        "",
        *_table(header, rows),
        "",
    ]


def _one_kind(title: str, measured: Measured, key: str, entries: Sequence[str]) -> list[str]:
    """Return a table of recall and false alarms, one row for each entry."""
    rows = []
    for entry in entries:
        found = [of[key].get(entry) for of in measured.values()]
        rows.append(
            [
                entry,
                *(
                    "" if of is None else f"{_share(of['mean_recall'])} / {_share(of['false_alarms']['all'])}"
                    for of in found
                ),
            ]
        )
    return [f"## {title}: recall / false alarms", "", *_table(["", *measured], rows), ""]


def _unlabelled(measured: Measured) -> list[str]:
    rows = [
        [language, *(_share(of["unlabelled_letters"].get(language)) for of in measured.values())]
        for language in _keys(measured, "unlabelled_letters")
    ]
    return [
        "## Random home pages that get a letter, in per cent",
        "",
        "Without labels; about 3 % of such pages are sensitive.",
        "",
        *_table(["", *measured], rows),
        "",
    ]


def _calibration(measured: Measured) -> list[str]:
    rows = [
        [
            f"above {least}",
            *(
                f"{_share(found['all'])} / {_share(found['shown'])} / {_share(found['right_of_pages'])}"
                for of in measured.values()
                for found in [of["calibration"]["right_above"][str(least)]]
            ),
        ]
        for least in CONFIDENCES
    ]
    return [
        "## How often a confident class is right, in per cent",
        "",
        "All classes, mean over sources / sensitive topics alone, mean over sources / all classes, all pages together.",
        "",
        *_table(["confidence", *measured], rows),
        "",
    ]


def _by_source(name: str, sources: Mapping[str, Mapping[str, Any]]) -> list[str]:
    rows = [
        [
            source,
            of["kind"],
            str(of["pages"]),
            _share(of["false_alarms"]),
            *(_share(of["recall"].get(topic)) for topic in TOPICS),
        ]
        for source, of in sources.items()
    ]
    header = ["source", "kind", "pages", "false alarms", *(f"recall {topic}" for topic in TOPICS)]
    return [f"## By source, English: {name}", "", *_table(header, rows), ""]


def _draw_curves(axes: "Axes", measured: Measured, kind: Kind) -> None:
    """Draw recall over false alarms, with a mark at the threshold in use and a box for the goal."""
    for place, of in enumerate(measured.values()):
        style = {"color": COLOURS[place % len(COLOURS)], "linestyle": DASHES[place % len(DASHES)]}
        for points, marker in ((of["curve"], ""), ([of["english"]], "o")):
            known = [(point["false_alarms"][kind], point["mean_recall"]) for point in points]
            known = [point for point in known if None not in point]
            axes.plot([x for x, _ in known], [y for _, y in known], marker=marker, **style)
    axes.axvline(MOST_FALSE_ALARMS[kind], color="#444444", linewidth=0.8)
    axes.axhline(LEAST_RECALL, color="#444444", linewidth=0.8)
    axes.set(xlim=(0, 4 * MOST_FALSE_ALARMS[kind]), ylim=(0.4, 1), title=kind, xlabel="false alarms", ylabel="recall")


def _draw_reliability(axes: "Axes", measured: Measured) -> None:
    for place, (name, of) in enumerate(measured.items()):
        points = of["calibration"]["reliability"]
        axes.plot(
            [point["confidence"] for point in points],
            [point["right"] for point in points],
            label=name,
            color=COLOURS[place % len(COLOURS)],
            linestyle=DASHES[place % len(DASHES)],
            marker="o",
            markersize=3,
        )
    axes.plot([0, 1], [0, 1], color="#444444", linewidth=0.8)
    axes.set(xlim=(0.2, 1), ylim=(0.2, 1), title="reliability", xlabel="confidence", ylabel="share right")


def _as_svg(figure: "Figure") -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return buffer.getvalue().decode()


def _keys(measured: Measured, part: str) -> list[str]:
    return sorted({key for of in measured.values() for key in of[part]})


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)]


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"
