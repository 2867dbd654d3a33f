"""One attack: what it costs in reputation, by the size of the model and by the round."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.schedule import Schedule
from eitr.lab.experiments.attack_scores import (
    NOTE,
    SCENES,
    TIMED_PARAMETERS,
    attack_rounds,
    by_seed,
    drop,
    larger_drop,
    score_table,
    span,
    two_rows,
)
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import OURS, READINGS
from eitr.lab.plotting import styled
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run
from eitr.lab.runs.synthetic import SyntheticRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS = 20
COST = 0.2511
"""The least share of the score that one attack costs, as the paper says."""


class AttackScores(Experiment):
    """Attacks in round 3 by clients with X parameters, and in round X by clients with 20: once, or from then on."""

    note: ClassVar[str] = NOTE
    schedule: ClassVar[str]
    """`once` or `from`."""

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return both figures' runs in every scene."""
        return attack_runs(profile, self.schedule)

    def table(self, results: Results) -> Table:
        """Return scores and drops."""
        return score_table(results)

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw scores over the rounds."""
        return two_rows(*split(results))


class ReputationOnce(AttackScores):
    """One attack, and what it costs."""

    id: ClassVar[str] = "reputation-once"
    title: ClassVar[str] = "Reputation after one attack"
    paper: ClassVar[str] = printed("fix_rep a", "varied_rep a")
    reading: ClassVar[str] = READINGS[OURS]
    schedule: ClassVar[str] = "once"

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge the least drop and its growth with the number of parameters, scene by scene."""
        fixed, timed = split(results)
        return [
            verdict
            for scene in SCENES
            if scene.of(results)
            for verdict in (
                least_drop(scene.words, scene.of(timed)),
                larger_drop(
                    f"The more parameters, the larger the drop after an attack ({scene.words}).",
                    scene.of(fixed),
                    first_drop,
                ),
            )
        ]


def attack_runs(profile: Profile, kind: str) -> list[SyntheticRun]:
    """Return runs with attacks of one kind, `once` or `from`: in round 3 by size, and in round X with 20 parameters."""
    counts = (10, 50, 100, 1000) if profile.quick else (10, 20, 40, 60, 80, 100, 1000, 10_000)
    settings = [(size, 3) for size in counts] + [(TIMED_PARAMETERS, start) for start in range(1, 11)]
    return [
        SyntheticRun(
            seed=seed,
            rule=paper_rule("reputation"),
            parameters=size,
            rounds=ROUNDS,
            schedules=(Schedule(kind, start),) * scene.attackers,
            share=scene.share,
        )
        for scene in SCENES
        for size, start in dict.fromkeys(settings)
        for seed in profile.seeds
    ]


def split(results: Results) -> tuple[list[Result], list[Result]]:
    """Return the runs that attack in round 3, and those with 20 parameters; a run can be in both."""
    found = list(results)
    fixed = [r for r in found if r.run.schedules[0].start == 3]
    if len({r.run.parameters for r in fixed}) > 1:
        return fixed, [r for r in found if r.run.parameters == TIMED_PARAMETERS]
    return fixed, found


def first_drop(result: Result) -> float:
    """Return what the first attack cost."""
    return drop(result, attack_rounds(result)[0])


def least_drop(words: str, timed: Sequence[Result]) -> ClaimVerdict:
    """Judge whether an attack in any round costs at least 25.11 % of the score."""
    means = {}
    for start in sorted({r.run.schedules[0].start for r in timed}):
        own = by_seed([r for r in timed if r.run.schedules[0].start == start], first_drop)
        means[start] = list(own.values())
    if not means:
        return ClaimVerdict(claim=f"One attack costs at least 25.11 % ({words}).", measured="No runs.", holds=None)
    everything = [value for values in means.values() for value in values]
    worst = min(means, key=lambda start: sum(means[start]) / len(means[start]))
    return ClaimVerdict(
        claim=f"A single attack costs at least 25.11 % of the score ({words}).",
        measured=f"Drop: {span(everything)} over {len(means)} rounds of attack and the seeds; "
        f"smallest mean in round {worst}: {span(means[worst])}.",
        holds=min(everything) >= COST,
    )
