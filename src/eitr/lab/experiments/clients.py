"""Fig. 9: the reputation rule in larger and larger federations."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eitr.lab.experiments.claim_checks import stable
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import (
    ATTACK_TITLES,
    BACKDOOR,
    FLIP,
    OURS,
    READINGS,
    clean,
    client_counts,
    federations,
    values_of,
    with_many_clients,
    without_repeats,
)
from eitr.lab.experiments.seed_statistics import SeedValues, final, floor_of
from eitr.lab.plotting import as_percent, at_least_wide, draw_spread, legend_below, panels, series_style, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACKS = (FLIP, BACKDOOR)


class Clients(Experiment):
    """30 % attackers among 10 to 200 clients."""

    id = "clients"
    title = "More and more clients"
    paper = printed("num_clients")
    note = (
        "Reputation rule, 30 % attackers. The floor is that of clean FedAvg with as many clients. The profile paper "
        "has 60 rounds and two seeds here."
    )
    reading = READINGS[OURS]

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return reputation under both attacks, and the clean model for the floor, for each number of clients."""
        many = with_many_clients(profile)
        return without_repeats(
            run
            for count in client_counts(profile)
            for group in (
                clean(many, count),
                *(federations(many, OURS, attack, clients=count) for attack in ATTACKS),
            )
            for run in group
        )

    def table(self, results: Results) -> Table:
        """Return one row per attack and number of clients."""
        table = Table(("attack", "clients", "accuracy", "± accuracy", "ASR", "± ASR", "floor of ASR"))
        for attack in ATTACKS:
            for count in values_of(results, "clients"):
                accuracy, asr = (_final(results, attack.name, count, name) for name in ("accuracy", "ASR"))
                floor = floor_of(results, attack.name, count).mean
                table.rows.append(
                    (attack.name, count, accuracy.mean, accuracy.deviation, asr.mean, asr.deviation, floor)
                )
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy on the left, ASR with its floors on the right."""
        figure, axes = panels(1, 2, height=3.0)
        counts = values_of(results, "clients")
        places = np.arange(len(counts))
        for panel, name in zip(axes[0], ("accuracy", "ASR"), strict=True):
            for number, attack in enumerate(ATTACKS):
                style = series_style(number, f"Reputation under {ATTACK_TITLES[attack.name]}")
                table = np.array([_final(results, attack.name, count, name).values for count in counts]).T
                draw_spread(panel, places, table, style, marks=len(counts))
                if name == "ASR":
                    floors = [floor_of(results, attack.name, count).mean for count in counts]
                    label = f"floor of {ATTACK_TITLES[attack.name]}"
                    panel.plot(places, floors, color=style.colour, linestyle=(0, (1, 3)), linewidth=1.2, label=label)
                    panel.set_ylim(bottom=0)
            at_least_wide(panel, 0.06)
            panel.set_title("Accuracy" if name == "accuracy" else name)
            panel.set_xticks(places, [str(count) for count in counts])
            panel.set_xlabel("clients, 30 % of them attackers")
            as_percent(panel)
        legend_below(figure, axes.flat)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge stability, for each attack."""
        return [self._stable(results, attack.name) for attack in ATTACKS]

    def _stable(self, results: Results, attack: str) -> ClaimVerdict:
        counts = values_of(results, "clients")
        floors = ", ".join(f"{100 * floor_of(results, attack, count).mean:.1f} % ({count})" for count in counts)
        return stable(
            f"{ATTACK_TITLES[attack].capitalize()}: accuracy and ASR are stable from 10 to 200 clients.",
            {f"{count} clients": _final(results, attack, count, "accuracy") for count in counts},
            {f"{count} clients": _final(results, attack, count, "ASR") for count in counts},
            f"Floors by clients: {floors}.",
        )


def _final(results: Results, attack: str, clients: int, name: str) -> SeedValues:
    quantity = f"asr.{attack}" if name == "ASR" else name
    return final(results.where(rule=OURS, attack=attack, clients=clients), quantity)
