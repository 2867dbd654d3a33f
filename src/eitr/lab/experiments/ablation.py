"""What each detector of the fused rule contributes: the rule without it, against a few attacks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from eitr.aggregation.fused.rule import DETECTORS
from eitr.lab.experiments.claim_checks import points
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.robustness_cells import COLUMNS, Cells
from eitr.lab.experiments.robustness_grid import (
    BACKDOOR,
    FEDAVG,
    FLIP,
    FUSED,
    IPM,
    MAIN,
    NO_ATTACK,
    OTHER_SEEDS,
    SCALED_FLIP,
    SHIFT,
    SIGN_FLIP,
    SYBILS,
    Contender,
    Threat,
    federation,
    runs_of,
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

WHOLE = replace(FUSED, label="all detectors")
PARTS = {
    detector.name: Contender(f"without {detector.name}", FUSED.rule, (("validation", True), ("without", detector.name)))
    for detector in DETECTORS
}
"""By the detector that is left out."""
THREATS = (NO_ATTACK, FLIP, BACKDOOR, IPM, SIGN_FLIP, SHIFT, SCALED_FLIP, SYBILS)
FEW_THREATS = (NO_ATTACK, FLIP, BACKDOOR, SIGN_FLIP)
"""Of the quick profile."""
MATTERS_LOSS, MATTERS_ASR = 0.005, 0.02
"""Less than this is no difference, in accuracy and in attack success."""


class Ablation(Experiment):
    """Each detector left out in turn."""

    id = "ablation"
    title = "The fused rule without one of its detectors"
    paper = "–"
    ours = True
    note = (
        "Fused with validation pages; 30 % of 10 clients attack, and everything else is as for every rule against "
        "every attack. Loss is against FedAvg without attackers, and the floor of an ASR is that model's. A detector "
        "earns its place if some attack does clearly more harm without it: half a point of accuracy, or 2 points of "
        "ASR. 3 seeds; one in the quick profile."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return clean FedAvg, then the whole rule and the rule without each detector under each attack."""
        return without_repeats(_runs(profile))

    def table(self, results: Results) -> Table:
        """Return one row per variant and attack."""
        cells = Cells(results)
        found = [(who, threat, cells.at(who, threat)) for who in (WHOLE, *PARTS.values()) for threat in _threats(cells)]
        return Table(
            ("rule", "attack", *COLUMNS),
            [(who.label, threat.label, *cell.row) for who, threat, cell in found if cell is not None],
        )

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw losses on the left, success above its floor on the right."""
        from matplotlib.figure import Figure

        cells = Cells(results)
        variants, threats = (WHOLE, *PARTS.values()), _threats(cells)
        figure = Figure(figsize=(WIDTH, 1.4 * ROW * len(variants) + 1.6))
        spaced(figure)
        with_asr = [threat for threat in threats if threat.floor]
        axes = figure.subplots(1, 2, sharey=True, width_ratios=[len(threats), len(with_asr) + 1])
        title = "Accuracy lost against clean FedAvg, in points"
        draw_points(figure, axes[0], cells.harm, variants, threats, title=title, high=FULL_LOSS)
        title = "ASR above its floor, in points"
        draw_points(figure, axes[1], cells.excess, variants, with_asr, title=title, high=FULL_ASR)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge, for each detector, whether some attack does more harm without it."""
        cells = Cells(results)
        return [earns_its_place(cells, name, who) for name, who in PARTS.items()]


def earns_its_place(cells: Cells, name: str, who: Contender) -> ClaimVerdict:
    """Judge whether some attack does clearly more harm without a detector."""
    claim = f"The detector “{name}” earns its place: without it some attack does more harm."
    worse, changes = [], []
    for threat in _threats(cells):
        whole, part = cells.at(WHOLE, threat), cells.at(who, threat)
        if threat.attack is None or whole is None or part is None:
            continue
        if not math.isfinite(whole.harm):
            told = f"Training diverged with all detectors, or without any attack ({threat.label})."
            return ClaimVerdict(claim=claim, measured=told, holds=None)
        loss, success = _more(part.harm, whole.harm), _more(part.excess, whole.excess)
        changes.append(loss)
        if loss >= MATTERS_LOSS:
            worse.append(f"{threat.label} {points(-loss) if math.isfinite(loss) else 'diverges'} of accuracy")
        if success >= MATTERS_ASR:
            worse.append(f"{threat.label} {points(success) if math.isfinite(success) else 'diverges'} of ASR")
    least = f"No clear difference: at worst {points(-max(changes))} of accuracy." if changes else "No attack was run."
    told = f"Without it: {'; '.join(worse)}." if worse else least
    return ClaimVerdict(claim=claim, measured=told, holds=bool(worse) if changes else None)


def _more(part: float | None, whole: float | None) -> float:
    return -math.inf if part is None or whole is None else part - whole


def _runs(profile: Profile) -> Iterator[Run]:
    base, seeds = federation(profile), seeds_of(profile, OTHER_SEEDS)
    yield from runs_of(base, FEDAVG, NO_ATTACK, MAIN, seeds)
    for who in (WHOLE, *PARTS.values()):
        for threat in FEW_THREATS if profile.quick else THREATS:
            yield from runs_of(base, who, threat, MAIN, seeds)


def _threats(cells: Cells) -> list[Threat]:
    return [threat for threat in THREATS if len(cells.results(WHOLE, threat))]
