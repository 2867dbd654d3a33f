"""How long attackers train: the one setting that decides which rule of the paper's comparison looks best."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from eitr.lab.experiments.claim_checks import by_reading, floor_text, leads
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import (
    ATTACK_TITLES,
    BACKDOOR,
    CLIENTS,
    COMPARED,
    FLIP,
    READINGS,
    clean,
    federations,
    rules_of,
    without_repeats,
)
from eitr.lab.experiments.seed_statistics import SeedValues, final, floor_of
from eitr.lab.plotting import FLOOR, RULE_STYLES, as_percent, at_least_wide, draw_spread, legend_below, panels, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACKS = (FLIP, BACKDOOR)
COLUMNS = ("attack", "epochs of attackers", "rule")
FEWER = (5, 10)
"""Epochs that attackers train besides the 15 of the paper's text, which is a run's own default."""


class AttackerEpochs(Experiment):
    """Every rule against attackers who train half as long as honest clients, as long, and half as long again."""

    id = "attacker-epochs"
    title = "How long attackers train"
    paper = printed("SURL_attack")
    note = (
        "30 % attackers. Honest clients train 10 epochs a round. The paper's text has attackers train 5 epochs more, "
        "15; the default of its published code is 5 epochs in all. Min-max of nearly equal reputations judges how long "
        "a client's step is, not whether it is poisoned, so this setting decides who is taken for an attacker. Bands "
        "show one standard deviation, for the three readings only."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return every rule under both attacks and each number of epochs, and the clean model for the floor."""
        return without_repeats(
            [
                *clean(profile),
                *(
                    run
                    for attack in ATTACKS
                    for rule in COMPARED
                    for changes in (*({"attacker_epochs": number} for number in FEWER), {})
                    for run in federations(profile, rule, attack, **changes)
                ),
            ]
        )

    def table(self, results: Results) -> Table:
        """Return one row per attack, number of epochs and rule."""
        table = Table((*COLUMNS, "accuracy", "± accuracy", "ASR", "± ASR", "floor of ASR"))
        for attack in ATTACKS:
            floor = floor_of(results, attack.name, CLIENTS).mean
            for epochs in _epochs(results):
                for rule in rules_of(results):
                    accuracy, asr = (_final(results, attack.name, epochs, rule, name) for name in ("accuracy", "ASR"))
                    numbers = (accuracy.mean, accuracy.deviation, asr.mean, asr.deviation, floor)
                    table.rows.append((attack.name, epochs, RULE_STYLES[rule].label, *numbers))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy above, ASR below, one column per attack."""
        figure, axes = panels(2, len(ATTACKS), height=3.0, share_y="row")
        epochs = _epochs(results)
        for column, attack in enumerate(ATTACKS):
            for row, name in enumerate(("accuracy", "ASR")):
                panel = axes[row, column]
                for rule in rules_of(results):
                    found = np.array([_final(results, attack.name, number, rule, name).values for number in epochs]).T
                    # Nine bands on top of each other could not be read.
                    draw_spread(panel, epochs, found, RULE_STYLES[rule], marks=len(epochs), band=rule in READINGS)
                if name == "ASR":
                    floor = floor_of(results, attack.name, CLIENTS).mean
                    panel.axhline(floor, color=FLOOR.colour, linestyle=FLOOR.dashes, linewidth=FLOOR.width,
                                  label=FLOOR.label)  # fmt: skip
                    panel.set_ylim(bottom=0)
                else:
                    at_least_wide(panel, 0.06)
                panel.set_title(f"{name[0].upper()}{name[1:]}, {ATTACK_TITLES[attack.name]}")
                panel.set_xlabel("epochs that attackers train; honest clients train 10")
                panel.set_xticks(epochs)
                as_percent(panel)
        legend_below(figure, axes.flat, 5)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge highest accuracy and lowest ASR, for each attack and number of epochs."""
        return [
            verdict
            for attack in ATTACKS
            for epochs in _epochs(results)
            for verdict in by_reading(partial(_judge, results, attack.name, epochs))
        ]


def _epochs(results: Results) -> list[int]:
    """Return the numbers of epochs that attackers train, ascending."""
    return sorted({result.run.epochs_of_attackers for result in results if result.run.attack is not None})


def _final(results: Results, attack: str, epochs: int, rule: str, name: str) -> SeedValues:
    quantity = f"asr.{attack}" if name == "ASR" else name
    there = results.where(attack=attack, rule=rule, epochs_of_attackers=epochs)
    return final(there, quantity)


def _judge(results: Results, attack: str, epochs: int, ours: str) -> list[ClaimVerdict]:
    where = f"{ATTACK_TITLES[attack].capitalize()}, 30 %, attackers train {epochs} epochs"
    found: dict[str, Any] = {
        name: {f"{epochs} epochs": {rule: _final(results, attack, epochs, rule, name) for rule in rules_of(results)}}
        for name in ("accuracy", "ASR")
    }
    floor = floor_text(floor_of(results, attack, CLIENTS))
    return [
        leads(f"{where}: Reputation has the highest accuracy.", found["accuracy"], highest=True, ours=ours),
        leads(f"{where}: Reputation has the lowest ASR.", found["ASR"], highest=False, ours=ours, more=floor),
    ]
