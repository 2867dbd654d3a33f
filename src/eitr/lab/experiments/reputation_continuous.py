"""Attacks that go on and on: where the attackers' reputation ends."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eitr.lab.drawing import styled
from eitr.lab.experiments.attack_scores import (
    NOTE,
    SCENES,
    by_seed,
    honest_scores,
    larger_drop,
    score_table,
    scores,
    span,
    two_rows,
)
from eitr.lab.experiments.interface import Experiment, Table, Verdict
from eitr.lab.experiments.reputation_once import attack_runs, split
from eitr.lab.profile import Profile
from eitr.lab.results import Result, Results
from eitr.lab.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOW = 0.5
MOST = 0.8
HALF = (0.4, 0.6)
"""What counts as about half, fixed beforehand."""


class ReputationContinuous(Experiment):
    """Attacks from round 3 on by clients with X parameters; from round X on by clients with 20."""

    id: ClassVar[str] = "reputation-continuous"
    title: ClassVar[str] = "Reputation under continued attack"
    paper: ClassVar[str] = "Fig. fix_rep b, varied_rep b"
    note: ClassVar[str] = NOTE

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return both figures' runs in every scene."""
        return attack_runs(profile, "from")

    def table(self, results: Results) -> Table:
        """Return scores and drops."""
        return score_table(results)

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw scores over the rounds."""
        return two_rows(*split(results))

    def verdicts(self, results: Results) -> list[Verdict]:
        """Judge where the scores end, scene by scene."""
        fixed, timed = split(results)
        found = []
        for scene in SCENES:
            if own := scene.of(timed):
                found += [_low(scene.words, own), _half(scene.words, own)]
                found.append(
                    larger_drop(
                        f"The more parameters, the larger the loss of score in the end ({scene.words}).",
                        scene.of(fixed),
                        loss,
                    )
                )
        return found


def loss(result: Result) -> float:
    """Return by which share the attackers' last score lies below the honest one."""
    return float(1.0 - scores(result)[-1] / honest_scores(result)[-1])


def _low(words: str, timed: Sequence[Result]) -> Verdict:
    """Judge whether 80 % of the attackers end below 0.5."""
    shares = list(by_seed(timed, lambda result: float(_finals(result).mean())).values())
    finals = np.concatenate([result["reputation"][-1, result["attacker"] >= 0] for result in timed])
    return Verdict(
        claim=f"In the end 80 % of the attackers score below 0.5 ({words}).",
        measured=f"Below 0.5: {span(shares)}; last scores {finals.mean():.2f} (range {finals.min():.2f} to "
        f"{finals.max():.2f}).",
        holds=float(np.mean(shares)) >= MOST,
    )


def _finals(result: Result) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return, attacker by attacker, whether its last score is low."""
    return np.asarray(result["reputation"][-1, result["attacker"] >= 0] < LOW)


def _half(words: str, timed: Sequence[Result]) -> Verdict:
    """Judge whether an attacker ends with about half of an honest score."""
    ratios = list(by_seed(timed, lambda result: 1.0 - loss(result)).values())
    return Verdict(
        claim=f"In the end an attacker has about half the score of an honest client ({words}).",
        measured=f"Attackers' score as a share of the honest one: {span(ratios)}; about half means "
        f"{HALF[0]:.0%} to {HALF[1]:.0%}.",
        holds=HALF[0] <= float(np.mean(ratios)) <= HALF[1],
    )
