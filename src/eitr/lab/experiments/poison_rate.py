"""Fig. 8: how much an attacker poisons, against the reputation rule."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eitr.attacks.backdoor import Backdoor
from eitr.attacks.label_flip import LabelFlip
from eitr.lab.experiments.claim_checks import floor_text, stable, trend
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import BACKDOOR, CLIENTS, FLIP, OURS, READINGS, clean, federations, without_repeats
from eitr.lab.experiments.seed_statistics import SeedValues, final, floor_of
from eitr.lab.plotting import FLOOR, RULE_STYLES, as_percent, at_least_wide, draw_spread, legend_below, panels, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLIGHTLY = 0.10
"""The largest change of an ASR that counts as slight."""


class PoisonRate(Experiment):
    """The share of flipped pages, and the number of trigger words."""

    id = "poison-rate"
    title = "How much is poisoned"
    paper = printed("attack_percent")
    note = (
        "Reputation rule, 30 % attackers. The floor is that of a clean model; for the backdoor it is measured with 10 "
        "trigger words."
    )
    reading = READINGS[OURS]

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return reputation under flips of more and more pages, and triggers of more and more words."""
        shares = (0.1, 0.5, 0.9) if profile.quick else (0.1, 0.3, 0.5, 0.7, 0.9)
        words = (5, 20, 25) if profile.quick else (5, 10, 15, 20, 25)
        attacks = [*(LabelFlip(share=share) for share in shares), *(Backdoor(words=number) for number in words)]
        return without_repeats(
            [*clean(profile), *(run for attack in attacks for run in federations(profile, OURS, attack))]
        )

    def table(self, results: Results) -> Table:
        """Return one row per degree of poisoning."""
        table = Table(("attack", "degree", "accuracy", "± accuracy", "ASR", "± ASR", "floor of ASR"))
        for attack in (FLIP.name, BACKDOOR.name):
            floor = floor_of(results, attack, CLIENTS).mean
            for degree in _degrees(results, attack):
                accuracy, asr = (_final(results, attack, degree, name) for name in ("accuracy", f"asr.{attack}"))
                numbers = (accuracy.mean, accuracy.deviation, asr.mean, asr.deviation, floor)
                table.rows.append((attack, _words(attack, degree), *numbers))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy above, ASR below; the share on the left, the words on the right."""
        figure, axes = panels(2, 2, share_y="row")
        ours = RULE_STYLES[OURS]
        for column, attack in enumerate((FLIP.name, BACKDOOR.name)):
            degrees = _degrees(results, attack)
            for row, (name, title) in enumerate((("accuracy", "Accuracy"), (f"asr.{attack}", "ASR"))):
                panel = axes[row, column]
                table = np.array([_final(results, attack, degree, name).values for degree in degrees]).T
                draw_spread(panel, degrees, table, ours, marks=len(degrees))
                panel.set_xticks(degrees)
                as_percent(panel)
                if attack == FLIP.name:
                    panel.set_title(f"{title}, label flipping")
                    panel.set_xlabel("share of the attackers' health pages that are flipped")
                    as_percent(panel, x=True)
                else:
                    panel.set_title(f"{title}, backdoor")
                    panel.set_xlabel("trigger words")
            axes[1, column].axhline(
                floor_of(results, attack, CLIENTS).mean,
                color=FLOOR.colour,
                linestyle=FLOOR.dashes,
                linewidth=FLOOR.width,
                label=FLOOR.label,
            )
            axes[1, column].set_ylim(bottom=0)
            at_least_wide(axes[0, column], 0.06)
        legend_below(figure, axes.flat)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge two trends over the share, and two claims about the words."""
        flips, words = _degrees(results, FLIP.name), _degrees(results, BACKDOOR.name)
        ends = (flips[0], flips[-1])
        floors = {name: floor_text(floor_of(results, name, CLIENTS)) for name in (FLIP.name, BACKDOOR.name)}
        few = [number for number in words if number <= 20]
        asr = {number: _final(results, BACKDOOR.name, number, f"asr.{BACKDOOR.name}") for number in words}
        mean_of_few = SeedValues(
            tuple(float(np.mean(values)) for values in zip(*(asr[n].values for n in few), strict=True))
        )
        return [
            trend(
                "Accuracy falls with the share of flipped pages.",
                *((f"{100 * share:.0f} %", _final(results, FLIP.name, share, "accuracy")) for share in ends),
                rises=False,
            ),
            trend(
                "ASR rises slightly with the share of flipped pages.",
                *((f"{100 * share:.0f} %", _final(results, FLIP.name, share, f"asr.{FLIP.name}")) for share in ends),
                rises=True,
                at_most=SLIGHTLY,
                more=floors[FLIP.name],
            ),
            stable(
                "The backdoor's ASR stays the same from 5 to 20 trigger words.",
                None,
                {f"{number:g} words": asr[number] for number in few},
                floors[BACKDOOR.name],
            ),
            trend(
                "The backdoor's ASR is lower with 25 trigger words.",
                (f"5 to 20 words ({len(few)} points)", mean_of_few),
                ("25 words", asr[words[-1]]),
                rises=False,
                more=floors[BACKDOOR.name],
            ),
        ]


def _degree(attack: Any) -> float:
    """Return what this experiment varies of an attack: the share of a flip, the words of a backdoor."""
    return float(attack.share) if attack.name == FLIP.name else float(attack.words)


def _degrees(results: Results, attack: str) -> list[float]:
    return sorted({_degree(result.run.attack) for result in results.where(attack=attack)})


def _words(attack: str, degree: float) -> str:
    return f"{100 * degree:.0f} % of the pages" if attack == FLIP.name else f"{degree:.0f} words"


def _final(results: Results, attack: str, degree: float, name: str) -> SeedValues:
    there = results.where(rule=OURS, attack=attack)
    return final(Results(result for result in there if _degree(result.run.attack) == degree), name)
