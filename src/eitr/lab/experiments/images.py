"""Fig. 15: the same rules and attacks on another task, pictures of ten kinds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eitr.lab.experiments import by_share
from eitr.lab.experiments.claim_checks import floor_text, leads, listed
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import OURS, PAPER_RULES, READINGS, RIVALS
from eitr.lab.experiments.seed_statistics import SeedValues, final, floor_of
from eitr.lab.plotting import FLOOR, RULE_STYLES, as_percent, legend_below, panels, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.federated import attackers_of, paper_rule
from eitr.lab.runs.image import Flip, ImageRun, PixelBackdoor, Training
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER_SHARES = (0.3,)
"""Shares of attackers. The paper has 0.1 to 0.5; each share costs 14 runs, 3 to 7 minutes on an H200."""
PAPER_SEEDS = 1
"""Of the profile's seeds, for the same reason."""
TITLES = {Flip.name: "cats taught as dogs", PixelBackdoor.name: "pixel backdoor"}
HATCHES = {
    "reputation": "",
    "fedavg": "//",
    "residual": "\\\\",
    "median": "..",
    "trimmed-mean": "xx",
    "foolsgold": "--",
    "fltrust": "oo",
}
"""What tells the rules apart without colours."""
CLEAN = "Model without attackers"
CLIENTS = 10
LEARNED = 0.4
"""A clean model below this accuracy, four times chance, has not learned enough for a claim to be judged by it."""

QUICK = ImageRun(
    rule=paper_rule("fedavg"),
    clients=CLIENTS,
    rounds=4,
    train_images=2_000,
    test_images=500,
    training=Training(width=8, batch=32),
)
"""What two processor cores do in half a minute: an eighth of the channels, few pictures, few rounds, and, for a client
of 200 pictures to take more than a handful of steps, half the batch."""
PAPER = ImageRun(rule=paper_rule("fedavg"), clients=CLIENTS)


class ImagesExperiment(Experiment):
    """Every rule against attackers on CIFAR-10."""

    id = "images"
    title = "Another task: pictures"
    paper = printed("CIFAR_attack")
    reading = READINGS[OURS]
    note = (
        "CIFAR-10 and ResNet-18 after the last of 20 rounds, from a seeded random start (the paper's is pretrained on "
        "ImageNet): 15,000 of the 50,000 training pictures, 2 local epochs, attackers 3. The dotted lines are a model "
        "that nobody attacked. The quick profile shows only that everything works: a network an eighth as wide, 2,000 "
        "pictures, 4 rounds and label flipping alone, after which no model is good enough to judge a claim by."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return clean FedAvg for the floor, then every rule under both attacks (one in the quick profile)."""
        base = QUICK if profile.quick else PAPER
        attacks = (Flip(),) if profile.quick else (Flip(), PixelBackdoor())
        found: list[Run] = []
        for seed in profile.seeds[:PAPER_SEEDS]:
            found.append(replace(base, seed=seed))
            for attack in attacks:
                for share in PAPER_SHARES:
                    attackers = attackers_of(share, CLIENTS)
                    found += [
                        replace(
                            base,
                            seed=seed,
                            rule=paper_rule(rule, attackers, CLIENTS),
                            attack=attack,
                            attackers=attackers,
                        )
                        for rule in PAPER_RULES
                    ]
        return found

    def table(self, results: Results) -> Table:
        """Return one row per attack, share and rule; the first is the model without attackers."""
        accuracy = _clean_accuracy(results)
        first = ("none", 0.0, RULE_STYLES["fedavg"].label, accuracy.mean, accuracy.deviation, None, None, None)
        return Table(
            by_share.COLUMNS, [first, *(row for attack in _attacks(results) for row in by_share.rows(results, attack))]
        )

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy above, ASR below, one column per attack; one group of bars per share."""
        attacks = _attacks(results)
        figure, axes = panels(2, len(attacks), height=3.0, share_y="row")
        for column, attack in enumerate(attacks):
            for row, name in enumerate(("accuracy", "ASR")):
                panel = axes[row, column]
                level = _clean_accuracy(results) if name == "accuracy" else floor_of(results, attack, CLIENTS)
                _draw_bars(panel, by_share.settings(results, attack, name), level)
                panel.set_title(f"{name[0].upper()}{name[1:]}, {TITLES[attack]}")
        legend_below(figure, [panel for row in axes for panel in row], 4)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge highest accuracy, and lowest ASR but for FoolsGold, for each attack."""
        found = []
        for attack in (Flip.name, PixelBackdoor.name):
            title = TITLES[attack].capitalize()
            shares = listed(list(by_share.settings(results, attack, "accuracy"))) if attack in _attacks(results) else ""
            claims = (
                f"CIFAR-10, {TITLES[attack]}, {shares}: Reputation has the highest accuracy.",
                f"CIFAR-10, {TITLES[attack]}, {shares}: Reputation has the lowest ASR, FoolsGold's aside.",
            )
            if attack not in _attacks(results):
                found += [_unjudged(claim, f"{title}: not run in this profile.") for claim in claims]
                continue
            clean = _clean_accuracy(results)
            more = f"Without attack FedAvg has {clean.percent}."
            rivals = tuple(rule for rule in RIVALS if rule != "foolsgold")
            accuracy, success = (by_share.settings(results, attack, name) for name in ("accuracy", "ASR"))
            told = f"{_foolsgold(results, attack)} {floor_text(floor_of(results, attack, CLIENTS))}"
            judged = [
                _beyond_chance(
                    leads(claims[0], accuracy, highest=True, more=more), accuracy, RIVALS, max, _pictures(results)
                ),
                _beyond_chance(
                    leads(claims[1], success, highest=False, rivals=rivals, more=told),
                    success,
                    rivals,
                    min,
                    _pictures(results, attack),
                ),
            ]
            if not clean.mean >= LEARNED:
                why = f"The model without attackers has learned too little to judge by ({clean.percent})."
                judged = [_unjudged(verdict.claim, f"{why} {verdict.measured}") for verdict in judged]
            found += judged
        return found


def _attacks(results: Results) -> list[str]:
    """Return the attacks among the results, in the order of the figure."""
    return [attack for attack in TITLES if len(results.where(attack=attack))]


def _clean_accuracy(results: Results) -> SeedValues:
    return final(results.where(rule="fedavg", attack=None), "accuracy")


def _foolsgold(results: Results, attack: str) -> str:
    """Return FoolsGold's own ASR: the claim leaves it out, a reader should not have to."""
    settings = by_share.settings(results, attack, "ASR").items()
    shown = [f"{there['foolsgold'].percent} at {setting}" for setting, there in settings if "foolsgold" in there]
    return f"FoolsGold: {', '.join(shown)}." if shown else ""


def _pictures(results: Results, attack: str | None = None) -> int:
    """Return how many test pictures a share is of: all, those of one class (the flip's), or all but the target's."""
    run: ImageRun = next(iter(results)).run
    seeds = len({result.run.seed for result in results})
    part = {None: 10, Flip.name: 1, PixelBackdoor.name: 9}[attack]
    return seeds * run.test_images * part // 10


def _beyond_chance(
    verdict: ClaimVerdict,
    found: Mapping[str, Mapping[str, SeedValues]],
    rivals: Sequence[str],
    best: Callable[..., float],
    pictures: int,
) -> ClaimVerdict:
    """Leave a claim open where ours and the best other rule are closer than two standard errors of a share."""
    doubt = 2 * (0.25 / pictures) ** 0.5
    gaps = []
    for spreads in found.values():
        others = [spreads[rule].mean for rule in rivals if rule in spreads and not math.isnan(spreads[rule].mean)]
        if others and not math.isnan(spreads[OURS].mean):
            gaps.append(abs(spreads[OURS].mean - best(others)))
    more = f"Of {pictures} test pictures; a lead below {100 * doubt:.1f} points may be chance."
    open_ = bool(gaps) and min(gaps) < doubt
    return replace(verdict, measured=f"{verdict.measured} {more}", holds=None if open_ else verdict.holds)


def _unjudged(claim: str, why: str) -> ClaimVerdict:
    return ClaimVerdict(claim=claim, measured=why, holds=None)


def _draw_bars(axes: "Axes", found: Mapping[str, Mapping[str, SeedValues]], level: SeedValues) -> None:
    """Draw a group of bars for each share, and a line for the model without attackers."""
    width = 0.8 / max(len(spreads) for spreads in found.values())
    for group, spreads in enumerate(found.values()):
        for place, (rule, spread) in enumerate(spreads.items()):
            style = RULE_STYLES[rule]
            axes.bar(
                group + (place - (len(spreads) - 1) / 2) * width,
                spread.mean,
                0.9 * width,
                yerr=spread.deviation if np.isfinite(spread.deviation) else None,
                color=style.colour,
                edgecolor="white" if rule == "fedavg" else "black",
                linewidth=0.6,
                hatch=HATCHES[rule],
                label=style.label if group == 0 else "_nolegend_",
            )
    axes.axhline(level.mean, color=FLOOR.colour, linestyle=FLOOR.dashes, linewidth=FLOOR.width, label=CLEAN)
    axes.set_xticks(range(len(found)), list(found))
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)
    axes.set_ylim(bottom=0)
    as_percent(axes)
