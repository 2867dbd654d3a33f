"""Fig. 6: how fast and how well the rules learn, without attack and under both."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eitr.lab.experiments import over_rounds
from eitr.lab.experiments.claim_checks import SAME, by_reading, faster, leads, listed, name_of
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import (
    BACKDOOR,
    CLIENTS,
    COMPARED,
    FLIP,
    OURS,
    RIVALS,
    SHARE,
    federations,
    without_repeats,
)
from eitr.lab.experiments.seed_statistics import RoundsToReach, SeedValues, final, rounds_to_reach
from eitr.lab.plotting import legend_below, panels, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACKS = (None, FLIP, BACKDOOR)
SCENARIOS = (None, FLIP.name, BACKDOOR.name)
TARGET, TARGET_ROUND, END = 0.82, 24, 0.8213
NEAR = 0.02
"""How far an accuracy may be from the paper's to be the same."""


class Convergence(Experiment):
    """All rules over all rounds, in three scenarios."""

    id = "convergence"
    title = "Convergence and accuracy"
    paper = printed("SURL_conv")
    note = (
        "A run has converged in the first round with 99 % of the accuracy that FedAvg without attack ends with, seed "
        "by seed; this was fixed beforehand. The loss is that of the global model on a fixed sample of training pages. "
        "Bands are one standard deviation over the seeds."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return every rule in every scenario."""
        return without_repeats(
            run for attack in ATTACKS for rule in COMPARED for run in federations(profile, rule, attack)
        )

    def table(self, results: Results) -> Table:
        """Return one row per scenario and rule."""
        table = Table(over_rounds.COLUMNS)
        for attack in SCENARIOS:
            table.rows.extend(over_rounds.rows(results, attack, CLIENTS))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw training loss above, accuracy below, one column per scenario."""
        figure, axes = panels(2, len(SCENARIOS), share_y="row")
        for column, attack in enumerate(SCENARIOS):
            for row, (name, title) in enumerate((("train_loss", "training loss"), ("accuracy", "accuracy"))):
                over_rounds.draw(axes[row, column], results, attack, name)
                axes[row, column].set_title(over_rounds.scenario_title(attack, SHARE))
                axes[row, column].set_ylabel(title if column == 0 else "")
        legend_below(figure, axes.flat)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge speed, accuracy and loss, scenario by scenario."""
        return [
            *by_reading(lambda rule: _without_attack(results, rule)),
            _never_converge(over_rounds.rounds_to_converge(results, None, CLIENTS)),
            *by_reading(lambda rule: _under(results, rule, FLIP.name)),
            *by_reading(lambda rule: _under(results, rule, BACKDOOR.name)),
        ]


def _finals(results: Results, attack: str | None) -> dict[str, SeedValues]:
    return {rule: final(results.where(rule=rule, attack=attack), "accuracy") for rule in COMPARED}


def _without_attack(results: Results, ours: str) -> list[ClaimVerdict]:
    when = over_rounds.rounds_to_converge(results, None, CLIENTS)
    ends = _finals(results, None)
    speeds = {"fedavg": 2.7, "residual": 2.2, "trimmed-mean": 2.0, "median": 3.6, "foolsgold": 4.2, "fltrust": 4.2}
    return [
        _reaches_target(results, ours),
        ClaimVerdict(
            claim="No attack: Reputation ends at 82.13 % accuracy.",
            measured=f"It ends at {ends[ours].percent}. The same means within {100 * NEAR:g} points.",
            holds=abs(ends[ours].mean - END) <= NEAR,
        ),
        leads(
            "No attack: Reputation ends above Residual (81.79 %), Trimmed mean (80.76 %) and Median (79.94 %).",
            {"no attack": ends},
            highest=True,
            ours=ours,
            rivals=("residual", "trimmed-mean", "median"),
        ),
        leads(
            "No attack: Reputation ends as accurate as every other rule, or more.",
            {"no attack": ends},
            highest=True,
            ours=ours,
            least=-SAME,
        ),
        *(
            faster(
                f"No attack: Reputation is {'at least ' if least > 4 else ''}{least:g}x faster than {name_of(rule)}.",
                when[ours],
                {rule: when[rule]},
                least=least,
            )
            for rule, least in speeds.items()
        ),
        _lowest_loss(results, ours),
    ]


def _reaches_target(results: Results, rule: str) -> ClaimVerdict:
    claim = "No attack: Reputation reaches 82 % accuracy within 24 rounds."
    ours = results.where(rule=rule, attack=None)
    reached = rounds_to_reach(ours, {result.run.seed: TARGET for result in ours})
    measured = f"82 %: {reached.text} (of {reached.limit})."
    if not reached.always and reached.limit < TARGET_ROUND:
        return ClaimVerdict(claim=claim, measured=f"{measured} There were too few rounds.", holds=None)
    return ClaimVerdict(claim=claim, measured=measured, holds=reached.always and reached.mean <= TARGET_ROUND)


def _never_converge(when: dict[str, RoundsToReach]) -> ClaimVerdict:
    claim = "No attack: FoolsGold and FLTrust do not converge within 100 rounds."
    rules = ("foolsgold", "fltrust")
    measured = f"{listed([f'{name_of(rule)}: {when[rule].text}' for rule in rules])} (of {when[OURS].limit})."
    arrived = any(number is not None for rule in rules for number in when[rule].rounds)
    if not arrived and when[OURS].limit < 100:
        return ClaimVerdict(claim=claim, measured=f"{measured} There were too few rounds.", holds=None)
    return ClaimVerdict(claim=claim, measured=measured, holds=not arrived)


def _lowest_loss(results: Results, ours: str) -> ClaimVerdict:
    """Compare the mean training losses round by round."""
    clean = results.where(attack=None)
    losses = {rule: clean.where(rule=rule).stacked("train_loss").mean(axis=0) for rule in (ours, *RIVALS)}
    rivals = np.array([losses[rule] for rule in RIVALS])
    best = np.fmin.reduce(rivals, axis=0)
    with np.errstate(invalid="ignore"):
        won = losses[ours] <= best
    lowest = min(losses, key=lambda rule: np.nan_to_num(losses[rule][-1], nan=np.inf))
    last = "diverged" if np.isnan(losses[ours][-1]) else f"{losses[ours][-1]:.3f}"
    return ClaimVerdict(
        claim="No attack: Reputation has the lowest training loss from the first round to the last.",
        measured=f"Lowest of the seven in {int(won.sum())} of {len(won)} rounds. After the last round: "
        f"{last}; lowest is {name_of(lowest)} with {losses[lowest][-1]:.3f}.",
        holds=bool(won.all()),
    )


def _under(results: Results, ours: str, attack: str) -> list[ClaimVerdict]:
    title, speed, most, lead, far = {
        FLIP.name: ("Label flipping", 1.8, 2.0, 0.014, ""),
        BACKDOOR.name: ("Backdoor", 1.6, 2.4, 0.035, " to 33.6"),
    }[attack]
    when = over_rounds.rounds_to_converge(results, attack, CLIENTS)
    return [
        faster(
            f"{title}, 30 %: Reputation converges {speed:g}x to {most:g}x faster than all other rules.",
            when[ours],
            {rule: when[rule] for rule in RIVALS},
            least=speed,
        ),
        leads(
            f"{title}, 30 %: Reputation is {'at least ' if not far else ''}{100 * lead:g}{far} points more accurate.",
            {"30 % attackers": _finals(results, attack)},
            highest=True,
            ours=ours,
            least=lead,
        ),
    ]
