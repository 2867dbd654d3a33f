"""An attacker who knows our rule, its settings and its memory, and tries before it sends: how far does it get?"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from eitr.attacks.registry import make_attack
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.robustness_cells import COLUMNS, Cells
from eitr.lab.experiments.robustness_grid import (
    FEDAVG,
    FUSED,
    FUSED_ALONE,
    MAIN,
    NO_ATTACK,
    OTHER_SEEDS,
    Contender,
    Threat,
    federation,
    runs_of,
    seeds_of,
)
from eitr.lab.experiments.scenario import without_repeats
from eitr.lab.plotting import as_percent, draw_spread, legend_below, panels, series_style, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CANDIDATES, FEW_CANDIDATES = 200, 20
"""Things to send that are tried in a round; the second in the quick profile."""
RULES = (FUSED, FUSED_ALONE)


def threat(candidates: int) -> Threat:
    """Return the attack with so many tries."""
    return Threat("inside", make_attack("inside", candidates=candidates), "label-flip")


class Inside(Experiment):
    """The strongest attacker we know, against our rule."""

    id = "inside"
    title = "Attackers who know the rule and try before they send"
    paper = "–"
    ours = True
    note = (
        "30 % of 10 clients attack, and everything else is as for every rule against every attack. In every round the "
        "attackers, who know what the others send, try 200 things on the server's own rule with its own memory, and "
        "send the most harmful of those after which all of them stand at least as well as the median of the others. "
        "They are judged by the loss on health pages and on all pages. 3 seeds. The quick profile has one seed and 20 "
        "tries. Rehearsing needs the engine for processors: --device cpu, some 15 minutes a run."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return clean FedAvg, then both forms of our rule under attack."""
        return without_repeats(_runs(profile))

    def table(self, results: Results) -> Table:
        """Return one row per rule, with its worst seed."""
        cells = Cells(results)
        table = Table(("rule", *COLUMNS, "lowest accuracy", "highest ASR"))
        for who, against in _cells(results):
            cell = cells.at(who, against)
            if cell is not None and cell.success is not None:
                worst = (min(cell.accuracy.values), max(cell.success.values))
                table.rows.append((who.label, *cell.row, *worst))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy and attack success over the rounds."""
        figure, axes = panels(1, 2, height=2.8)
        cells = Cells(results)
        for number, (who, against) in enumerate(_cells(results)):
            mine = cells.results(who, against)
            for panel, name in zip(axes.ravel(), ("accuracy", "asr.inside"), strict=True):
                curves = mine.stacked(name)
                draw_spread(panel, np.arange(1, curves.shape[1] + 1), curves, series_style(number, who.label))
        clean = cells.results(FEDAVG, NO_ATTACK)
        for panel, name in zip(axes.ravel(), ("accuracy", "asr.label-flip"), strict=True):
            curves = clean.stacked(name)
            style = series_style(len(RULES), "FedAvg, no attack")
            draw_spread(panel, np.arange(1, curves.shape[1] + 1), curves, style)
        for panel, title in zip(axes.ravel(), ("Accuracy", "Attack success rate"), strict=True):
            panel.set_title(title)
            panel.set_xlabel("round")
            panel.set_ylim(0, 1)
            as_percent(panel)
        legend_below(figure, axes.ravel().tolist(), 3)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Return no verdict: this experiment has no goal, only numbers."""
        return []


def _runs(profile: Profile) -> Iterator[Run]:
    base, seeds = federation(profile), seeds_of(profile, OTHER_SEEDS)
    yield from runs_of(base, FEDAVG, NO_ATTACK, MAIN, seeds)
    for who in RULES:
        yield from runs_of(base, who, threat(FEW_CANDIDATES if profile.quick else CANDIDATES), MAIN, seeds)


def _cells(results: Results) -> Iterator[tuple[Contender, Threat]]:
    cells = Cells(results)
    for who in RULES:
        for candidates in (CANDIDATES, FEW_CANDIDATES):
            against = threat(candidates)
            if len(cells.results(who, against)):
                yield who, against
