"""The yardstick's numbers for people: Markdown tables, and curves as SVG.

The model card takes its numbers from the same results (`eitr.initial.card`).
"""

import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eitr.initial.fit import Ingredient
from eitr.initial.sources import Kind
from eitr.initial.yardstick import (
    CONFIDENCES,
    ENGLISH,
    FEWEST,
    LEAST_RECALL,
    LEAST_RECALL_OF_A_TOPIC,
    LEAST_RIGHT,
    LENGTHS,
    MOST_FALSE_ALARMS,
    MOST_FALSE_ALARMS_IN_OTHER_LANGUAGES,
    THRESHOLDS,
)
from eitr.model.answer import THRESHOLD, THRESHOLD_NOT_ENGLISH, least_threshold
from eitr.taxonomy import NAMES, NON_SENSITIVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RECIPE = "this recipe"
OLD = "model of version 0.1"
OLD_READ_AS_TODAY = "model of version 0.1, read as today"
COLUMNS = {
    OLD: (
        "the model that came with version 0.1 of EITR, with the reading and the two answers of that time: menus and "
        "notices count as text, and a page without a topic is called not sensitive. It was trained on the training "
        "split of news_rows and on none of the other sources."
    ),
    OLD_READ_AS_TODAY: (
        "the same model, but menus, notices and legal text are left out of the pages, and there are three answers, as "
        "today."
    ),
    RECIPE: (
        "the way in which today's model is made. Each source is judged by a model that was trained without it and "
        "without the sources that share an origin with it."
    ),
}
"""What the columns of these names hold."""
LACKING = {
    Ingredient.DATA: "no real pages, only headlines and our own material",
    Ingredient.HARD_NEGATIVES: "no sketches of pages that only look sensitive",
    Ingredient.BOILERPLATE: "menus, notices and legal text left in the pages",
    Ingredient.LANGUAGES: "no words, sketches and pages of other languages",
    Ingredient.CALIBRATION: "no calibration",
}
"""What a recipe without an ingredient is called."""
MANY_WORDS = 10
"""From so many known words on, a page needs no higher threshold."""
TOPICS = tuple(name for label, name in enumerate(NAMES) if label != NON_SENSITIVE)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00", "#6b6b6b")
"""Those of Okabe and Ito, which colour-blind readers tell apart."""
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
WITHOUT = "without "
"""Begins the name of the results of a recipe that lacks an ingredient."""
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


def markdown(measured: Measured) -> str:
    """Return the tables, one column for each model; recipes that lack an ingredient have one row each."""
    every, measured = measured, _models(measured)
    sections = [
        _introduction(measured),
        _summary(measured),
        _thresholds(measured),
        _curves(),
        _ingredients(every) if len(every) > len(measured) else [],
        _one_kind("By length, English", measured, "by_length", [name for name, *_ in LENGTHS]),
        _one_kind("By language", measured, "by_language", _keys(measured, "by_language")),
        _unlabelled(measured),
        _calibration(measured),
        *(
            _by_source(heading, of["by_source"])
            for heading, of in zip(headings(measured), measured.values(), strict=True)
        ),
    ]
    return "\n".join(line for section in sections for line in section)


def svg(measured: Measured) -> str:
    """Return the curves: recall over false alarms, by kind of text, and the reliability of the confidences."""
    measured = _models(measured)
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


def summary_rows(measured: Measured) -> list[list[str]]:
    """Return the rows of the summary: what is measured, a number for each model, and the goal."""
    models = measured.values()
    highest = str(CONFIDENCES[-1])
    return [
        [
            "recall, mean of the topics",
            *(_share(of["english"]["mean_recall"]) for of in models),
            f"at least {_share(LEAST_RECALL)}",
        ],
        *(
            [
                f"recall, {topic}",
                *(_share(of["english"]["recall"][topic]) for of in models),
                f"at least {_share(LEAST_RECALL_OF_A_TOPIC)}",
            ]
            for topic in TOPICS
        ),
        *(
            [
                f"false alarms, {kind}",
                *(_share(of["english"]["false_alarms"][kind], 2) for of in models),
                f"at most {_share(MOST_FALSE_ALARMS[kind])}",
            ]
            for kind in Kind
        ),
        ["recall, other languages", *(_share(of["other_languages"]["mean_recall"]) for of in models), ""],
        [
            "false alarms, other languages",
            *(_share(of["other_languages"]["false_alarms"]["all"]) for of in models),
            f"at most {_share(MOST_FALSE_ALARMS_IN_OTHER_LANGUAGES)}",
        ],
        *(
            [
                f"sensitive, but called not sensitive, {name}",
                *(_share(of[key]["called_harmless"]) for of in models),
                goal,
            ]
            for name, key, goal in (("English", "english", ""), ("other languages", "other_languages", "never"))
        ),
        *(
            [
                f"right, of classes given with more than {highest}, {name}",
                *(_share(of["calibration"]["right_above"][highest][key]) for of in models),
                f"at least {_share(LEAST_RIGHT)}",
            ]
            for name, key in (("mean over sources", "all"), ("all pages together", "right_of_pages"))
        ),
    ]


def headings(measured: Measured) -> list[str]:
    """Return the headings of the columns, each with its threshold."""
    return [f"{name}, threshold {of['threshold']:g}" for name, of in measured.items()]


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)]


def on_few_words() -> str:
    """Return how probable a topic must be on English pages with few known words.

    >>> on_few_words().startswith("80 % (1 word)")
    True
    """
    needed = ((count, least_threshold(ENGLISH, count)) for count in range(1, MANY_WORDS))
    return ", ".join(
        f"{100 * least:.0f} % ({count} word{'s' if count > 1 else ''})" for count, least in needed if least > THRESHOLD
    )


def wrapped(text: str, indent: str = "") -> list[str]:
    """Return the lines of a paragraph; all but the first begin with the indent."""
    return textwrap.wrap(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _models(measured: Measured) -> Measured:
    """Return the results that have a column of their own."""
    return {name: of for name, of in measured.items() if not name.startswith(WITHOUT)}


def _introduction(measured: Measured) -> list[str]:
    counted = {
        "Recall": "the share of sensitive pages for which the right topic is shown.",
        "False alarms": "the share of pages that are not sensitive for which a topic is shown.",
        "Threshold": (
            "how probable a topic must be to be shown. The models do not all have the same one, so each column names "
            f"its own. With three answers, at least {100 * THRESHOLD_NOT_ENGLISH:.0f} % are needed in the five other "
            f"languages, and on a page of which the model knows few words {on_few_words()}; the model of version 0.1 "
            "had one threshold for all pages."
        ),
        "Means": (
            "unless said otherwise, a number is the mean over all sources with at least "
            f"{FEWEST} pages to measure it by; in the numbers for other languages and by language, one page is enough. "
            "A large source counts as much as a small one. So the numbers in different *rows* are means over different "
            "sources: some sources have no page about ethnicity, others no short page. The numbers in one row are "
            "means over the same sources, with two exceptions: by length, because a page is longer with its menus than "
            "without, and the share of confident classes that are right, because each model is confident on other "
            "pages."
        ),
    }
    return [
        "# How the model does on sources that it was not trained on",
        "",
        *wrapped(
            "Written by `python -m eitr.initial --render --beside docs/classifier/evaluation.json` from the results of "
            "`--evaluate`, which are in [evaluation.json](evaluation.json): edit "
            "`src/eitr/initial/yardstick_report.py` instead. Here the text of pages is judged. "
            "[browser.md](browser.md) is about what the extension shows on real pages, "
            "[known-mistakes.md](known-mistakes.md) about single pages, before and after."
        ),
        "",
        "The columns:",
        "",
        *_listed({name: COLUMNS.get(name, "a finished model, judged as it is.") for name in measured}),
        "",
        "What is counted:",
        "",
        *_listed(counted),
        "",
    ]


def _summary(measured: Measured) -> list[str]:
    return [
        "## Summary, in per cent",
        "",
        "English where no language is named.",
        "",
        *table(["", *headings(measured), "goal"], summary_rows(measured)),
        "",
    ]


def _thresholds(measured: Measured) -> list[str]:
    """Return at which thresholds the goals for false alarms hold, and what the default one costs and brings."""
    rows = [
        [
            name,
            f"{of['threshold']:g}",
            *_at_threshold(of["english"]),
            f"{of['lowest_threshold']:g}" if of["lowest_threshold"] else "none",
            *_at_threshold(of.get("at_lowest_threshold") or {}),
        ]
        for name, of in measured.items()
    ]
    goals = " and ".join(f"{_share(most)} % on {kind}" for kind, most in MOST_FALSE_ALARMS.items())
    return [
        "## The threshold and the goals",
        "",
        *wrapped(
            f"The goals for false alarms in English are at most {goals}. The table has, for the threshold in use and "
            "for the lowest one at which both goals hold: recall / false alarms on ordinary web pages / on difficult "
            "text, in per cent."
        ),
        "",
        *table(["", "threshold in use", "with it", "lowest for both goals", "with that"], rows),
        "",
        *_about_default(measured),
    ]


def _about_default(measured: Measured) -> list[str]:
    """Return what speaks for the threshold in use, if the recipe was measured and it misses a goal."""
    of = measured.get(RECIPE, {})
    if not (lowest := of.get("lowest_threshold")) or not of.get("at_lowest_threshold"):
        return []
    if of["threshold"] >= lowest:
        return [f"With the default threshold, {of['threshold']:g}, {RECIPE} meets both goals.", ""]
    now, then = of["english"], of["at_lowest_threshold"]
    changes = [f"recall from {_share(now['mean_recall'])} to {_share(then['mean_recall'])} %"]
    changes += [
        f"false alarms on {kind} from {_share(before, 2)} to {_share(then['false_alarms'][kind], 2)} %"
        for kind in Kind
        for before in [now["false_alarms"][kind]]
    ]
    return [
        *wrapped(
            f"The default threshold, {of['threshold']:g}, is lower than {lowest:g}, from which on {RECIPE} meets both "
            f"goals. To raise it that far would change {', '.join(changes)}. Users of the extension can choose another "
            "threshold."
        ),
        "",
    ]


def _at_threshold(found: Mapping[str, Any]) -> list[str]:
    if not found:
        return [""]
    return [
        " / ".join(_share(share) for share in (found["mean_recall"], *(found["false_alarms"][kind] for kind in Kind)))
    ]


def _curves() -> list[str]:
    return [
        "![Recall over false alarms on ordinary web pages and on difficult text, and reliability](evaluation.svg)",
        "",
        *wrapped(
            "Left and middle: recall over false alarms in English, while the threshold moves from "
            f"{THRESHOLDS[0]:g} (at the right) to {THRESHOLDS[-1]:g} (at the left). The dot is the threshold in use. "
            "The thin lines are the goals: both hold above the horizontal line and left of the vertical one. Right: "
            "how often a class is right (all pages together), over the confidence with which it is given. On the "
            "diagonal confidences are true; below it they are too high."
        ),
        "",
    ]


def _ingredients(measured: Measured) -> list[str]:
    """Return a table with one row for each model: what is lost without an ingredient."""
    names = {RECIPE: f"{RECIPE}, with all ingredients"}
    names |= {WITHOUT + ingredient: lacking for ingredient, lacking in LACKING.items()}
    rows = [
        [
            called,
            _share((of.get("at_lowest_threshold") or {}).get("mean_recall")),
            _share(of["english"]["mean_recall"]),
            *(_share(of["english"]["false_alarms"][kind]) for kind in Kind),
            _share(of["other_languages"]["mean_recall"]),
            _share(of["other_languages"]["false_alarms"]["all"]),
            _share(of["calibration"]["right_above"][str(CONFIDENCES[-1])]["right_of_pages"]),
        ]
        for name, called in names.items()
        if (of := measured.get(name))
    ]
    header = [
        "",
        "recall at the goals",
        "recall",
        *(f"false alarms, {kind}" for kind in Kind),
        "recall, other languages",
        "false alarms, other languages",
        f"right above {CONFIDENCES[-1]}, all pages together",
    ]
    thresholds = sorted({f"{measured[name]['threshold']:g}" for name in names if name in measured})
    return [
        "## What each ingredient brings, in per cent",
        "",
        *wrapped(
            "The same recipe, each time without one of its ingredients: what is worse than in the first row is what "
            f"the ingredient brings. Threshold {', '.join(thresholds)}. Recall at the goals: at the lowest threshold "
            "at which both goals for English false alarms hold, so that models with more and fewer false alarms can be "
            "compared. Another seed alone changes it by 1 to 2 points. Pages that only look sensitive, menus and "
            "notices hardly occur in these sources, whose text was extracted before; "
            "[known-mistakes.md](known-mistakes.md) shows pages on which they matter."
        ),
        "",
        *table(header, rows),
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
    return [f"## {title}: recall / false alarms, in per cent", "", *table(["", *headings(measured)], rows), ""]


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
        *table(["", *headings(measured)], rows),
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
            f"at least {_share(LEAST_RIGHT)}" if least == CONFIDENCES[-1] else "",
        ]
        for least in CONFIDENCES
    ]
    return [
        "## How often a confident class is right, English, in per cent",
        "",
        *wrapped(
            "All classes, mean over sources / sensitive topics alone, mean over sources / all classes, all pages "
            "together. The most probable class counts, whether it is shown or not."
        ),
        "",
        *table(["confidence", *measured, "goal"], rows),
        "",
    ]


def _by_source(heading: str, sources: Mapping[str, Mapping[str, Any]]) -> list[str]:
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
    return [f"## By source, English, in per cent: {heading}", "", *table(header, rows), ""]


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


def _listed(entries: Mapping[str, str]) -> list[str]:
    return [line for name, text in entries.items() for line in wrapped(f"- **{name}**: {text}", "  ")]


def _share(share: float | None, digits: int = 1) -> str:
    return "" if share is None else f"{100 * share:.{digits}f}"
