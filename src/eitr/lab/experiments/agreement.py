"""Section V: how far the raters of the ground truth agree."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.seed_statistics import SeedValues
from eitr.lab.plotting import BLACK, panels, series_style, styled
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run
from eitr.lab.runs.study import RatingRun
from eitr.statistics.agreement import agreed_labels, fleiss_kappa, kappa_interval
from eitr.taxonomy import NON_SENSITIVE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATERS = ((4, 0), (3, 1), (2, 2), (0, 4))
"""How many of the four are careful, and how many confused about what is sensitive."""
SEEDS = 20
"""Groups of raters of each kind: a group is drawn in a moment."""
KAPPA, SENSITIVE = 0.56, 85


class Agreement(Experiment):
    """Four raters of the pages that models are judged by."""

    id = "agreement"
    title = "How far the raters of the ground truth agree"
    paper = "Section V"
    note = (
        "The raters are simulated. Each starts from the class that the data give a page, and errs by the model of "
        "human error in docs/lab.md. So this cannot show how far experts agree about these pages. It shows which kappa "
        "goes with which errors, and how good a ground truth is that such raters agree on. Ratings are compared as "
        "sensitive or not. "
        "Agreed: at least half of the pairs of raters agree, three of four. Interval: bootstrap over the pages, 95 %."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return groups of four raters of both kinds."""
        seeds = range(len(profile.seeds) if profile.quick else SEEDS)
        return [
            RatingRun(data=profile.data, careful=careful, confused=confused, seed=seed)
            for careful, confused in RATERS
            for seed in seeds
        ]

    def table(self, results: Results) -> Table:
        """Return one row per composition of the group: means over the groups, and one group's interval."""
        table = Table(
            ("careful", "confused", "kappa", "± kappa", "lowest", "highest", "interval of the first, low", "high",
             "agreed pages", "agreed as sensitive", "agreed labels that are right")
        )  # fmt: skip
        for careful, confused in RATERS:
            mine = results.where(careful=careful, confused=confused)
            kappas, first = _kappas(mine), next(iter(mine))
            agreed = [_agreed(one) for one in mine]
            table.rows.append(
                (careful, confused, kappas.mean, kappas.deviation, min(kappas.values), max(kappas.values),
                 *kappa_interval(_counts(first)),
                 *(float(np.mean([one[place] for one in agreed])) for place in range(3)))
            )  # fmt: skip
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw the kappa of each group."""
        figure, axes = panels(1, 1, height=3.0)
        panel = axes[0][0]
        for place, (careful, confused) in enumerate(RATERS):
            kappas = _kappas(results.where(careful=careful, confused=confused)).values
            style = series_style(place, "")
            spread = np.linspace(-0.15, 0.15, len(kappas)) if len(kappas) > 1 else np.zeros(1)
            panel.plot(place + spread, kappas, "o", color=style.colour, markersize=4)
            panel.plot([place - 0.25, place + 0.25], [np.mean(kappas)] * 2, color=style.colour)
        panel.axhline(KAPPA, color=BLACK, linestyle=(0, (4, 2)), label="the paper's experts: 0.56")
        panel.set_xticks(
            range(len(RATERS)), [f"{careful} careful, {confused} confused" for careful, confused in RATERS]
        )
        panel.set_ylabel("Fleiss' kappa")
        panel.set_title("Agreement of four simulated raters; a point is a group, a line their mean")
        panel.legend()
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Say what was measured; simulated raters cannot confirm what experts said."""
        careful = results.where(careful=4, confused=0)
        kappas, first = _kappas(careful), next(iter(careful))
        low, high = kappa_interval(_counts(first))
        pages, sensitive, right = (np.mean([_agreed(one)[place] for one in careful]) for place in range(3))
        true = int((first["page_truth"] != NON_SENSITIVE).sum())
        why = "Simulated raters cannot confirm it: their errors were chosen, not observed."
        return [
            ClaimVerdict(
                claim="Fleiss' kappa of the four experts is 0.56.",
                measured=f"Four careful raters: {kappas.mean:.2f} ± {kappas.deviation:.2f} over {len(careful)} groups; "
                f"of the first, {kappas.values[0]:.2f} ({low:.2f} to {high:.2f}). {why}",
                holds=None,
            ),
            ClaimVerdict(
                claim="85 of the 100 pages are agreed to be sensitive, with an agreement of at least 0.5.",
                measured=f"{true} of {len(first['page_truth'])} pages are sensitive in the data. Four careful raters "
                f"agree on {pages:.1f}, of which {sensitive:.1f} as sensitive; {100 * right:.1f} % of the agreed "
                f"labels are right. {why}",
                holds=None,
            ),
        ]


def _counts(result: Result) -> NDArray[np.int64]:
    """Return how many raters call each page sensitive, and how many do not."""
    sensitive = (result["ratings"] != NON_SENSITIVE).sum(axis=0)
    return np.stack([sensitive, len(result["ratings"]) - sensitive], axis=1)


def _kappas(results: Results) -> SeedValues:
    return SeedValues(tuple(fleiss_kappa(_counts(one)) for one in results))


def _agreed(result: Result) -> tuple[int, int, float]:
    """Return how many pages are agreed on, how many as sensitive, and the share of agreed labels that are right."""
    labels: Any = agreed_labels(_counts(result))
    truth = np.where(result["page_truth"] != NON_SENSITIVE, 0, 1)
    agreed = labels >= 0
    right = float((labels[agreed] == truth[agreed]).mean()) if agreed.any() else float("nan")
    return int(agreed.sum()), int((labels == 0).sum()), right
