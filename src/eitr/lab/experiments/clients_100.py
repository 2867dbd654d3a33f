"""Fig. 16 and 17: convergence and attackers once more, with 100 clients."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eitr.lab.experiments import by_share, over_rounds
from eitr.lab.experiments.claim_checks import SAME, by_reading, faster, floor_text, leads
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import (
    ATTACK_TITLES,
    BACKDOOR,
    COMPARED,
    FLIP,
    RIVALS,
    SHARE,
    federations,
    with_many_clients,
    without_repeats,
)
from eitr.lab.experiments.seed_statistics import SeedValues, final, floor_of
from eitr.lab.plotting import RULE_STYLES, WIDTH, legend_below, spaced, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.federated import attackers_of
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MANY = 100
ATTACKS = (FLIP, BACKDOOR)
SHARES = (0.1, 0.3, 0.5)
"""Of attackers: the paper has 20 and 40 %, too, which would take five minutes more for each data set."""


class Clients100(Experiment):
    """Seven rules in a federation of 100."""

    id = "clients-100"
    title = "The same with 100 clients"
    paper = printed("convergence_100", "attack_100")
    note = (
        "The experiments convergence and attackers, with 100 clients and with 10, 30 and 50 % attackers. The curves "
        "over rounds are with 30 %. The profile paper has 60 rounds and two seeds here."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return every rule without attack, then under both attacks at every share."""
        many = with_many_clients(profile)
        return without_repeats(
            [
                *(run for rule in COMPARED for run in federations(many, rule, clients=MANY)),
                *(
                    run
                    for attack in ATTACKS
                    for share in SHARES
                    for rule in COMPARED
                    for run in federations(many, rule, attack, share=share, clients=MANY)
                ),
            ]
        )

    def table(self, results: Results) -> Table:
        """Return one row per attack, share and rule; the first rows are without attack."""
        table = Table((*by_share.COLUMNS, "rounds to converge"))
        for attackers, attack in ((0, None), *((_default(), attack.name) for attack in ATTACKS)):
            when = over_rounds.rounds_to_converge(_at(results, attackers), attack, MANY)
            if attack is None:
                for rule in COMPARED:
                    accuracy = final(results.where(rule=rule, attack=None), "accuracy")
                    blank = (None, None, None)
                    mean = when[rule].mean if when[rule].always else None
                    table.rows.append(
                        ("none", 0.0, RULE_STYLES[rule].label, accuracy.mean, accuracy.deviation, *blank, mean)
                    )
                continue
            labels = {RULE_STYLES[rule].label: rule for rule in COMPARED}
            for row in by_share.rows(results, attack):
                mine = when[labels[row[2]]]
                table.rows.append((*row, mine.mean if row[1] == SHARE and mine.always else None))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw accuracy over rounds above; accuracy and ASR over the share of attackers below."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, 7))
        spaced(figure)
        # Two parts, each laid out by itself: one grid for three and four panels leaves no room for their labels.
        parts: Any = figure.subfigures(2, 1, height_ratios=[1, 1.2])
        above, below = parts[0].subplots(1, 3), parts[1].subplots(1, 4)
        for panel, attack in zip(above, (None, FLIP.name, BACKDOOR.name), strict=True):
            over_rounds.draw(panel, _at(results, _default() if attack else 0), attack, "accuracy")
            panel.set_title(over_rounds.scenario_title(attack, SHARE))
            panel.set_ylabel("accuracy")
        for panel, (name, attack) in zip(
            below, [(name, attack.name) for name in ("accuracy", "ASR") for attack in ATTACKS], strict=True
        ):
            by_share.draw(panel, results, attack, name)
        legend_below(parts[1], [*above, *below], 5)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge speed, accuracy and ASR."""
        return by_reading(lambda rule: _judge(results, rule))


def _judge(results: Results, ours: str) -> list[ClaimVerdict]:
    found = [_speed(results, ours, None, 1.7, 7.1), _accuracy(results, ours, None)]
    for attack in ATTACKS:
        found += [
            _speed(results, ours, attack.name, 1.6, 3.6),
            _accuracy(results, ours, attack.name),
            leads(
                f"100 clients, {ATTACK_TITLES[attack.name]}: Reputation has the lowest ASR at every share.",
                by_share.settings(results, attack.name, "ASR"),
                highest=False,
                ours=ours,
                more=floor_text(floor_of(results, attack.name, MANY)),
            ),
        ]
    return found


def _default() -> int:
    return attackers_of(SHARE, MANY)


def _at(results: Results, attackers: int) -> Results:
    """Return the clean runs and those with so many attackers."""
    return Results(result for result in results if result.run.attackers in (0, attackers))


def _speed(results: Results, ours: str, attack: str | None, least: float, most: float) -> ClaimVerdict:
    when = over_rounds.rounds_to_converge(_at(results, _default()), attack, MANY)
    word = f"{ATTACK_TITLES[attack]}, 30 %" if attack else "no attack"
    claim = f"100 clients, {word}: Reputation converges {least:g}x to {most:g}x faster than all other rules."
    return faster(claim, when[ours], {rule: when[rule] for rule in RIVALS}, least=least)


def _accuracy(results: Results, ours: str, attack: str | None) -> ClaimVerdict:
    """Judge "the same or better accuracy": no other rule is ahead by more than half a point."""
    found: dict[str, dict[str, SeedValues]]
    if attack is None:
        word = "no attack"
        found = {word: {rule: final(results.where(rule=rule, attack=None), "accuracy") for rule in COMPARED}}
    else:
        word = ATTACK_TITLES[attack]
        found = by_share.settings(results, attack, "accuracy")
    claim = f"100 clients, {word}: Reputation is as accurate as every other rule, or more."
    return leads(claim, found, highest=True, ours=ours, least=-SAME)
