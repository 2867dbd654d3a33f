"""Fig. 12: what each client's update weighs when 8 of 10 attack."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eitr.lab.experiments.claim_checks import by_reading, open_where_nan
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import ATTACK_TITLES, BACKDOOR, FLIP, OURS, READINGS, compared_rule, federations
from eitr.lab.plotting import RULE_STYLES, colour_bar, heat_map, panels, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACKS = (FLIP, BACKDOOR)
ROUNDS = 10
RULES = {
    **{RULE_STYLES[rule].label: compared_rule(rule) for rule in READINGS},
    "Reputation with cut-off": paper_rule(OURS, cutoff=True),
    "Residual": paper_rule("residual"),
}
FEWER_EPOCHS = 5
"""What attackers train by the published code's default. The paper's text has 15, a run's own default."""
NOTHING = 0.001
"""A weight up to this is 0: weights sum to 1."""
SIMILAR = 2.0
"""Weights are nearly equal when the largest is at most so many times the smallest."""


class Weights(Experiment):
    """Weights round by round under the readings of Reputation and under Residual."""

    id = "weights"
    title = "Weights under a majority of attackers"
    paper = printed("comparision")
    note = (
        "10 clients, 8 of them attackers, 10 rounds. Attackers train 15 epochs, as the paper's text says, or 5, the "
        "default of its published code; honest clients train 10. Weights sum to 1; clients are sorted, the honest ones "
        "above the line. The figure shows the mean over the seeds. Min-max normalisation makes one weight exactly 0; "
        "the cut-off, which the published code has, also drops weights below 1/10 of the largest."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return five rules under two attacks; attackers train as the text says, and as the published code has it."""
        lengths: tuple[dict[str, int], ...] = ({},) if profile.quick else ({}, {"attacker_epochs": FEWER_EPOCHS})
        return [
            run
            for attack in ATTACKS
            for rule in RULES.values()
            for changes in lengths
            for run in federations(profile, rule, attack, share=0.8, rounds=ROUNDS, **changes)
        ]

    def table(self, results: Results) -> Table:
        """Return one row per attack, number of epochs, rule and round: mean weights of honest clients and attackers."""
        table = Table(
            ("attack", "epochs of attackers", "rule", "round", "honest, mean", "attackers, mean", "attackers, largest")
        )
        for attack, epochs in _settings(results):
            for title in RULES:
                honest, attackers = _weights(results, attack, epochs, title)
                for number in range(honest.shape[1]):
                    one, other = honest[:, number], attackers[:, number]
                    means = map(float, (one.mean(), other.mean(), other.max()))
                    table.rows.append((attack, epochs, title, number + 1, *means))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw one row per attack and number of epochs, one column per rule; in each, clients by rounds."""
        settings = _settings(results)
        figure, axes = panels(len(settings), len(RULES), height=2.4)
        grids = {}
        for setting in settings:
            for title in RULES:
                honest, attackers = _weights(results, *setting, title)
                grids[setting, title] = np.concatenate([honest, attackers], axis=2).mean(axis=0).T, honest.shape[2]
        high = max(float(grid.max()) for grid, _ in grids.values())
        for row, (attack, epochs) in enumerate(settings):
            for column, title in enumerate(RULES):
                panel = axes[row, column]
                grid, honest_clients = grids[(attack, epochs), title]
                names = [f"{'honest' if n < honest_clients else 'attacker'} {n + 1}" for n in range(len(grid))]
                rounds = [str(number + 1) for number in range(grid.shape[1])]
                mesh = heat_map(panel, grid, rows=names if column == 0 else [""] * len(names), columns=rounds, low=0,
                                 high=high)  # fmt: skip
                panel.axhline(honest_clients - 0.5, color="white", linewidth=2.5)
                if row == 0:
                    panel.set_title(title.replace(" with", "\nwith"))
                if column == 0:
                    panel.set_ylabel(f"{ATTACK_TITLES[attack]},\n{epochs} epochs", fontweight="bold")
                if row == len(settings) - 1:
                    panel.set_xlabel("round")
        colour_bar(figure, mesh, axes, "weight")
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge, for each attack and number of epochs, whose weight is 0 and whose is not."""
        return [verdict for setting in _settings(results) for verdict in _judge(results, *setting)]


def _settings(results: Results) -> list[tuple[str, int]]:
    """Return the attacks, each with the numbers of epochs that attackers train, the paper's first."""
    epochs = sorted({result.run.epochs_of_attackers for result in results}, reverse=True)
    return [(attack.name, number) for attack in ATTACKS for number in epochs]


def _weights(results: Results, attack: str, epochs: int, title: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the weights of the honest clients and of the attackers, each (seeds, rounds, clients)."""
    there = list(results.where(attack=attack, epochs_of_attackers=epochs, rule=RULES[title]))
    attacker = [np.asarray(result["attacker"], bool) for result in there]
    weights = [np.asarray(result["weights"], np.float64) for result in there]
    return (
        np.stack([weight[:, ~mine] for weight, mine in zip(weights, attacker, strict=True)]),
        np.stack([weight[:, mine] for weight, mine in zip(weights, attacker, strict=True)]),
    )


def _judge(results: Results, attack: str, epochs: int) -> list[ClaimVerdict]:
    word = f"{ATTACK_TITLES[attack].capitalize()}, attackers train {epochs} epochs"
    found = {title: _weights(results, attack, epochs, title) for title in RULES}
    sums = {title: float(honest.sum() + attackers.sum()) for title, (honest, attackers) in found.items()}

    def of_rule(rule: str) -> list[ClaimVerdict]:
        title = RULE_STYLES[rule].label
        return [
            open_where_nan(_weigh_nothing(found[title][1], f"{word}, Reputation"), sums[title]),
            open_where_nan(_honest_weigh_more(*found[title], word), sums[title]),
        ]

    cutoff = "Reputation with cut-off"
    return [
        *by_reading(of_rule),
        open_where_nan(_weigh_nothing(found[cutoff][1], f"{word}, {cutoff}"), sums[cutoff]),
        open_where_nan(_residual(*found["Residual"], word), sums["Residual"]),
    ]


def _weigh_nothing(attackers: NDArray[Any], where: str) -> ClaimVerdict:
    later = attackers[:, 1:]
    gone = float((later <= NOTHING).mean())
    return ClaimVerdict(
        claim=f"{where}: attackers weigh 0 from round 2 on.",
        measured=f"From round 2 on {100 * gone:.0f} % of the attackers' weights are 0 (at most {NOTHING:g}); the "
        f"largest is {later.max():.3f}, together they weigh {later.sum(axis=2).mean():.3f} of 1.",
        holds=bool(later.max() <= NOTHING),
    )


def _honest_weigh_more(honest: NDArray[Any], attackers: NDArray[Any], word: str) -> ClaimVerdict:
    one, other = honest[:, 1:].mean(axis=(0, 2)), attackers[:, 1:].mean(axis=(0, 2))
    return ClaimVerdict(
        claim=f"{word}, Reputation: honest clients weigh more than attackers.",
        measured=f"In {int((one > other).sum())} of {len(one)} rounds from round 2 on; on average {one.mean():.3f} "
        f"against {other.mean():.3f} for a client.",
        holds=bool((one > other).all()),
    )


def _residual(honest: NDArray[Any], attackers: NDArray[Any], word: str) -> ClaimVerdict:
    means = attackers.mean(axis=(0, 1))
    later = attackers[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float((later.max(axis=2) / later.min(axis=2)).mean())
    return ClaimVerdict(
        claim=f"{word}, Residual: attackers' weights are nearly equal, and not 0.",
        measured=f"Smallest {later.min():.3f}; in a round the largest is {ratio:.2f} times the smallest on average "
        f"(nearly equal: at most {SIMILAR:g}). Mean {means.mean():.3f}; of honest clients {honest.mean():.3f}.",
        holds=bool(later.min() > NOTHING and ratio <= SIMILAR),
    )
