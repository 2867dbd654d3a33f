"""Rules of your choice against attacks of your choice: what `eitr lab compare` shows."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eitr.lab.experiments.comparison_grid import NO_ATTACK, Grid, Setting
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.robustness_cells import COLUMNS, Cell
from eitr.lab.experiments.scenario import without_repeats
from eitr.lab.experiments.seed_statistics import SeedValues, final
from eitr.lab.plotting import FLOOR, as_percent, draw_spread, legend_below, panels, series_style, styled
from eitr.lab.results.metadata import COMPARE
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.runs.private_training import PAPER, short
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNDEFINED = "n/a"
COLUMNS_OF_PANELS = 3
MOST_PANELS = 36
"""A figure with more panels would be several metres long; the table has all numbers."""


class Comparison(Experiment):
    """Every rule of a grid against every attack, in every setting."""

    id = COMPARE
    title = "Comparison of rules under attack"
    paper = "–"
    ours = True

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    @property
    def note(self) -> str:  # type: ignore[override]
        """What a reader of the figure should know."""
        grid = self.grid
        shown = f" The figure shows the first {MOST_PANELS} panels." if self._panels()[MOST_PANELS:] else ""
        told = "the number to expect in a round" if grid.some_are_absent else "the true one"
        return (
            f"After {grid.rounds} rounds{self._local_work()}."
            f"{self._who_takes_part()} The paper's rule rescales as in the paper; rules that ask for the "
            f"number of attackers are told {told}, unless it is set; {UNDEFINED} is where a rule is not defined for so "
            "many. Loss is against FedAvg without attackers, seed by seed; the floor of an attack's success rate (ASR) "
            f"is that model's. Rules are ordered by their worst case, those that are {UNDEFINED} somewhere after the "
            f"others.{shown}"
        )

    def _local_work(self) -> str:
        steps = f"{self.grid.steps} local steps (learning rate {self.grid.learning_rate:g})"
        ways = [steps if one == PAPER else f"one private step ({one})" for one in self.grid.training]
        return f" of {' or '.join(ways)}"

    def _who_takes_part(self) -> str:
        shares = " or ".join(f"{100 * share:g} %" for share in self.grid.participation)
        return f" {shares} of the clients, drawn anew, take part in a round." if self.grid.some_are_absent else ""

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Every cell of the grid, every rule without attackers, and the reference."""
        return without_repeats(self.grid.runs(profile.data, profile.seeds, profile.start))

    def table(self, results: Results) -> Table:
        """Return one row per setting, attack and rule."""
        more = ("participation",) if self.grid.some_are_absent else ()
        way = ("training",) if self.grid.training != (PAPER,) else ()
        table = Table(("rule", "attack", "attackers", "clients", "alpha", *more, *way, *COLUMNS))
        cells = _Cells(self.grid, results)
        seen = set()
        for setting in self.grid.settings:
            for attack in (NO_ATTACK, *self.grid.threats):
                share = setting.share if attack != NO_ATTACK else 0.0
                for rule in self.grid.rules:
                    federation = (setting.clients, setting.alpha, *[setting.participation][: len(more)])
                    where = (rule, attack, share, *federation, *[short(setting.training)][: len(way)])
                    if where not in seen:  # without attackers their share makes no other federation
                        seen.add(where)
                        cell = cells.at(rule, attack, setting)
                        nothing = (UNDEFINED, *[None] * (len(COLUMNS) - 1))
                        table.rows.append((*where, *(nothing if cell is None else cell.row)))
        return table

    def summary(self, results: Results) -> Table:
        """Return one row per rule, the strongest first: what its worst case costs."""
        cells = _Cells(self.grid, results)
        rows = [_worst_case(self.grid, cells, rule) for rule in self.grid.rules]
        return Table(
            ("rule", "worst: points lost", "to", "points lost without attack", "worst ASR: points above floor", "of"),
            [row for _, row in sorted(rows, key=lambda pair: pair[0])],
        )

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy, then attack success, over the rounds: one panel per setting and attack."""
        cells = _Cells(self.grid, results)
        wanted = [one for one in self._panels() if one[2] == "accuracy" or cells.measures(one[1])][:MOST_PANELS]
        rows = -(-len(wanted) // COLUMNS_OF_PANELS)
        figure, axes = panels(rows, min(COLUMNS_OF_PANELS, len(wanted)), height=2.5)
        places: list[Any] = list(axes.flat)
        for panel, (setting, attack, name) in zip(places, wanted, strict=False):
            self._draw(panel, cells, setting, attack, name)
        for panel in places[len(wanted) :]:
            panel.set_axis_off()
        legend_below(figure, axes.flat, columns=3)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Return nothing: a comparison makes no claim."""
        return []

    def _panels(self) -> list[tuple[Setting, str, str]]:
        threats = self.grid.threats or [NO_ATTACK]
        return [
            (setting, attack, name)
            for setting in self.grid.settings
            for attack in threats
            for name in (("accuracy",) if attack == NO_ATTACK else ("accuracy", "ASR"))
        ]

    def _draw(self, axes: "Axes", cells: "_Cells", setting: Setting, attack: str, name: str) -> None:
        for number, rule in enumerate(self.grid.rules):
            there = cells.results(rule, attack, setting)
            quantity = name if name == "accuracy" else _success(there)
            if quantity and len(there):
                curves = there.stacked(quantity)
                draw_spread(axes, np.arange(1, curves.shape[1] + 1), curves, series_style(number, rule))
        if name == "ASR":
            floor = final(cells.reference(setting), f"asr.{attack}").mean
            style = {"color": FLOOR.colour, "linestyle": FLOOR.dashes, "linewidth": FLOOR.width}
            axes.axhline(floor, label=FLOOR.label, **style)
            axes.set_ylim(bottom=0)
        where = "no attack" if attack == NO_ATTACK else f"{attack}, {100 * setting.share:g} %"
        present = f", {setting.participants} a round" if self.grid.some_are_absent else ""
        way = f"\n{short(setting.training)}" if self.grid.training != (PAPER,) else ""
        axes.set_title(f"{'Accuracy' if name == 'accuracy' else name}: {where}\n{setting.clients} clients{present}, "
                       f"Dirichlet {setting.alpha:g}{way}")  # fmt: skip
        axes.set_xlabel("round")
        as_percent(axes)


class _Cells:
    """The results of a grid, found by what is run in them."""

    def __init__(self, grid: Grid, results: Results) -> None:
        self._grid = grid
        self._found: dict[Any, Result] = {result.run: result for result in results}
        first: FederatedRun = next(iter(self._found))
        self._data, self._start = first.data, first.start
        self._seeds = sorted({run.seed for run in self._found})

    def results(self, rule: str, attack: str, setting: Setting) -> Results:
        """Return the results of a cell, by seed; none where the rule is not defined."""
        runs = [self._grid.run_of(rule, attack, setting, self._data, seed, self._start) for seed in self._seeds]
        return Results(self._found[run] for run in runs if run is not None)

    def reference(self, setting: Setting) -> Results:
        """Return the results of FedAvg without attackers."""
        runs = [self._grid.reference(setting, self._data, seed, self._start) for seed in self._seeds]
        return Results(self._found[run] for run in runs)

    def measures(self, attack: str) -> bool:
        """Say whether the success of an attack is measured."""
        return any(f"asr.{attack}" in result for result in self.reference(self._grid.settings[0]))

    def at(self, rule: str, attack: str, setting: Setting) -> Cell | None:
        """Return a cell; None where the rule is not defined."""
        mine, reference = self.results(rule, attack, setting), self.reference(setting)
        if not len(mine):
            return None
        accuracy = final(mine, "accuracy")
        loss = final(reference, "accuracy").minus(accuracy)
        if attack == NO_ATTACK or not self.measures(attack):
            return Cell(accuracy, loss)
        floor: SeedValues = final(reference, f"asr.{attack}")
        return Cell(accuracy, loss, final(mine, _success(mine)), floor)


def _success(results: Results) -> str:
    """Return the name of the success that attacked runs recorded."""
    return next((name for result in results for name in result.arrays if name.startswith("asr.")), "")


def _worst_case(grid: Grid, cells: _Cells, rule: str) -> tuple[tuple[int, float], tuple[Any, ...]]:
    """Return what to sort a rule by, and its row of the summary.

    A rule that is not defined somewhere may have missed its worst case there, so it comes after the others.
    """
    losses, excesses, undefined = [], [], 0
    for setting in grid.settings:
        for attack in grid.threats:
            cell = cells.at(rule, attack, setting)
            if cell is None:
                undefined += 1
            else:
                losses.append((cell.harm, grid.label(attack, setting)))
                if cell.excess is not None:
                    excesses.append((cell.excess, grid.label(attack, setting)))
    clean = [cell.harm for setting in grid.settings if (cell := cells.at(rule, NO_ATTACK, setting)) is not None]
    worst, excess = (max(found, default=(math.nan, "")) for found in (losses, excesses))
    told = f"{UNDEFINED} in {undefined} of {undefined + len(losses)} cases" if undefined else ""
    where = "; ".join(filter(None, (worst[1], told)))
    shown = (_points(worst[0]), where, _points(max(clean, default=math.nan)), _points(excess[0]), excess[1])
    return (undefined, math.inf if math.isnan(worst[0]) else worst[0]), (rule, *shown)


def _points(share: float) -> float | str:
    if math.isnan(share):
        return UNDEFINED
    return "diverged" if math.isinf(share) else round(100 * share, 2)
