"""Fig. 1: what learning together costs against having all pages in one place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eitr.lab.experiments.claim_checks import STABLE_ACCURACY, open_where_nan, points, trend
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import clean, client_counts, values_of, with_many_clients, without_repeats
from eitr.lab.experiments.seed_statistics import SeedValues, final
from eitr.lab.plotting import BLACK, LineStyle, as_percent, draw_spread, legend_below, panels, series_style, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run
from eitr.taxonomy import index_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS: dict[str, int | None] = {"all pages": None, "Health": index_of("health"), "Religion": index_of("religion")}
TOGETHER = series_style(0, "federated (FedAvg)")
ALONE = LineStyle("centralised", BLACK, (0, (4, 2)), "")


class Centralised(Experiment):
    """FedAvg with more and more clients beside one client that holds everything."""

    id = "centralised"
    title = "Federated against centralised"
    paper = printed("centralised")
    note = (
        "The centralised classifier is the same network, one client with all pages, and as many gradient steps as a "
        "client of the federation takes. The profile paper has 60 rounds and two seeds here."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return one client with all pages, then federations of growing size."""
        many = with_many_clients(profile)
        return without_repeats(run for count in (1, *client_counts(profile)) for run in clean(many, count))

    def table(self, results: Results) -> Table:
        """Return one row per number of clients."""
        table = Table(("clients", *(word for part in PARTS for word in (part, f"± {part}"))))
        for count in values_of(results, "clients"):
            spreads = [_accuracy(results, count, part) for part in PARTS]
            table.rows.append((count, *(number for found in spreads for number in (found.mean, found.deviation))))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy over the number of clients; the centralised classifier is a horizontal line."""
        figure, axes = panels(1, len(PARTS), height=3.0)
        counts = _counts(results)
        places = np.arange(len(counts))
        for panel, part in zip(axes[0], PARTS, strict=True):
            table = np.array([_accuracy(results, count, part).values for count in counts]).T
            draw_spread(panel, places, table, TOGETHER, marks=len(counts))
            alone = np.array(_accuracy(results, 1, part).values)
            draw_spread(panel, places, np.repeat(alone[:, None], len(counts), axis=1), ALONE)
            panel.set_xticks(places, [str(count) for count in counts])
            panel.set_title(f"Accuracy, {part}")
            panel.set_xlabel("clients")
            as_percent(panel)
        legend_below(figure, axes.flat)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge the gap, whether it stays, and what happens to two classes."""
        counts = _counts(results)
        gaps = {count: _gap(results, count, "all pages").mean for count in counts}
        mean = float(np.mean(list(gaps.values())))
        width = max(gaps.values()) - min(gaps.values())
        shown = ", ".join(f"{100 * gap:.1f} ({count} clients)" for count, gap in gaps.items())
        return [
            open_where_nan(
                ClaimVerdict(
                    claim="The federated classifier is below the centralised one, by 5.76 points on average.",
                    measured=f"Below by {100 * mean:.2f} points on average: {shown}. Needed: above 0, at most 5.76.",
                    holds=0 < mean <= 0.0576,
                ),
                mean,
            ),
            open_where_nan(
                ClaimVerdict(
                    claim="The gap stays steady as clients grow.",
                    measured=f"It ranges over {100 * width:.1f} points; steady is at most {100 * STABLE_ACCURACY:g}.",
                    holds=width <= STABLE_ACCURACY if len(gaps) > 1 else None,
                ),
                mean,
            ),
            trend(
                "Accuracy falls as clients grow.",
                *((f"{count} clients", _accuracy(results, count, "all pages")) for count in (counts[0], counts[-1])),
                rises=False,
            ),
            _near(results, "Health", 0.8533, 0.88),
            _near(results, "Religion", 0.9366, 0.94),
        ]


def _counts(results: Results) -> list[int]:
    return [count for count in values_of(results, "clients") if count > 1]


def _accuracy(results: Results, clients: int, part: str) -> SeedValues:
    column = PARTS[part]
    there = results.where(clients=clients)
    return final(there, "accuracy") if column is None else final(there, "class_accuracy", column)


def _gap(results: Results, clients: int, part: str) -> SeedValues:
    """Return how far the federation is below the centralised classifier."""
    return _accuracy(results, 1, part).minus(_accuracy(results, clients, part))


def _near(results: Results, part: str, federated: float, centralised: float) -> ClaimVerdict:
    """Judge whether a class loses no more than it does in the paper."""
    claim = f"{part} comes close to the centralised classifier: {federated} against {centralised} on average."
    counts = _counts(results)
    together = float(np.mean([_accuracy(results, count, part).mean for count in counts]))
    alone = _accuracy(results, 1, part)
    if np.isnan(together) or np.isnan(alone.mean):
        return ClaimVerdict(claim=claim, measured=f"The test pages have no class {part}.", holds=None)
    allowed = centralised - federated
    measured = (
        f"{100 * together:.1f} % on average over the numbers of clients, centralised {alone.percent}: "
        f"{points(together - alone.mean)}. Needed: at most {100 * allowed:.2f} points below."
    )
    return ClaimVerdict(claim=claim, measured=measured, holds=alone.mean - together <= allowed)
