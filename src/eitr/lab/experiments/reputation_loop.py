"""Attacks far apart: does a client that behaves in between get away with the next one?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eitr.attacks.schedule import Schedule
from eitr.lab.experiments.attack_scores import (
    HONEST,
    Scene,
    attack_rounds,
    drop,
    honest_scores,
    larger_drop,
    score_table,
    scores,
    sizes,
    span,
)
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import OURS, READINGS
from eitr.lab.plotting import draw_spread, panels, series_style, styled
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run
from eitr.lab.runs.synthetic import BLATANT, POLLUTED, SyntheticRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS = 100
PAUSES = (50, 60, 70, 80)
EVERY = Schedule("loop", 10, 40)
"""Rounds 10, 50 and 90."""
MANY = 100_000
"""From so many parameters on one seed is enough."""
SLIGHTLY = 0.1
"""The most that counts as slightly, fixed beforehand."""


class ReputationLoop(Experiment):
    """Attacks in rounds 10, 50 and 90, by number of parameters; and a second attack after 50 to 80 rounds."""

    id: ClassVar[str] = "reputation-loop"
    title: ClassVar[str] = "Reputation when attacks lie far apart"
    paper: ClassVar[str] = printed("rep_loop")
    reading: ClassVar[str] = READINGS[OURS]
    note: ClassVar[str] = (
        "Drawn updates as in reputation-once. The largest model serves both halves of the figure in one federation: "
        "one client attacks in rounds 10, 50 and 90, four more in rounds 11 to 14 and again after a pause of 50 to 80 "
        "rounds, each alone in its round, which is why they start up to four rounds later than in the paper. From "
        "100,000 parameters on there is one seed: so many are their own average. In the quick profile 10,000 "
        "stand for the million. Three attackers at once, the usual share, are judged with the smaller models."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return the smaller models, alone and three at once, and the largest for both halves of the figure."""
        counts = (10, 100, 1000, 10_000) if profile.quick else (10, 100, 1000, 10_000, 100_000, 1_000_000)
        pausing = tuple(Schedule("loop", 11 + number, pause) for number, pause in enumerate(PAUSES))
        plans = [(size, (EVERY,) * number) for size in counts[:-1] for number in (1, 3) if number == 1 or size < MANY]
        return [
            SyntheticRun(
                seed=seed,
                rule=paper_rule("reputation"),
                parameters=size,
                rounds=ROUNDS,
                schedules=schedules,
                share=share,
            )
            for share in (BLATANT, POLLUTED)
            for size, schedules in [*plans, (counts[-1], (EVERY, *pausing))]
            for seed in (profile.seeds[:1] if size >= MANY or size == counts[-1] else profile.seeds)
        ]

    def table(self, results: Results) -> Table:
        """Return scores and drops."""
        return score_table(results)

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw by size on the left, by pause on the right; one row per strength."""
        figure, axes = panels(2, 2, share_y=True)
        for row, share in enumerate((BLATANT, POLLUTED)):
            alone = [r for r in results if r.run.share == share and _alone(r)]
            for number, size in enumerate(sizes(alone)):
                values = np.stack([scores(r, 0) for r in alone if r.run.parameters == size])
                style = series_style(number, f"{size:,} parameters")
                draw_spread(axes[row, 0], np.arange(1, values.shape[1] + 1), values, style, marks=12)
            largest = [r for r in alone if len(r.run.schedules) > 1]
            for number in range(1, len(PAUSES) + 1):
                values = np.stack([scores(r, number) for r in largest])
                style = series_style(number - 1, f"again after {PAUSES[number - 1]} rounds")
                draw_spread(axes[row, 1], np.arange(1, values.shape[1] + 1), values, style, marks=12)
            honest = np.stack([honest_scores(r) for r in largest])
            for panel in axes[row]:
                draw_spread(panel, np.arange(1, honest.shape[1] + 1), honest, HONEST)
                panel.set_ylim(0, 1.05)
                panel.set_xlabel("round")
                words = Scene(1, share).words.split(", ")[1]
                panel.set_title(words.capitalize())
                panel.legend(loc="lower right", ncols=2, fontsize=8)
            axes[row, 0].set_ylabel("reputation score")
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge whether every attack shows in the score, and whether more parameters cost slightly more."""
        found = []
        for share in (BLATANT, POLLUTED):
            own = [r for r in results if r.run.share == share]
            words = {1: Scene(1, share).words, 3: Scene(3, share).words}
            alone, three = [r for r in own if _alone(r)], Scene(3, share).of(own)
            found += [detected(words[1], alone), detected(words[3], three)]
            found.append(
                larger_drop(
                    f"The more parameters, the slightly larger the drop ({words[1]}).", alone, mean_drop, SLIGHTLY
                )
            )
        return found


def _alone(result: Result) -> bool:
    """Return whether attackers never attack together."""
    return int(result["attacking"].sum(axis=1).max()) == 1


def mean_drop(result: Result) -> float:
    """Return what an attack of the client that attacks every 40 rounds costs it, on average."""
    return float(np.mean([drop(result, round, 0) for round in attack_rounds(result, 0)]))


def detected(words: str, results: Sequence[Result]) -> ClaimVerdict:
    """Judge whether every attack brings the attacker below every honest client of that round."""
    claim = f"An attacker that behaves well for 40 to 80 rounds is still found out by every attack ({words})."
    below, drops = [], []
    for result in results:
        honest = result["reputation"][:, result["attacker"] < 0].min(axis=1)
        for client in np.flatnonzero(result["attacker"] >= 0):
            number = int(result["attacker"][client])
            for round in attack_rounds(result, number):
                below.append(bool(result["reputation"][round - 1, client] < honest[round - 1]))
                drops.append(drop(result, round, number))
    if not below:
        return ClaimVerdict(claim=claim, measured="No runs.", holds=None)
    return ClaimVerdict(
        claim=claim,
        measured=f"In {sum(below)} of {len(below)} attacks the score fell below that of every honest client. "
        f"Drop: {span(drops)}.",
        holds=all(below),
    )
