"""Fig. 7: what more and more attackers achieve against each rule."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eitr.lab.experiments import by_share
from eitr.lab.experiments.claim_checks import (
    STABLE_ASR,
    by_reading,
    exceeds_ours,
    floor_text,
    leads,
    linear,
    stable,
)
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import (
    BACKDOOR,
    CLIENTS,
    COMPARED,
    FLIP,
    attack_shares,
    clean,
    federations,
    without_repeats,
)
from eitr.lab.experiments.seed_statistics import floor_of
from eitr.lab.plotting import legend_below, panels, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACKS = (FLIP, BACKDOOR)


class Attackers(Experiment):
    """Every rule against 10 % to 50 % of attackers."""

    id = "attackers"
    title = "More and more attackers"
    paper = printed("SURL_attack")
    note = (
        "Accuracy and attack success rate (ASR) after the last round. The dotted floor is the ASR against FedAvg that "
        "nobody attacked: pages that a clean model already gives the target label. Trimmed mean is told the true share "
        "of attackers."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return every rule under both attacks at every share, and the clean model for the floor."""
        return without_repeats(
            [
                *clean(profile),
                *(
                    run
                    for attack in ATTACKS
                    for share in attack_shares(profile)
                    for rule in COMPARED
                    for run in federations(profile, rule, attack, share=share)
                ),
            ]
        )

    def table(self, results: Results) -> Table:
        """Return one row per attack, share and rule."""
        return Table(by_share.COLUMNS, [row for attack in ATTACKS for row in by_share.rows(results, attack.name)])

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy above, ASR below, one column per attack."""
        figure, axes = panels(2, len(ATTACKS), height=3.0, share_y="row")
        for column, attack in enumerate(ATTACKS):
            by_share.draw(axes[0, column], results, attack.name, "accuracy")
            by_share.draw(axes[1, column], results, attack.name, "ASR")
        legend_below(figure, axes.flat, 5)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge accuracy, ASR and trends, for each attack."""
        return [*_flip(results), *_backdoor(results)]


def _flip(results: Results) -> list[ClaimVerdict]:
    accuracy, asr = (by_share.settings(results, FLIP.name, name) for name in ("accuracy", "ASR"))
    floor = floor_text(floor_of(results, FLIP.name, CLIENTS))
    shares = by_share.shares_of(results.where(attack=FLIP.name))
    followed = ("fedavg", "residual", "median", "fltrust")

    def of_rule(ours: str) -> list[ClaimVerdict]:
        return [
            leads("Label flipping: Reputation has the highest accuracy at every share.", accuracy, highest=True,
                  ours=ours),
            leads("Label flipping: it leads by 1 to 23.1 points of accuracy.", accuracy, highest=True, least=0.01,
                  ours=ours, each=False),
            stable(
                "Label flipping: Reputation loses little accuracy and keeps its ASR as attackers grow.",
                {setting: spreads[ours] for setting, spreads in accuracy.items()},
                {setting: spreads[ours] for setting, spreads in asr.items()},
                floor,
            ),
            leads("Label flipping: Reputation has the lowest ASR at every share.", asr, highest=False, ours=ours,
                  more=floor),
            exceeds_ours("Label flipping: the mean ASR of every other rule is at least 82.8 % higher.", asr,
                         least=0.828, ours=ours, more=floor),
        ]  # fmt: skip

    return [
        *by_reading(of_rule),
        linear(
            "Label flipping: accuracy of FedAvg, Residual, Median and FLTrust falls linearly towards 50 %.",
            shares,
            {rule: [spreads[rule] for spreads in accuracy.values()] for rule in followed},
            rises=False,
        ),
        linear(
            "Label flipping: ASR of FedAvg, Residual, Median and FLTrust rises linearly towards 50 %.",
            shares,
            {rule: [spreads[rule] for spreads in asr.values()] for rule in followed},
            rises=True,
            more=floor,
        ),
    ]


def _backdoor(results: Results) -> list[ClaimVerdict]:
    accuracy, asr = (by_share.settings(results, BACKDOOR.name, name) for name in ("accuracy", "ASR"))
    floor = floor_text(floor_of(results, BACKDOOR.name, CLIENTS))
    shares = by_share.shares_of(results.where(attack=BACKDOOR.name))

    def of_rule(ours: str) -> list[ClaimVerdict]:
        return [
            leads("Backdoor: Reputation has the highest accuracy at every share.", accuracy, highest=True, ours=ours),
            stable(
                "Backdoor: Reputation keeps its accuracy as attackers grow.",
                {setting: spreads[ours] for setting, spreads in accuracy.items()},
                None,
            ),
            leads("Backdoor: Reputation has the lowest ASR at every share.", asr, highest=False, ours=ours,
                  more=floor),
            exceeds_ours("Backdoor: the mean ASR of every other rule is at least 72.3 % higher.", asr, least=0.723,
                         ours=ours, more=floor),
        ]  # fmt: skip

    return [
        *by_reading(of_rule),
        linear(
            "Backdoor: ASR of Residual, Median and FoolsGold rises linearly.",
            shares,
            {rule: [spreads[rule] for spreads in asr.values()] for rule in ("residual", "median", "foolsgold")},
            rises=True,
            more=floor,
        ),
        _fltrust(results, floor),
    ]


def _fltrust(results: Results, floor: str) -> ClaimVerdict:
    """Judge FLTrust's ASR: level below 50 %, then about 1.39 times as high."""
    claim = "Backdoor: FLTrust's ASR is stable, then 1.39 times as high at 50 %."
    asr = {setting: found["fltrust"] for setting, found in by_share.settings(results, BACKDOOR.name, "ASR").items()}
    *before, (last, there) = asr.items()
    below = np.array([spread.mean for _, spread in before])
    if last != "50 % attackers" or len(below) < 2 or np.isnan([*below, there.mean]).any() or below.mean() == 0:
        return ClaimVerdict(
            claim=claim, measured="Shares are missing, or FLTrust diverged or has an ASR of 0.", holds=None
        )
    width, ratio = float(np.ptp(below)), there.mean / below.mean()
    measured = (
        f"Below 50 % it ranges over {100 * width:.1f} points around {100 * below.mean():.1f} %; at 50 % it is "
        f"{there.percent}, {ratio:.2f} times as high. Needed: at most {100 * STABLE_ASR:g} points, 1.2 to 1.6 times. "
        f"{floor}"
    )
    return ClaimVerdict(claim=claim, measured=measured, holds=bool(width <= STABLE_ASR and 1.2 <= ratio <= 1.6))
