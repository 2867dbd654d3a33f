"""Fig. 11: the settings of the reputation model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eitr.lab.experiments.claim_checks import floor_text, stable
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import CLIENTS, FLIP, OURS, READINGS, clean, federations, without_repeats
from eitr.lab.experiments.seed_statistics import SeedValues, final, floor_of
from eitr.lab.plotting import as_percent, draw_spread, heat_map, panels, series_style, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KAPPA, A, C, S = 0.3, 0.5, 0.5, 10
"""The paper's defaults."""


class Hyper(Experiment):
    """kappa and a on a grid, then c and s one by one."""

    id = "hyper"
    title = "Settings of the reputation model"
    paper = printed("hyper")
    note = (
        "Label flipping by 30 % of the clients. kappa is the weight of a positive observation, a the share of "
        "uncertainty that counts as belief, c the decay of old rounds, s the rounds remembered. The rest is as in "
        "the paper."
    )
    reading = READINGS[OURS]

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return the grid, the two lines, and the clean model for the floor."""
        kappas = (0.1, 0.3, 0.4) if profile.quick else (0.1, 0.2, 0.3, 0.4)
        priors = (0.1, 0.5, 0.9) if profile.quick else (0.1, 0.3, 0.5, 0.7, 0.9)
        decays = (0.1, 2.0) if profile.quick else (0.1, 1.0, 2.0)
        windows = (1, 20) if profile.quick else (1, 5, 20)
        rules = [
            *(paper_rule(OURS, kappa=kappa, a=a) for kappa in kappas for a in priors),
            *(paper_rule(OURS, c=c) for c in decays),
            *(paper_rule(OURS, s=s) for s in windows),
        ]
        return without_repeats([*clean(profile), *(run for rule in rules for run in federations(profile, rule, FLIP))])

    def table(self, results: Results) -> Table:
        """Return one row per setting."""
        table = Table(("kappa", "a", "c", "s", "accuracy", "± accuracy", "ASR", "± ASR", "floor of ASR"))
        floor = floor_of(results, FLIP.name, CLIENTS).mean
        attacked = results.where(attack=FLIP.name)
        for kappa, a, c, s in sorted({_settings(result.run.rule) for result in attacked}):
            accuracy, asr = (_final(results, name, kappa=kappa, a=a, c=c, s=s) for name in ("accuracy", "ASR"))
            numbers = (accuracy.mean, accuracy.deviation, asr.mean, asr.deviation, floor)
            table.rows.append((kappa, a, c, s, *numbers))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw the grid as two heat maps, c and s as lines."""
        figure, axes = panels(2, 2, height=2.9)
        kappas, priors = _values(results, "kappa"), _values(results, "a")
        for panel, name in zip(axes[0], ("accuracy", "ASR"), strict=True):
            grid = 100 * np.array([[_final(results, name, kappa=k, a=a).mean for a in priors] for k in kappas])
            heat_map(
                panel,
                grid,
                rows=[f"{kappa:g}" for kappa in kappas],
                columns=[f"{a:g}" for a in priors],
                # A point at least on either side: noise must not look like a landscape.
                low=float(np.min(grid, where=np.isfinite(grid), initial=100)) - 1,
                high=float(np.max(grid, where=np.isfinite(grid), initial=0)) + 1,
                text=".1f",
            )
            panel.set_title("Accuracy, %" if name == "accuracy" else "ASR, %")
            panel.set_xlabel("a")
            panel.set_ylabel("kappa")
        for panel, setting in zip(axes[1], ("c", "s"), strict=True):
            values = _values(results, setting)
            places = np.arange(len(values))
            for number, name in enumerate(("accuracy", "ASR")):
                table = np.array([_final(results, name, **{setting: value}).values for value in values]).T
                draw_spread(panel, places, table, series_style(number, name), marks=len(values))
            panel.set_title(f"Accuracy and ASR over {setting}")
            panel.set_xlabel({"c": "c, decay of old rounds", "s": "s, rounds remembered"}[setting])
            panel.set_xticks(places, [f"{value:g}" for value in values])
            panel.set_ylim(0, 1)
            as_percent(panel)
            panel.legend()
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge stability over the grid, over c and over s."""
        floor = floor_text(floor_of(results, FLIP.name, CLIENTS))
        grid = [(kappa, a) for kappa in _values(results, "kappa") for a in _values(results, "a")]
        return [
            stable(
                "Accuracy and ASR are stable over kappa and a.",
                {f"kappa {k:g}, a {a:g}": _final(results, "accuracy", kappa=k, a=a) for k, a in grid},
                {f"kappa {k:g}, a {a:g}": _final(results, "ASR", kappa=k, a=a) for k, a in grid},
                floor,
            ),
            *(
                stable(
                    f"The {word} {setting} does not matter.",
                    {
                        f"{setting} {v:g}": _final(results, "accuracy", **{setting: v})
                        for v in _values(results, setting)
                    },
                    {f"{setting} {v:g}": _final(results, "ASR", **{setting: v}) for v in _values(results, setting)},
                    floor,
                )
                for setting, word in (("c", "decay"), ("s", "window"))
            ),
        ]


def _settings(rule: Any) -> tuple[float, float, float, int]:
    return rule.kappa, rule.a, rule.c, rule.s


def _values(results: Results, setting: str) -> list[Any]:
    """Return the values of a setting, ascending."""
    return sorted({getattr(result.run.rule, setting) for result in results.where(attack=FLIP.name)})


def _final(results: Results, name: str, *, kappa: float = KAPPA, a: float = A, c: float = C, s: int = S) -> SeedValues:
    wanted = (kappa, a, c, s)
    there = Results(result for result in results.where(attack=FLIP.name) if _settings(result.run.rule) == wanted)
    return final(there, f"asr.{FLIP.name}" if name == "ASR" else name)
