"""Fig. 10: attackers who strike now and then."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eitr.attacks.schedule import Schedule
from eitr.lab.experiments import by_share
from eitr.lab.experiments.claim_checks import by_reading, floor_text, leads, listed, name_of
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import (
    ATTACK_TITLES,
    BACKDOOR,
    CLIENTS,
    COMPARED,
    FLIP,
    RIVALS,
    attack_shares,
    clean,
    federations,
    without_repeats,
)
from eitr.lab.experiments.seed_statistics import floor_of
from eitr.lab.plotting import legend_below, panels, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACKS = (FLIP, BACKDOOR)
LOW = 0.10
"""An ASR is low when it is at most this much above its floor."""


class Looping(Experiment):
    """The attack of `attackers`, but only every 30 rounds."""

    id = "looping"
    title = "Attacks now and then"
    paper = printed("loop_attack")
    note = (
        "Attackers poison in every 30th of 100 rounds (with fewer rounds, as often over the whole training) and are "
        "honest in between. The paper's text speaks of label flipping, its caption of both attacks; both are here. The "
        "figure shows the state after the last round."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return the looping runs, and for comparison those of the attack in every round."""
        return without_repeats(
            [
                *clean(profile),
                *(
                    run
                    for schedule in (_loop(profile), Schedule())
                    for attack in ATTACKS
                    for share in attack_shares(profile)
                    for rule in COMPARED
                    for run in federations(profile, rule, attack, share=share, schedule=schedule)
                ),
            ]
        )

    def table(self, results: Results) -> Table:
        """Return one row per attack, share and rule, with the ASR of the repeated attack beside it."""
        table = Table((*by_share.COLUMNS, "ASR when repeated"))
        for attack in ATTACKS:
            repeated = by_share.rows(_repeated(results), attack.name)
            for row, other in zip(by_share.rows(_looping(results), attack.name), repeated, strict=True):
                table.rows.append((*row, other[5]))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy above, ASR below, one column per attack."""
        figure, axes = panels(2, len(ATTACKS), height=3.0, share_y="row")
        for column, attack in enumerate(ATTACKS):
            by_share.draw(axes[0, column], _looping(results), attack.name, "accuracy")
            by_share.draw(axes[1, column], _looping(results), attack.name, "ASR")
        legend_below(figure, axes.flat, 5)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge ASR against the continuous attack, ASR against its floor, and accuracy, for each attack."""
        return [verdict for attack in ATTACKS for verdict in _judged(results, attack.name)]


def _loop(profile: Profile) -> Schedule:
    """Return the paper's schedule, every 30 of 100 rounds."""
    return Schedule.parse(f"loop:{max(1, round(0.3 * profile.rounds))}")


def _is_clean_or(results: Results, loops: bool) -> Results:
    def wanted(run: FederatedRun) -> bool:
        return run.attack is None or (run.schedule.kind == "loop") == loops

    return Results(result for result in results if wanted(result.run))


def _looping(results: Results) -> Results:
    return _is_clean_or(results, True)


def _repeated(results: Results) -> Results:
    return _is_clean_or(results, False)


def _judged(results: Results, attack: str) -> list[ClaimVerdict]:
    return by_reading(lambda rule: _judge(results, rule, attack))


def _judge(results: Results, ours: str, attack: str) -> list[ClaimVerdict]:
    rules = (ours, *RIVALS)
    title = ATTACK_TITLES[attack].capitalize()
    floor = floor_of(results, attack, CLIENTS)
    now_and_then = by_share.settings(_looping(results), attack, "ASR")
    always = by_share.settings(_repeated(results), attack, "ASR")
    means = {
        rule: tuple(float(np.mean([found[rule].mean for found in asr.values()])) for asr in (now_and_then, always))
        for rule in rules
    }
    shown = ", ".join(
        f"{name_of(rule)} {100 * low:.1f} / {100 * high:.1f} %" if low + high >= 0 else f"{name_of(rule)} diverged"
        for rule, (low, high) in means.items()
    )
    worst = {rule: max(found[rule].mean for found in now_and_then.values()) - floor.mean for rule in rules}
    above = [f"{name_of(rule)} ({100 * gap:+.1f})" for rule, gap in worst.items() if not gap <= LOW]
    return [
        ClaimVerdict(
            claim=f"{title}: the looping attack is weaker than the repeated one.",
            measured=f"Mean ASR over the shares, looping / repeated: {shown}. {floor_text(floor)} "
            "Needed: lower for every rule.",
            holds=all(low < high for low, high in means.values()),
        ),
        ClaimVerdict(
            claim=f"{title}: every rule keeps the ASR of the looping attack low.",
            measured=f"Low is at most {100 * LOW:g} points above the floor at every share. "
            f"{f'Above: {listed(above)} points' if above else 'No rule is above'}. {floor_text(floor)}",
            holds=not above,
        ),
        leads(
            f"{title}: under the looping attack Reputation has the best accuracy.",
            by_share.settings(_looping(results), attack, "accuracy"),
            highest=True,
            ours=ours,
        ),
    ]
