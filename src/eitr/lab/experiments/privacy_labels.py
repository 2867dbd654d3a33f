"""What the updates of a study tell about labels, if the server knows the pages that each participant was given."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.privacy_runs import ALL_LAYERS, DEFAULT, USES
from eitr.lab.plotting import legend_below, panels, series_style, styled
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.privacy import LabelRun
from eitr.lab.runs.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS = (1, USES, 5, 10, 40)
"""In how many rounds a page of a study may be used: the default of a study is 2, the most it allows 40."""
DEFENCES = {DEFAULT: ROUNDS, ALL_LAYERS: (1, USES, 5)}
"""Without a defence, few rounds tell enough."""
MOST = 0.15
"""Our goal for the default: the label is right at most so much above its share."""
MEASURES = ("label", "label_page")


class PrivacyLabels(Experiment):
    """Known pages with unknown labels, over the rounds in which a page is used."""

    id = "privacy-labels"
    title = "What a study's updates tell about labels"
    paper = "–"
    ours = True
    note = (
        "Needs --start with a pool of cover pages, for example shipped. Every participant was given 20 pages, test "
        "pages that the model was not trained on, and uses all of them in every round. The server knows the pages, "
        "the model, the pool and the defence, averages the updates of all rounds and looks for the labels that "
        "explain them best; it chooses its settings on participants that it simulates with training pages. One label "
        "in five is drawn from all classes, so that a page does not tell its label. Points above the share: above "
        "always naming the most frequent label. Points above the page: above a classifier that has read the page. An "
        "error is half of a 95 % interval over the 200 participants. All layers: training as in the paper, of which "
        "the server looks at the last two layers. quick: 20 participants, the default "
        "alone."
    )

    def runs(self, profile: Profile) -> Sequence[LabelRun]:
        """Return the default and all layers, for each number of rounds."""
        where: dict[str, Any] = {"data": profile.data, "start": profile.start, "pool": profile.pool}
        if profile.quick:
            return [LabelRun(defence=DEFAULT, uses=uses, victims=20, seed=profile.seeds[0], **where) for uses in ROUNDS]
        return [
            LabelRun(defence=defence, uses=uses, seed=profile.seeds[0], **where)
            for defence, rounds in DEFENCES.items()
            for uses in rounds
        ]

    def table(self, results: Results) -> Table:
        """Return one row per defence and number of rounds."""
        table = Table(
            ("defence", "rounds", "victims", "label without update", "above its share", "error",
             "label of the page, without update", "above the page", "error of it")
        )  # fmt: skip
        for result in _results(results):
            run, numbers = result.run, []
            for measure in MEASURES:
                names = (f"{measure}_without_update", f"{measure}.known-pages", f"{measure}_error.known-pages")
                numbers += [round(float(result[name]), 4) for name in names]
            table.rows.append((run.defence.title, run.uses, run.victims, *numbers))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw the points above share and page over the rounds."""
        figure, axes = panels(1, 2, height=5.0, share_y=True)
        found = _results(results)
        titles = ("Above the most frequent label", "Above a classifier that has read the page")
        for panel, measure, title in zip(axes[0], MEASURES, titles, strict=True):
            for number, defence in enumerate(dict.fromkeys(one.run.defence for one in found)):
                theirs = [one for one in found if one.run.defence == defence]
                style = series_style(number, defence.title)
                panel.errorbar(
                    range(len(theirs)),
                    [100 * float(one[f"{measure}.known-pages"]) for one in theirs],
                    [100 * float(one[f"{measure}_error.known-pages"]) for one in theirs],
                    color=style.colour, marker=style.marker, label=style.label,
                )  # fmt: skip
                panel.set_xticks(range(len(theirs)), [str(one.run.uses) for one in theirs])
            panel.set_title(title)
            panel.set_xlabel("rounds in which a page is used")
        axes[0][0].set_ylabel("points")
        legend_below(figure, axes.flat, 2)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge the goal for the default, with as many rounds as a study uses a page in by default."""
        claim = (
            f"The server of a study that uses a page in {USES} rounds guesses a label at most {100 * MOST:.0f} points "
            "above its share."
        )
        default = [one for one in _results(results) if one.run.defence == DEFAULT]
        judged = [float(one["label.known-pages"]) for one in default if one.run.uses <= USES]
        if not judged:
            return [ClaimVerdict(claim=claim, measured="It was not measured.", holds=None)]
        told = ", ".join(f"{100 * float(one['label.known-pages']):.1f} ({one.run.uses} rounds)" for one in default)
        return [ClaimVerdict(claim=claim, measured=f"Points above the share: {told}.", holds=max(judged) <= MOST)]


def _results(results: Results) -> list[Result]:
    """Return the results about labels, in the order of tables; of several seeds, the mean."""
    found: dict[LabelRun, list[Result]] = {}
    for result in results:
        if isinstance(result.run, LabelRun):
            found.setdefault(replace(result.run, seed=0), []).append(result)
    return [
        Result(run, {name: np.mean([one[name] for one in theirs], axis=0) for name in theirs[0].arrays})
        for run, theirs in found.items()
    ]
