"""Lines, tiles and bars as SVG, drawn by the server.

Why not a charting library: pages need no script this way, the strict content security policy stays, screen readers get
a title, a description and the numbers as a table, and any library would be larger than all pages together. Colours are
classes of the style sheet, so that dark mode works; whatever has a colour has a shape or a text, too.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 640, 300
STACK_HEIGHT = 220
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 14, 46
MOST_TICKS = 10
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "plus")
MARKED_POINTS = 60
"""Of a longer line only the end is marked: marks would hide it."""
ROW, LABEL = 24, 122
"""The height of a row, and the room for its label: eight characters in the size that phones get."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: numbers by round or version."""

    name: str
    points: Sequence[tuple[int, float]]
    style: str
    """A class of the style sheet."""
    shape: str = "circle"
    """How its points are marked; empty: not at all."""
    label: str = ""
    """What stands at the end of the line, inside the drawing."""


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend."""

    name: str
    swatch: Markup


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing, and the same numbers as a table."""

    id: str
    title: str
    description: str
    svg: Markup
    legend: Sequence[Key]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def lines(
    id: str, title: str, description: str, across: str, series: Sequence[Series], *, low: float = 0.0, note: str = ""
) -> Chart:
    """Return a chart of one line per series; `low` is where the y-axis begins, it ends at 1."""
    places = sorted({x for one in series for x, _ in one.points})
    first, last = (places[0], places[-1]) if places else (0, 1)

    def across_of(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ((x - first) / (last - first) if last > first else 0.5)

    def up_of(y: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (min(max(y, low), 1.0) - low) / (1 - low))

    parts = [_grid(low, up_of), _ticks(across, places, across_of)]
    for one in series:
        path = [(across_of(x), up_of(y)) for x, y in one.points]
        parts.append(_line(one, path))
        if one.label and path:
            parts.append(_text(one.label, path[-1][0], path[-1][1] - 6, "end" if last > first else "middle", "label"))
    legend = [Key(one.name, _swatch(one)) for one in series if one.style != "other"]
    if any(one.style == "other" for one in series):
        legend.append(Key("all others shown", _swatch(Series("", (), "other", ""))))
    known = [dict(one.points) for one in series]
    rows = [[str(x), *(f"{points[x]:.3f}" if x in points else "–" for points in known)] for x in places]
    svg = _svg(id, title, description, WIDTH, HEIGHT, parts)
    return Chart(id, title, description, svg, legend, (across, *(one.name for one in series)), rows, note)


def tiles(
    id: str,
    title: str,
    description: str,
    across: str,
    columns: Sequence[int],
    rows: Sequence[tuple[str, dict[int, float]]],
    *,
    note: str = "",
) -> Chart:
    """Return a table of tiles: one row per participant, one column per round, in the order given; values are weights,
    1 an equal share."""
    wide = min(48.0, (WIDTH - LABEL - 8) / max(1, len(columns)))
    height = ROW * len(rows) + 44
    parts = []
    for place, (name, values) in enumerate(rows):
        top = 4 + ROW * place
        parts.append(_text(name, LABEL - 8, top + ROW / 2 + 4, "end", "label mono"))
        for column, x in enumerate(columns):
            if x in values:
                told = f"{name}, {across.lower()} {x}: {values[x]:.2f} of an equal share"
                parts.append(_tile(LABEL + wide * column, top, wide - 2, ROW - 2, _level(values[x]), told))
    every = -(-len(columns) // MOST_TICKS) or 1
    parts += [
        _text(str(x), LABEL + wide * (column + 0.5) - 1, ROW * len(rows) + 18, "middle", "label")
        for column, x in enumerate(columns)
        if column % every == 0
    ]
    parts.append(_text(across, LABEL + wide * len(columns) / 2, height - 8, "middle", "label"))
    legend = [
        Key(name, _swatch_tile(level))
        for level, name in enumerate(
            ("nothing", "less than half of an equal share", "less than an equal share", "an equal share or more")
        )
    ]
    table = [[name, *(f"{values[x]:.2f}" if x in values else "–" for x in columns)] for name, values in rows]
    svg = _svg(id, title, description, WIDTH, height, parts)
    names = ("Participant", *(f"{across} {x}" for x in columns))
    return Chart(id, title, description, svg, legend, names, table, note)


def stacks(
    id: str,
    title: str,
    description: str,
    across: str,
    parts: Sequence[tuple[str, str]],
    columns: Sequence[tuple[int, Sequence[int], str]],
    table: tuple[Sequence[str], Sequence[Sequence[str]]],
) -> Chart:
    """Return columns of stacked numbers, in the order given: `parts` are names and styles, from the bottom up; of each
    column its place, its numbers, and what is said about it. `table`: the headings and rows beside the drawing."""
    most = max((sum(values) for _, values, _ in columns), default=0) or 1
    wide = min(40.0, (WIDTH - LEFT - RIGHT) / max(1, len(columns)))
    high = STACK_HEIGHT - TOP - BOTTOM

    def up_of(value: float) -> float:
        return TOP + high * (1 - value / most)

    drawn = [_rule(up_of(value), str(value)) for value in sorted({0, most // 2, most})]
    for place, (_, values, told) in enumerate(columns):
        below, found = 0, []
        for value, (_, style) in zip(values, parts, strict=True):
            if value:
                top = up_of(below + value)
                found.append(_rect(LEFT + wide * place + 1, top, max(1.0, wide - 2), up_of(below) - top, style))
                below += value
        drawn.append(Markup("<g><title>{}</title>{}</g>").format(told, _joined(found)))
    every = -(-len(columns) // MOST_TICKS) or 1
    drawn += [
        _text(str(x), LEFT + wide * (place + 0.5), STACK_HEIGHT - BOTTOM + 20, "middle", "label")
        for place, (x, _, _) in enumerate(columns)
        if place % every == 0
    ]
    drawn.append(_text(across, LEFT + wide * len(columns) / 2, STACK_HEIGHT - 4, "middle", "label"))
    used = [any(values[place] for _, values, _ in columns) for place in range(len(parts))]
    legend = [Key(name, _swatch_rect(style)) for (name, style), there in zip(parts, used, strict=True) if there]
    svg = _svg(id, title, description, WIDTH, STACK_HEIGHT, drawn)
    return Chart(id, title, description, svg, legend, *table)


def bars(
    id: str,
    title: str,
    description: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, float, str]],
    *,
    note: str = "",
) -> Chart:
    """Return bars that lie, of shares from 0 to 1: name, share, and the text at the bar's end."""
    longest = max((share for _, share, _ in rows), default=0.0) or 1.0
    room = WIDTH - LABEL - 190
    height = ROW * len(rows) + 8
    parts: list[Markup] = []
    for place, (name, share, told) in enumerate(rows):
        top = 4 + ROW * place
        wide = max(1.0, room * share / longest)
        parts.append(_text(name, LABEL - 8, top + ROW / 2 + 4, "end", "label mono"))
        parts.append(_rect(LABEL, top + 2, wide, ROW - 8, "bar"))
        parts.append(_text(told, LABEL + wide + 8, top + ROW / 2 + 4, "start", "label"))
    svg = _svg(id, title, description, WIDTH, height, parts)
    return Chart(id, title, description, svg, (), columns, [(name, told) for name, _, told in rows], note)


def opinion(belief: float, disbelief: float, uncertainty: float) -> Markup:
    """Return a bar of three parts for a cell of a table; the numbers are beside it."""
    wide, parts, left = 120, [], 0.0
    for value, style in ((belief, "belief"), (uncertainty, "uncertainty"), (disbelief, "disbelief")):
        size = wide * min(max(value, 0.0), 1.0)
        parts.append(_rect(left, 0, size, 12, style))
        left += size
    return Markup('<svg class="opinion" viewBox="0 0 {} 12" aria-hidden="true" focusable="false">{}</svg>').format(
        wide, _joined(parts)
    )


def _level(value: float) -> int:
    """Return how dark a tile is.

    >>> [_level(value) for value in (0.0, 0.2, 0.9, 1.0, 3.0)]
    [0, 1, 2, 3, 3]
    """
    if value < 0.005:
        return 0
    return 1 if value < 0.5 else 2 if value < 0.995 else 3


def _grid(low: float, up_of: Callable[[float], float]) -> Markup:
    step = 0.05 if low >= 0.7 else 0.1 if low >= 0.4 else 0.2
    found = []
    for y in (1 - step * part for part in range(int((1 - low) / step + 1e-9) + 1)):
        found.append(_rule(up_of(y), f"{y:.2f}".rstrip("0").rstrip(".")))
    return _joined(found)


def _rule(up: float, label: str) -> Markup:
    """Return a line across the chart and what it stands for."""
    line = Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(LEFT, WIDTH - RIGHT, _n(up), _n(up))
    return _joined((line, _text(label, LEFT - 8, up + 4, "end", "label")))


def _ticks(across: str, places: Sequence[int], across_of: Callable[[float], float]) -> Markup:
    every = -(-len(places) // MOST_TICKS) or 1
    found = [_text(str(x), across_of(x), HEIGHT - BOTTOM + 20, "middle", "label") for x in places[::every]]
    found.append(_text(across, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", "label"))
    return _joined(found)


def _line(series: Series, path: Sequence[tuple[float, float]]) -> Markup:
    points = " ".join(f"{_n(x)},{_n(y)}" for x, y in path)
    marked = path if len(path) <= MARKED_POINTS else path[-1:]
    marks = _joined(_mark(series.shape, x, y) for x, y in marked) if series.shape else Markup("")
    alone = _mark("circle", *path[0]) if not series.shape and len(path) == 1 else Markup("")
    return Markup('<g class="series {}"><title>{}</title><polyline points="{}"/>{}{}</g>').format(
        series.style, series.name, points, marks, alone
    )


def _mark(shape: str, x: float, y: float, size: float = 4.0) -> Markup:
    s = size
    if shape == "circle":
        return Markup('<circle class="mark" cx="{}" cy="{}" r="{}"/>').format(_n(x), _n(y), _n(s))
    outlines: dict[str, Sequence[tuple[float, float]]] = {
        "square": ((-s, -s), (s, -s), (s, s), (-s, s)),
        "triangle": ((0, -s - 1), (s + 1, s), (-s - 1, s)),
        "diamond": ((0, -s - 1.5), (s + 1.5, 0), (0, s + 1.5), (-s - 1.5, 0)),
    }
    if shape in outlines:
        points = " ".join(f"{_n(x + dx)},{_n(y + dy)}" for dx, dy in outlines[shape])
        return Markup('<polygon class="mark" points="{}"/>').format(points)
    strokes = (
        f"M{_n(x - s)} {_n(y - s)}L{_n(x + s)} {_n(y + s)}M{_n(x - s)} {_n(y + s)}L{_n(x + s)} {_n(y - s)}"
        if shape == "cross"
        else f"M{_n(x - s)} {_n(y)}H{_n(x + s)}M{_n(x)} {_n(y - s)}V{_n(y + s)}"
    )
    return Markup('<path class="stroke" d="{}"/>').format(strokes)


def _tile(x: float, y: float, wide: float, high: float, level: int, told: str) -> Markup:
    cross = (
        Markup('<path class="stroke" d="M{} {}l6 6m0 -6l-6 6"/>').format(_n(x + wide / 2 - 3), _n(y + high / 2 - 3))
        if level == 0
        else Markup("")
    )
    return Markup('<g class="tile{}"><title>{}</title>{}{}</g>').format(level, told, _rect(x, y, wide, high, ""), cross)


def _swatch(series: Series) -> Markup:
    mark = _mark(series.shape, 14, 8) if series.shape else Markup("")
    return Markup(
        '<svg class="swatch" viewBox="0 0 28 16" aria-hidden="true" focusable="false">'
        '<g class="series {}"><polyline points="0,8 28,8"/>{}</g></svg>'
    ).format(series.style, mark)


def _swatch_tile(level: int) -> Markup:
    return Markup('<svg class="swatch" viewBox="0 0 28 16" aria-hidden="true" focusable="false">{}</svg>').format(
        _tile(1, 1, 26, 14, level, "")
    )


def _swatch_rect(style: str) -> Markup:
    return Markup('<svg class="swatch" viewBox="0 0 28 16" aria-hidden="true" focusable="false">{}</svg>').format(
        _rect(1, 1, 26, 14, style)
    )


def _svg(id: str, title: str, description: str, wide: float, high: float, parts: Iterable[Markup]) -> Markup:
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-title {}-desc">'
        '<title id="{}-title">{}</title><desc id="{}-desc">{}</desc>{}</svg>'
    ).format(_n(wide), _n(high), id, id, id, title, id, description, _joined(parts))


def _rect(x: float, y: float, wide: float, high: float, style: str) -> Markup:
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        style, _n(x), _n(y), _n(wide), _n(high)
    )


def _text(text: str, x: float, y: float, anchor: str, style: str) -> Markup:
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(style, _n(x), _n(y), anchor, text)


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(escape(part) for part in parts)


def _n(value: float) -> str:
    """Return a coordinate, no longer than it must be."""
    return f"{value:.1f}".rstrip("0").rstrip(".")
