"""Attacks that go on and on: where the attackers' reputation ends."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from eitr.lab.experiments.attack_scores import (
    SCENES,
    by_seed,
    honest_scores,
    larger_drop,
    scores,
    span,
)
from eitr.lab.experiments.interface import ClaimVerdict
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.reputation_once import AttackScores, split
from eitr.lab.experiments.scenario import OURS, READINGS
from eitr.lab.results.store import Result, Results

LOW = 0.5
MOST = 0.8
HALF = (0.4, 0.6)
"""What counts as about half, fixed beforehand."""


class ReputationContinuous(AttackScores):
    """Attacks that never end, and what is left of the score."""

    id: ClassVar[str] = "reputation-continuous"
    title: ClassVar[str] = "Reputation under continued attack"
    paper: ClassVar[str] = printed("fix_rep b", "varied_rep b")
    reading: ClassVar[str] = READINGS[OURS]
    schedule: ClassVar[str] = "from"

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
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


def _low(words: str, timed: Sequence[Result]) -> ClaimVerdict:
    """Judge whether 80 % of the attackers end below 0.5."""
    shares = list(by_seed(timed, lambda result: float(_finals(result).mean())).values())
    finals = np.concatenate([result["reputation"][-1, result["attacker"] >= 0] for result in timed])
    return ClaimVerdict(
        claim=f"In the end 80 % of the attackers score below 0.5 ({words}).",
        measured=f"Below 0.5: {span(shares)}; last scores {finals.mean():.2f} (range {finals.min():.2f} to "
        f"{finals.max():.2f}).",
        holds=float(np.mean(shares)) >= MOST,
    )


def _finals(result: Result) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return, attacker by attacker, whether its last score is low."""
    return np.asarray(result["reputation"][-1, result["attacker"] >= 0] < LOW)


def _half(words: str, timed: Sequence[Result]) -> ClaimVerdict:
    """Judge whether an attacker ends with about half of an honest score."""
    ratios = list(by_seed(timed, lambda result: 1.0 - loss(result)).values())
    return ClaimVerdict(
        claim=f"In the end an attacker has about half the score of an honest client ({words}).",
        measured=f"Attackers' score as a share of the honest one: {span(ratios)}; about half means "
        f"{HALF[0]:.0%} to {HALF[1]:.0%}.",
        holds=HALF[0] <= float(np.mean(ratios)) <= HALF[1],
    )
