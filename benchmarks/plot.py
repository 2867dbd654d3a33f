"""Cost by number of clients, as a picture that also reads in black and white."""

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.timing import Timings

_OURS, _SLOW, _OTHERS = "#b3261e", "#000000", "#5f6b76"
_STYLES = (
    ("o", "-"),
    ("o", ":"),
    ("s", "--"),
    ("X", "-"),
    ("D", "-"),
    ("^", "--"),
    ("v", "-."),
    ("P", ":"),
    ("<", (0, (5, 1, 1, 1, 1, 1))),
    (">", (0, (1, 1))),
)
_LABEL_GAP = 0.045
"""Smallest distance of two labels, as a share of the height."""


def draw(timings: Sequence[Timings], folder: Path) -> list[Path]:
    """Write bench.png and bench.svg; return their paths."""
    with mpl.rc_context({"font.size": 11, "svg.fonttype": "none", "svg.hashsalt": "eitr"}):
        figure = Figure(figsize=(10, 7), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12))
        axes = figure.add_subplot()
        _lines(axes, timings)
        _scales(axes, [each.clients for each in timings])
        _labels(axes, timings)
        paths = [folder / "bench.png", folder / "bench.svg"]
        for path in paths:
            figure.savefig(path, dpi=150)
    return paths


def _names(timings: Sequence[Timings]) -> list[str]:
    return [row.contender for row in timings[0].rows]


def _colour(name: str) -> str:
    if name.startswith("EITR"):
        return _OURS
    return _SLOW if name.startswith(("straightforward", "torch")) else _OTHERS


def _lines(axes: Axes, timings: Sequence[Timings]) -> None:
    clients = [each.clients for each in timings]
    for place, name in enumerate(_names(timings)):
        marker, line = _STYLES[place % len(_STYLES)]
        axes.loglog(
            clients,
            [each.of(name).median for each in timings],
            color=_colour(name),
            marker=marker,
            linestyle=line,
            linewidth=2.4 if place == 0 else 1.5,
            markersize=7,
            markerfacecolor="white" if place % 2 else _colour(name),
        )


def _scales(axes: Axes, clients: Sequence[int]) -> None:
    axes.set_title("What a rule costs: time by number of clients (lower is better)", loc="left")
    axes.set_xlabel("clients")
    axes.set_ylabel("seconds per million parameters (median)")
    axes.xaxis.set_major_locator(FixedLocator(list(clients)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(which="major", color="#d9dde1", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def _labels(axes: Axes, timings: Sequence[Timings]) -> None:
    """Write each line's name beside its end, moved apart where the ends are close, with a thin line to the end."""
    ends = {row.contender: row.median for row in timings[-1].rows}
    bottom, top = (math.log(limit) for limit in axes.get_ylim())
    wanted = {name: (math.log(end) - bottom) / (top - bottom) for name, end in ends.items()}
    for name, height in _apart(wanted, _LABEL_GAP).items():
        axes.annotate(
            name,
            xy=(timings[-1].clients, ends[name]),
            xytext=(1.07, height),
            textcoords="axes fraction",
            va="center",
            color=_colour(name),
            fontweight="bold" if name == _names(timings)[0] else "normal",
            # From the middle of the label's left side, not from its nearest corner.
            arrowprops={
                "arrowstyle": "-",
                "color": _colour(name),
                "linewidth": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 2,
                "shrinkB": 6,
            },
        )


def _apart(wanted: dict[str, float], gap: float) -> dict[str, float]:
    """Move heights apart by at least `gap`, each as little as its neighbours allow.

    Overlapping labels form a block that is centred on the mean of where its members want to be.
    """
    blocks: list[tuple[list[str], float]] = []
    for name in sorted(wanted, key=wanted.__getitem__):
        blocks.append(([name], wanted[name]))
        while len(blocks) > 1 and _overlap(blocks[-2], blocks[-1], gap):
            upper, lower = blocks.pop(), blocks.pop()
            names = lower[0] + upper[0]
            blocks.append((names, sum(wanted[one] for one in names) / len(names)))
    return {
        name: centre + (place - (len(names) - 1) / 2) * gap
        for names, centre in blocks
        for place, name in enumerate(names)
    }


def _overlap(lower: tuple[list[str], float], upper: tuple[list[str], float], gap: float) -> bool:
    return upper[1] - lower[1] < gap * (len(lower[0]) + len(upper[0])) / 2
