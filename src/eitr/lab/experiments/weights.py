"""Fig. comparision: what each client's update weighs when 8 of 10 attack."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eitr.lab.experiments.claim_checks import open_where_nan
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.scenario import ATTACK_TITLES, BACKDOOR, FLIP, OURS, federations
from eitr.lab.plotting import colour_bar, heat_map, panels, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACKS = (FLIP, BACKDOOR)
ROUNDS = 10
RULES = {
    "Reputation": paper_rule(OURS),
    "Reputation with cut-off": paper_rule(OURS, cutoff=True),
    "Residual": paper_rule("residual"),
}
NOTHING = 0.001
"""A weight up to this is 0: weights sum to 1."""
SIMILAR = 2.0
"""Weights are nearly equal when the largest is at most so many times the smallest."""


class Weights(Experiment):
    """Weights round by round under Reputation and Residual."""

    id = "weights"
    title = "Weights under a majority of attackers"
    paper = "Fig. comparision"
    note = (
        "10 clients, 8 of them attackers, 10 rounds. Weights sum to 1; clients are sorted, the honest ones above the "
        "line. The figure shows the mean over the seeds. Min-max normalisation makes one weight exactly 0; the "
        "cut-off, an option from the published code, also drops weights below 1/10 of the largest."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return three rules under two attacks."""
        return [
            run
            for attack in ATTACKS
            for rule in RULES.values()
            for run in federations(profile, rule, attack, share=0.8, rounds=ROUNDS)
        ]

    def table(self, results: Results) -> Table:
        """Return one row per attack, rule and round: the mean weight of an honest client and of an attacker."""
        table = Table(("attack", "rule", "round", "honest, mean", "attackers, mean", "attackers, largest"))
        for attack in ATTACKS:
            for title in RULES:
                honest, attackers = _weights(results, attack.name, title)
                for number in range(honest.shape[1]):
                    one, other = honest[:, number], attackers[:, number]
                    table.rows.append(
                        (attack.name, title, number + 1, *map(float, (one.mean(), other.mean(), other.max())))
                    )
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw one row per attack and one column per rule; in each, clients by rounds."""
        figure, axes = panels(len(ATTACKS), len(RULES), height=2.9)
        grids = {}
        for attack in ATTACKS:
            for title in RULES:
                honest, attackers = _weights(results, attack.name, title)
                grids[attack.name, title] = np.concatenate([honest, attackers], axis=2).mean(axis=0).T, honest.shape[2]
        high = max(float(grid.max()) for grid, _ in grids.values())
        for row, attack in enumerate(ATTACKS):
            for column, title in enumerate(RULES):
                panel = axes[row, column]
                grid, honest_clients = grids[attack.name, title]
                names = [f"{'honest' if n < honest_clients else 'attacker'} {n + 1}" for n in range(len(grid))]
                rounds = [str(number + 1) for number in range(grid.shape[1])]
                mesh = heat_map(panel, grid, rows=names if column == 0 else [""] * len(names), columns=rounds, low=0,
                                 high=high)  # fmt: skip
                panel.axhline(honest_clients - 0.5, color="white", linewidth=2.5)
                panel.set_title(f"{title},\n{ATTACK_TITLES[attack.name]}")
                panel.set_xlabel("round")
        colour_bar(figure, mesh, axes, "weight")
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge, for each attack, whose weight is 0 and whose is not."""
        return [verdict for attack in ATTACKS for verdict in _judge(results, attack.name)]


def _weights(results: Results, attack: str, title: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the weights of the honest clients and of the attackers, each (seeds, rounds, clients)."""
    there = [result for result in results.where(attack=attack) if result.run.rule == RULES[title]]
    attacker = [np.asarray(result["attacker"], bool) for result in there]
    weights = [np.asarray(result["weights"], np.float64) for result in there]
    return (
        np.stack([weight[:, ~mine] for weight, mine in zip(weights, attacker, strict=True)]),
        np.stack([weight[:, mine] for weight, mine in zip(weights, attacker, strict=True)]),
    )


def _judge(results: Results, attack: str) -> list[ClaimVerdict]:
    word = ATTACK_TITLES[attack].capitalize()
    sums = {title: float(sum(part.sum() for part in _weights(results, attack, title))) for title in RULES}
    return [
        *(
            open_where_nan(_weigh_nothing(results, attack, title, word), sums[title])
            for title in RULES
            if title != "Residual"
        ),
        open_where_nan(_honest_weigh_more(results, attack, word), sums["Reputation"]),
        open_where_nan(_residual(results, attack, word), sums["Residual"]),
    ]


def _weigh_nothing(results: Results, attack: str, title: str, word: str) -> ClaimVerdict:
    _, attackers = _weights(results, attack, title)
    later = attackers[:, 1:]
    gone = float((later <= NOTHING).mean())
    return ClaimVerdict(
        claim=f"{word}, {title}: attackers weigh 0 from round 2 on.",
        measured=f"From round 2 on {100 * gone:.0f} % of the attackers' weights are 0 (at most {NOTHING:g}); the "
        f"largest is {later.max():.3f}, together they weigh {later.sum(axis=2).mean():.3f} of 1.",
        holds=bool(later.max() <= NOTHING),
    )


def _honest_weigh_more(results: Results, attack: str, word: str) -> ClaimVerdict:
    honest, attackers = _weights(results, attack, "Reputation")
    one, other = honest[:, 1:].mean(axis=(0, 2)), attackers[:, 1:].mean(axis=(0, 2))
    return ClaimVerdict(
        claim=f"{word}, Reputation: honest clients weigh more than attackers.",
        measured=f"In {int((one > other).sum())} of {len(one)} rounds from round 2 on; on average {one.mean():.3f} "
        f"against {other.mean():.3f} for a client.",
        holds=bool((one > other).all()),
    )


def _residual(results: Results, attack: str, word: str) -> ClaimVerdict:
    honest, attackers = _weights(results, attack, "Residual")
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
