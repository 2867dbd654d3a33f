"""The tables and figures of docs/scale.md, from the numbers that `eitr lab scale` writes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from eitr.lab.plotting import figure_svg, legend_below, panels, series_style, styled
from eitr.lab.scale.scenarios import SCENARIOS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS_A_DAY: Final = 144
"""Points of a curve: the mean of ten minutes each."""


def scenario_table(found: Mapping[str, Any]) -> str:
    """Return what each scenario needs and what becomes of updates."""
    head = ["scenario", "polls/s", "requests/s", "API cores", "unanswered", "wait p99 ms", "versions a day",
            "origin Gbit/s", "CDN Gbit/s", "origin TB a month", "CDN TB a month"]  # fmt: skip
    return _table(head, [_needs(id, one) for id, one in found["scenarios"].items()])


def _needs(id: str, one: Mapping[str, Any]) -> list[str]:
    wait = one["wait_ms"]["p99"]
    return [
        f"`{id}`",
        f"{one['polls']['peak_per_second']:,.0f}",
        f"{one['requests']['peak_per_second']:,.0f}",
        str(one["processes_needed"]) if one["processes"] != 2 else f"2 ({100 * one['load']:.0f} % busy)",
        f"{100 * one['unanswered']:.1f} %",
        "–" if wait is None else f"{wait:,.1f}",
        str(one["versions_a_day"]),
        f"{one['origin_gbit_peak']:,.2f}",
        f"{one['cdn_gbit_peak']:,.2f}",
        f"{one['origin_tb_a_month']:,.1f}",
        f"{one['cdn_tb_a_month']:,.1f}",
    ]


def update_table(found: Mapping[str, Any]) -> str:
    """Return what becomes of updates and of the pages in them."""
    head = ["scenario", "sent a day", "accepted", "judged", "refused", "places gone after", "a round is open",
            "aggregation s", "rows a day", "database GB after a year"]  # fmt: skip
    rows = [
        [
            f"`{id}`",
            f"{one['updates_a_day']['sent']:,}",
            f"{one['updates_a_day']['accepted']:,}",
            f"{one['updates_a_day']['judged']:,}",
            f"{100 * one['refused_share']:.1f} %",
            _duration(one["places_gone_after_seconds"]),
            _duration(one["round_seconds"]),
            "–" if one["aggregation_seconds"] is None else f"{one['aggregation_seconds']:.1f}",
            f"{one['rows_a_day']:,}",
            f"{one['storage_gb']['all']:,.1f}",
        ]
        for id, one in found["scenarios"].items()
    ]
    return _table(head, rows)


def growth_table(found: Mapping[str, Any]) -> str:
    """Return how the needs of `founders` grow with the number of browsers."""
    head = ["browsers", "updates refused", "places gone after", "origin Gbit/s", "TB a month", "API cores",
            "rows a day", "database GB after a year", "aggregation s"]  # fmt: skip
    rows = [
        [
            f"{one['plan']['browsers']:,}",
            f"{100 * one['refused_share']:.1f} %",
            _duration(one["places_gone_after_seconds"]),
            f"{one['origin_gbit_peak']:,.3f}",
            f"{one['origin_tb_a_month']:,.1f}",
            str(one["processes_needed"]),
            f"{one['rows_a_day']:,}",
            f"{one['storage_gb']['all']:,.1f}",
            "–" if one["aggregation_seconds"] is None else f"{one['aggregation_seconds']:.1f}",
        ]
        for one in found["growth"]
    ]
    return _table(head, rows)


def tables(found: Mapping[str, Any]) -> str:
    """Return all tables, with headings."""
    names = _table(["scenario", "what it is"], [[f"`{id}`", SCENARIOS[id].title] for id in found["scenarios"]])
    parts = [names, scenario_table(found), update_table(found)]
    if found["growth"]:
        parts.append(growth_table(found))
    return "\n\n".join(parts) + "\n"


@styled
def day_figure(found: Mapping[str, Any]) -> "Figure":
    """Draw requests a second and bandwidth over the last day."""
    figure, axes = panels(1, 2, height=3.4)
    # Of alarms within one minute, means of ten minutes show nothing.
    shown = {id: one for id, one in found["scenarios"].items() if one["plan"]["spread"] == 1}
    for number, (id, one) in enumerate(shown.items()):
        style = series_style(number, id)
        hours = [24 * (place + 0.5) / POINTS_A_DAY for place in range(POINTS_A_DAY)]
        for axis, values in zip(axes[0], (one["curves"]["requests_per_second"], one["curves"]["gbit"]), strict=True):
            axis.plot(hours, values, color=style.colour, linestyle=style.dashes, label=style.label)
    for axis, title in zip(
        axes[0], ("Requests a second at the API", "Gbit/s of downloads, origin and CDN"), strict=True
    ):
        axis.set_yscale("log")
        axis.set_title(title)
        axis.set_xlabel("hour of the day (UTC)")
        axis.set_xticks(range(0, 25, 4))
    legend_below(figure, axes[0])
    return figure


@styled
def growth_figure(found: Mapping[str, Any]) -> "Figure":
    """Draw what is needed over the number of browsers, in units of one machine."""
    figure, axes = panels(1, 2, height=3.2)
    count = [one["plan"]["browsers"] for one in found["growth"]]
    parts = (
        ("bandwidth, of 1 Gbit/s", [one["origin_gbit_peak"] for one in found["growth"]]),
        ("API, of two cores at 70 %", [one["load"] * one["processes"] / 1.4 for one in found["growth"]]),
        ("database, of 100 GB", [one["storage_gb"]["all"] / 100 for one in found["growth"]]),
        ("worker, of all the time", [_worker(one) for one in found["growth"]]),
    )
    left, right = axes[0]
    for number, (label, values) in enumerate(parts):
        style = series_style(number, label)
        left.plot(count, values, color=style.colour, linestyle=style.dashes, marker=style.marker, label=label)
    left.axhline(1.0, color="#444444", linewidth=0.8)
    left.set_yscale("log")
    left.set_title("Needed, as a multiple of one machine")
    style = series_style(4, "updates that are refused")
    refused = [one["refused_share"] for one in found["growth"]]
    right.plot(count, refused, color=style.colour, linestyle=style.dashes, marker=style.marker, label=style.label)
    right.set_ylim(0, 1.02)
    right.set_title("Share of updates that find no place")
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_xlabel("browsers")
    legend_below(figure, axes[0])
    return figure


def figures(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures as SVG, by file name."""
    drawn = {
        "day.svg": figure_svg(
            day_figure(found),
            title="Requests and bandwidth over a day",
            description="Curves of the scenarios over the last simulated day, with logarithmic axes.",
            prefix="scale-day",
        )
    }
    if len(found["growth"]) > 1:
        drawn["growth.svg"] = figure_svg(
            growth_figure(found),
            title="What breaks first",
            description="What the server needs over the number of browsers, and the share of updates without a place.",
            prefix="scale-growth",
        )
    return drawn


def _worker(one: Mapping[str, Any]) -> float:
    return float((one["aggregation_seconds"] or 0) * one["versions_a_day"] / 86_400)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    numbers = ["---:"] * (len(head) - 1) if len(head) > 2 else ["---"]
    lines = [head, ["---", *numbers], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
