"""Every rule against every attack: what each loses in its worst case, and whether the fused rule meets its goals."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eitr.lab.experiments import robustness_goals
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.robustness_cells import COLUMNS, UNDEFINED, Cells, cell_row, in_points, worst_row
from eitr.lab.experiments.robustness_grid import (
    CONTENDERS,
    ELSEWHERE,
    FEDAVG,
    FEW_CONTENDERS,
    FEW_THREATS,
    IID,
    MAIN,
    MAIN_SEEDS,
    NO_ATTACK,
    OTHER_SETTINGS,
    THREATS,
    Contender,
    Setting,
    Threat,
    federation,
    runs_of,
    seeds_in,
    seeds_of,
)
from eitr.lab.experiments.robustness_maps import FULL_ASR, FULL_LOSS, ROW, draw_points
from eitr.lab.experiments.scenario import without_repeats
from eitr.lab.plotting import WIDTH, spaced, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Robustness(Experiment):
    """All rules, all attacks; the strongest rules in other settings, too."""

    id = "robustness"
    title = "Every rule against every attack"
    paper = "–"
    ours = True
    note = (
        "After 40 rounds of 150 local steps (learning rate 0.05, momentum 0.8, batches of 64); "
        "30 % of 10 clients attack, Dirichlet 0.9. Rules that ask for the number of attackers are told the true one; "
        "n/a is where a rule is not defined, div. where training diverged. Loss is against FedAvg without attackers, "
        "seed by seed; the floor of an ASR is that model's. The server has 300 trusted pages: FLTrust learns from "
        "them, “Fused + validation” tests with them. Rules are ordered by their worst case. 5 seeds, 3 in other "
        "settings but where our goals are judged. The quick profile has one seed, few of the rules and attacks, fewer "
        "rounds and no other settings."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return the main table, then, except in the quick profile, the strongest rules in other settings."""
        return without_repeats(_runs(profile))

    def table(self, results: Results) -> Table:
        """Return one row per setting, rule and attack."""
        cells = Cells(results)
        return Table(
            ("rule", "attack", "attackers", "alpha", "clients", *COLUMNS),
            [
                _row(cells, who, threat, setting)
                for setting in (MAIN, *OTHER_SETTINGS)
                for who in cells.contenders(setting)
                for threat in cells.threats
                # Without attackers their share makes no other federation.
                if threat.attack or setting.share == MAIN.share
            ],
        )

    def summary(self, results: Results) -> Table:
        """Return one row per rule, the strongest first: what its worst attack costs."""
        cells = Cells(results)
        table = Table(
            ("rule", "worst: points lost", "to", "points lost without attack", "worst ASR: points above floor", "of")
        )
        for who in _ordered(cells):
            clean, loss, excess = cells.at(who, NO_ATTACK), cells.worst_loss(who), cells.worst_excess(who)
            table.rows.append(
                (who.label, *worst_row(loss), in_points(clean.harm) if clean else UNDEFINED, *worst_row(excess)),
            )
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw losses of all rules above; below, success above its floor, and the worst case in other settings."""
        from matplotlib.figure import Figure

        cells = Cells(results)
        rules, threats = _ordered(cells), cells.threats
        with_asr = [threat for threat in threats if threat.floor]
        settings = [setting for setting in OTHER_SETTINGS if cells.contenders(setting)]
        figure = Figure(figsize=(WIDTH, 2 * (ROW * len(rules) + 1.5)))
        spaced(figure)
        parts: Any = figure.subfigures(2, 1)
        above, below = parts
        title = "Accuracy lost against clean FedAvg, in points"
        draw_points(above, above.subplots(), cells.harm, rules, threats, title=title, high=FULL_LOSS)
        # The right panel has its own names of rules and scale beside it: room for three columns.
        widths = [len(with_asr), len(settings) + 4] if settings else [1]
        grid = below.add_gridspec(1, len(widths), width_ratios=widths)
        title = "ASR above its floor, in points"
        draw_points(below, below.add_subplot(grid[0]), cells.excess, rules, with_asr, title=title, high=FULL_ASR)
        if settings:
            # Rows as high as those beside it: what is left below them stays empty.
            own = grid[1].subgridspec(2, 1, height_ratios=[len(ELSEWHERE), max(1, len(rules) - len(ELSEWHERE))])
            title = "Worst loss in other settings, in points"
            columns = [replace(MAIN, label="as above"), *settings]
            draw_points(
                below, below.add_subplot(own[0]), cells.worst_value, ELSEWHERE, columns, title=title, high=FULL_LOSS
            )
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge our goals."""
        return robustness_goals.verdicts(Cells(results))


def _runs(profile: Profile) -> Iterator[Run]:
    base, seeds = federation(profile), seeds_of(profile, MAIN_SEEDS)
    contenders, threats = (FEW_CONTENDERS, FEW_THREATS) if profile.quick else (CONTENDERS, THREATS)
    yield from runs_of(base, FEDAVG, NO_ATTACK, MAIN, seeds)
    for who in contenders:
        for threat in threats:
            yield from runs_of(base, who, threat, MAIN, seeds)
    if not profile.quick:
        for setting in OTHER_SETTINGS:
            clean = seeds_of(profile, seeds_in(setting, FEDAVG))
            yield from runs_of(base, FEDAVG, NO_ATTACK, setting, clean)
            for who in ELSEWHERE:
                for threat in THREATS:
                    yield from runs_of(base, who, threat, setting, seeds_of(profile, seeds_in(setting, who)))


def _ordered(cells: Cells) -> list[Contender]:
    """Return all rules, the smallest worst loss first; those that are never defined last."""
    first = cells.strongest(len(CONTENDERS))
    return [*first, *(who for who in cells.contenders() if who not in first)]


def _row(cells: Cells, who: Contender, threat: Threat, setting: Setting) -> tuple[Any, ...]:
    share = setting.share if threat.attack else 0.0
    alpha = "IID" if setting.alpha == IID else setting.alpha
    where = (who.label, threat.label, share, alpha, setting.clients)
    return (*where, *cell_row(cells.at(who, threat, setting)))
