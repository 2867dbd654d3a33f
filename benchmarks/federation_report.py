"""The results of the federation trials: a table, the numbers of every round, and a picture."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.federation_measures import rounds_to_reach
from benchmarks.markdown import table

Result = dict[str, Any]
_COLOURS = ("#b3261e", "#1f5fa8", "#2e7d32", "#6a1b9a", "#e07b00", "#00838f", "#5f6b76", "#000000")
_STYLES = ("-", "--", ":", "-.")
LEAST_RANGE = 6.0
"""Points that an axis shows at least, so that noise does not look like a fall."""


def write_report(results: Sequence[Result], to: Path) -> str:
    """Write the table, and beside it the numbers and the picture; return the table."""
    to.parent.mkdir(parents=True, exist_ok=True)
    text = f"{_head(results)}\n\n{_table(results)}\n"
    learning = _learning(results)
    if learning:
        text += f"\n{learning}\n"
    to.write_text(text, "utf-8")
    to.with_suffix(".json").write_text(json.dumps({"trials": list(results)}, indent=1) + "\n", "utf-8")
    _draw(results, to.with_suffix(".png"))
    return text


def _head(results: Sequence[Result]) -> str:
    pages = " or ".join(str(count) for count in sorted({one["pages_judged_by"] for one in results}))
    return (
        f"Accuracy in % on {pages} real pages that neither gate nor rule has seen. *Drop*: how far a published version "
        "was below the best one before it, in points, with the standard error of the paired difference. *Own kind*: "
        "held-out pages like those of the people. *Worst class*: the largest loss of a class since version 1, in "
        "points. The commit names the checkout whose server and clients ran."
    )


def _table(results: Sequence[Result]) -> str:
    head = [
        "trial",
        "commit, training",
        "before",
        "lowest",
        "end",
        "drop",
        "worst class",
        "own kind, before",
        "end",
        "published",
        "quarantined",
        "honest updates turned away",
        "attackers' weight",
        "reputation, honest",
        "attackers",
        "backdoor",
        "s",
    ]
    return table(head, [_row(one) for one in results])


def _row(one: Result) -> list[str]:
    rounds = one["rounds"]
    accuracies = [each["accuracy"] for each in rounds]
    first, ended = rounds[0], rounds[1:]
    worst = min(each["classes"][name] - share for each in rounds for name, share in first["classes"].items())
    turned_away = sum(count for each in ended for told, count in each["honest"].items() if told != "accepted")
    attacked = [each for each in ended if sum(each["attacking"].values())]
    last = ended[-1] if ended else first
    return [
        f"{one['finding']}: {one['title']}" + (f", seed {one['seed']}" if one["seed"] else ""),
        f"{one['commit']} {one['training']}",
        _percent(accuracies[0]),
        _percent(min(accuracies)),
        _percent(accuracies[-1]),
        f"{100 * one['largest_drop']:.2f} ± {100 * one['drop_error']:.2f}",
        f"{100 * worst:.1f}",
        _percent(first["own_right"]) if one["people"] else "",
        _percent(rounds[-1]["own_right"]) if one["people"] else "",
        str(sum(each["status"] == "published" for each in ended)),
        str(sum(each["status"] == "quarantined" for each in ended)),
        f"{turned_away} of {sum(sum(each['honest'].values()) for each in ended)}" if one["people"] else "",
        f"{sum(each['attackers_weight'] for each in attacked) / len(attacked):.2f}" if attacked else "",
        _number(last.get("mean_honest")),
        _number(last.get("mean_attacker")) if attacked else "",
        f"{_percent(first['backdoor'])} → {_percent(last['backdoor'])}" if one["attack"] == "backdoor" else "",
        f"{one['run_seconds']:.0f}",
    ]


def _learning(results: Sequence[Result]) -> str:
    """Return how fast people learn beside the trial that theirs is compared with: same people, pages and seeds."""
    rows = []
    for one in results:
        calm = next((other for other in results if _same_setting(one, other)), None)
        if calm is None:
            continue
        shared = min(len(one["rounds"]), len(calm["rounds"]))
        mine, theirs = (_gains(result["rounds"][:shared]) for result in (one, calm))
        rows.append(
            [
                f"{one['title']}" + (f", seed {one['seed']}" if one["seed"] else ""),
                f"{one['commit']} {one['training']}",
                *(f"{100 * gains['own_right'][-1]:.1f}" for gains in (theirs, mine)),
                *(f"{gains['own_loss'][-1]:.3f}" for gains in (theirs, mine)),
                _ratio(mine["own_right"][-1], theirs["own_right"][-1]),
                _ratio(mine["own_loss"][-1], theirs["own_loss"][-1]),
                *(_round(rounds_to_reach(gains["own_loss"], theirs["own_loss"][-1] / 2)) for gains in (theirs, mine)),
            ]
        )
    if not rows:
        return ""
    head = [
        "learning of the people's own kind of pages",
        "commit, training",
        "points gained, compared",
        "here",
        "log loss gained, compared",
        "here",
        "ratio of points",
        "ratio of log loss",
        "rounds to half of it, compared",
        "here",
    ]
    return table(head, rows)


def _same_setting(one: Result, other: Result) -> bool:
    same = all(one[name] == other[name] for name in ("seed", "training", "commit"))
    return same and one["compare"] is not None and other["title"] == one["compare"]


def _gains(rounds: Sequence[Result]) -> dict[str, list[float]]:
    """Return what was gained since version 1 after each round: pages right, and log loss."""
    first = rounds[0]
    return {
        "own_right": [each["own_right"] - first["own_right"] for each in rounds],
        "own_loss": [first["own_loss"] - each["own_loss"] for each in rounds],
    }


def _draw(results: Sequence[Result], path: Path) -> None:
    """Draw accuracy on all held-out pages and on the people's own kind by round, a row for each finding."""
    findings = list(dict.fromkeys(one["finding"] for one in results))
    panels = {"accuracy": "all held-out pages", "own_right": "pages of the people's own kind"}
    with mpl.rc_context({"font.size": 10}):
        figure = Figure(figsize=(16, 4.4 * len(findings)), layout="constrained")
        grid = figure.subplots(len(findings), len(panels), squeeze=False)
        for finding, row in zip(findings, grid, strict=True):
            for axes, (name, title) in zip(row, panels.items(), strict=True):
                _lines(axes, [one for one in results if one["finding"] == finding], name)
                axes.set_title(f"{finding}: {title}", loc="left")
            row[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
        figure.savefig(path, dpi=120)


def _lines(axes: Axes, results: Sequence[Result], name: str) -> None:
    for number, one in enumerate(results):
        axes.plot(
            [each["round"] for each in one["rounds"]],
            [100 * each[name] if one["people"] or name == "accuracy" else np.nan for each in one["rounds"]],
            color=_COLOURS[number % len(_COLOURS)],
            linestyle=_STYLES[number // len(_COLOURS) % len(_STYLES)],
            label=f"{one['title']} ({one['commit']} {one['training']})",
        )
    low, high = axes.get_ylim()
    middle, half = (low + high) / 2, max(high - low, LEAST_RANGE) / 2
    axes.set_ylim(middle - half, middle + half)
    axes.set_xlabel("round")
    axes.set_ylabel("right, %")
    axes.grid(color="#d9dde1", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _ratio(one: float, other: float) -> str:
    return f"{one / other:.2f}" if other > 0 else "-"


def _round(number: int | None) -> str:
    return "never" if number is None else str(number)
