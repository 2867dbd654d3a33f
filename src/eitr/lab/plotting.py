"""The style of all figures: one line style per rule, the mean over seeds with its spread, and SVG as output.

Colours are those of Okabe and Ito, with a grey and an indigo, which colour-blind readers tell apart; a line also has
its own dashes and its own marker, so that a figure reads in black and white. matplotlib is imported when something is
drawn, and pyplot never: a figure belongs to whoever asked for it.
"""

import functools
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

WIDTH = 10.4
"""Inches; shown about 1000 pixels wide, where the letters are about as large as those of the text around them."""

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE, GREY, INDIGO = (
    "#000000", "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#6b6b6b", "#4b0082",
)  # fmt: skip

SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "eitr",
}


@dataclass(frozen=True, slots=True)
class LineStyle:
    """How one line of a figure looks, whatever the figure."""

    label: str
    colour: str
    dashes: Any = "-"
    marker: str = "o"
    width: float = 1.6


RULE_STYLES: dict[str, LineStyle] = {
    "reputation": LineStyle("Reputation", VERMILION, "-", "o", 2.4),
    "published-code": LineStyle("Published code", ORANGE, (0, (6, 1.5)), "D", 2.4),
    "fused": LineStyle("Fused", INDIGO, (0, (10, 1.5)), "h", 2.4),
    "fedavg": LineStyle("FedAvg", BLACK, (0, (1, 1.2)), "s"),
    "residual": LineStyle("Residual", BLUE, (0, (4, 1.5)), "^"),
    "median": LineStyle("Median", GREEN, (0, (5, 1.5, 1, 1.5)), "v"),
    "trimmed-mean": LineStyle("Trimmed mean", PURPLE, (0, (3, 1.2, 1, 1.2, 1, 1.2)), "P"),
    "foolsgold": LineStyle("FoolsGold", SKY, (0, (2, 1)), "X"),
    "fltrust": LineStyle("FLTrust", GREY, (0, (8, 2)), "*"),
}
"""One fixed style for each rule, in the order of every legend."""

FLOOR = LineStyle("Floor: clean model", BLACK, (0, (1, 3)), "", 1.2)
"""The share of attacked pages that a model without attackers gives the target label."""

_SERIES = (
    (BLUE, "-", "o"),
    (VERMILION, (0, (4, 1.5)), "s"),
    (GREEN, (0, (1, 1.2)), "^"),
    (PURPLE, (0, (5, 1.5, 1, 1.5)), "D"),
    (BLACK, (0, (8, 2)), "v"),
    (SKY, (0, (3, 1.2, 1, 1.2, 1, 1.2)), "P"),
    (ORANGE, (0, (2, 1)), "X"),
    (GREY, "-", "*"),
)


def series_style(number: int, label: str) -> LineStyle:
    """Return a style for lines without a fixed one; after eight, colours come again with other dashes and markers."""
    colour = _SERIES[number % len(_SERIES)][0]
    _, dashes, marker = _SERIES[(number + number // len(_SERIES)) % len(_SERIES)]
    return LineStyle(label, colour, dashes, marker)


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Make a function draw in the style of the lab, whatever the reader's own matplotlib settings are."""

    @functools.wraps(draw)
    def drawing(*arguments: P.args, **named: P.kwargs) -> R:
        import matplotlib

        settings: Any = {**matplotlib.rcParamsDefault, "backend": "svg"}
        with matplotlib.rc_context(settings | SETTINGS):
            return draw(*arguments, **named)

    return drawing


def panels(
    rows: int, columns: int, *, height: float = 2.7, share_y: 'bool | Literal["row", "col"]' = False
) -> "tuple[Figure, NDArray[np.object_]]":
    """Return a figure of small multiples, each `height` inches high, and its axes (rows, columns)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, rows * height + 0.5))
    spaced(figure)
    axes = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
    return figure, np.asarray(axes, dtype=object)


def spaced(figure: "Figure") -> None:
    """Lay the panels of a figure out so that nothing overlaps, with room between them."""
    figure.set_layout_engine("constrained", h_pad=0.1, w_pad=0.08)


def draw_spread(
    axes: "Axes", x: ArrayLike, values: ArrayLike, style: LineStyle, *, marks: int = 8, band: bool = True
) -> None:
    """Draw the mean of `values` (seeds, points) over `x` (points,); `band`: with one standard deviation around it.

    The band ends at the smallest and the largest value, so that it shows no accuracy above 1 and no loss below 0.
    Seeds that are NaN at a point are left out there; a line has about `marks` markers, however many points.
    """
    table = np.atleast_2d(np.asarray(values, np.float64))
    mean, deviation = mean_and_deviation(table)
    places = np.asarray(x)
    axes.plot(
        places,
        mean,
        color=style.colour,
        linestyle=style.dashes,
        linewidth=style.width,
        marker=style.marker or None,
        markevery=max(1, len(places) // marks),
        label=style.label,
    )
    if band and len(table) > 1:
        there = np.isfinite(table)
        low = np.maximum(mean - deviation, np.where(there, table, np.inf).min(axis=0))
        high = np.minimum(mean + deviation, np.where(there, table, -np.inf).max(axis=0))
        axes.fill_between(places, low, high, color=style.colour, alpha=0.13, linewidth=0)


def mean_and_deviation(values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and sample standard deviation over the first axis, leaving NaN out; 0 where one seed is left.

    >>> mean_and_deviation([[1.0, 2.0], [3.0, float("nan")]])
    (array([2., 2.]), array([1.41421356, 0.        ]))
    """
    table = np.asarray(values, np.float64)
    there = np.isfinite(table)
    count = there.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, table, 0.0).sum(axis=0) / count
        squares = (np.where(there, table - mean, 0.0) ** 2).sum(axis=0)
    return mean, np.sqrt(squares / np.maximum(count - 1, 1))


def heat_map(
    axes: "Axes",
    values: ArrayLike,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    low: float,
    high: float,
    text: str | None = None,
    colours: str = "cividis",
) -> "QuadMesh":
    """Draw a table (rows, columns) as colours; `text` is a format for the number in each cell."""
    import matplotlib

    table = np.asarray(values, np.float64)
    edges = (np.arange(size + 1) - 0.5 for size in table.shape[::-1])
    # Cells are drawn, not an image: they stay sharp, and their bytes do not depend on a compressor.
    mesh = axes.pcolormesh(*edges, table, cmap=colours, vmin=low, vmax=high, edgecolors="white", linewidth=0.4)
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    if text is not None:
        for (row, column), value in np.ndenumerate(table):
            if np.isfinite(value):
                place = (float(value) - low) / (high - low) if high > low else 0.5
                red, green, blue, _ = matplotlib.colormaps[colours](place)
                dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
                axes.text(
                    column,
                    row,
                    format(value, text),
                    ha="center",
                    va="center",
                    fontsize=9,
                    color="white" if dark else "black",
                )
    return mesh


def colour_bar(figure: "Figure", mesh: "QuadMesh", axes: Any, label: str) -> None:
    """Put the scale of a heat map beside it, drawn like its cells."""
    bar = figure.colorbar(mesh, ax=axes, label=label, shrink=0.6)
    if bar.solids is not None:
        bar.solids.set(rasterized=False, edgecolor="face", linewidth=1.0)


def legend_below(figure: "Figure", axes: Iterable[Any], columns: int = 4) -> None:
    """Put one legend for all panels below them, each label once."""
    found: dict[str, Any] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=min(columns, len(found)))


def as_percent(axes: "Axes", *, x: bool = False) -> None:
    """Label an axis of shares in percent, without decimals unless they are needed."""
    from matplotlib.ticker import FuncFormatter

    axis = axes.xaxis if x else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(100 * value, 2):g} %"))


def at_least_wide(axes: "Axes", span: float) -> None:
    """Widen a y axis to at least `span`, so that noise does not look like a trend."""
    low, high = axes.get_ylim()
    if high - low < span:
        middle = (low + high) / 2
        axes.set_ylim(middle - span / 2, middle + span / 2)


@styled
def figure_svg(figure: "Figure", *, title: str = "", description: str = "", prefix: str = "figure") -> str:
    """Return a figure as SVG: always the same text for the same figure, with words for those who cannot see it.

    Every id in it starts with `prefix`, so that several figures can stand in one page.
    """
    from lxml import etree

    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = etree.fromstring(buffer.getvalue(), etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    space = "{http://www.w3.org/2000/svg}"
    for metadata in root.findall(f"{space}metadata"):
        root.remove(metadata)
    for element in root.iter(etree.Element):
        _prefix_ids(element, prefix)
        if element.tag == f"{space}style":  # it says `*`, which in a page would be every element
            element.text = (element.text or "").replace("*{", f"#{prefix} *{{")
    names = [("title", title), ("desc", description)]
    for place, (name, words) in enumerate(pair for pair in names if pair[1]):
        child = etree.Element(f"{space}{name}", id=f"{prefix}-{name}")
        child.text = words
        root.insert(place, child)
    root.set("id", prefix)
    root.set("role", "img")
    if title or description:
        root.set("aria-labelledby", " ".join(f"{prefix}-{name}" for name, words in names if words))
    etree.cleanup_namespaces(root)
    return etree.tostring(root, encoding="unicode") + "\n"


def _prefix_ids(element: Any, prefix: str) -> None:
    """Give the ids of an element, and those it refers to, a prefix."""
    for name, value in element.attrib.items():
        if name == "id":
            element.set(name, f"{prefix}-{value}")
        elif name.endswith("href"):
            element.set(name, value.replace("#", f"#{prefix}-", 1))
        elif "url(#" in value:
            element.set(name, value.replace("url(#", f"url(#{prefix}-"))
