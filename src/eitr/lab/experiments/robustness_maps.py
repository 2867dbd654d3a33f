"""Heat maps of cells: a number in each, a word where there is none."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from eitr.lab.experiments.robustness_grid import Contender, Setting, Threat
from eitr.lab.plotting import colour_bar, heat_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Column = TypeVar("Column", Threat, Setting)

ROW = 0.27
"""Inches a row of a heat map is high."""
COLOURS = "cividis_r"
"""Light is harmless, dark is harmful, also without colours."""
FULL_LOSS, FULL_ASR = 10.0, 30.0
"""Points from which on all cells have the darkest colour; their number is still shown."""


def draw_points(
    figure: "Figure | SubFigure",
    axes: "Axes",
    value: Callable[[Contender, Column], float | None],
    rows: Sequence[Contender],
    columns: Sequence[Column],
    *,
    title: str,
    high: float,
) -> None:
    """Draw shares as points, one decimal each. None is a rule that is not defined, infinity one that diverged."""
    values = [[value(row, column) for column in columns] for row in rows]
    table = np.array([[math.nan if one is None else 100 * one for one in line] for line in values], np.float64)
    table = np.where(np.abs(table) < 0.05, 0.0, table)  # -0.04 is 0.0, not -0.0
    names = {"rows": [row.label for row in rows], "columns": [column.label for column in columns]}
    mesh = heat_map(axes, table, **names, low=0.0, high=high, text=".1f", colours=COLOURS)
    for row, line in enumerate(values):
        for column, one in enumerate(line):
            if one is None or not math.isfinite(one):
                word = "n/a" if one is None else "div."
                axes.text(column, row, word, ha="center", va="center", fontsize=8, color="#6b6b6b")
    axes.set_title(title)
    axes.tick_params(axis="x", labelrotation=45)
    for tick in axes.get_xticklabels():
        tick.set(ha="right", rotation_mode="anchor")
    colour_bar(figure, mesh, axes, "points")  # type: ignore[arg-type]
