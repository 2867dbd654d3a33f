"""The runs that experiments share: the paper's rules, attacks and shares, always built the same way.

Two experiments that ask for the same federation get equal runs, and equal runs are computed once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from eitr.aggregation.interface import Rule
from eitr.attacks.backdoor import Backdoor
from eitr.attacks.interface import Attack
from eitr.attacks.label_flip import LabelFlip
from eitr.lab.results.store import Results
from eitr.lab.runs.federated import FederatedRun, attackers_of, paper_rule
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

OURS = "reputation"
"""The rule of the paper's text, with the paper's rescaling."""
RIVALS = ("fedavg", "residual", "median", "trimmed-mean", "foolsgold", "fltrust")
PAPER_RULES = (OURS, *RIVALS)
READINGS = {OURS: "text", "published-code": "published code", "fused": "fused"}
"""Three readings of the paper's method, by rule: its text, its published code, and what EITR uses instead."""
COMPARED = (*READINGS, *RIVALS)
"""The rules of the experiments that compare the readings."""

FLIP: Attack = LabelFlip()
BACKDOOR: Attack = Backdoor()
ATTACK_TITLES = {FLIP.name: "label flipping", BACKDOOR.name: "backdoor"}
CLIENTS = 10
SHARE = 0.3
MANY_ROUNDS, MANY_SEEDS = 60, 2
"""Rounds and seeds of the experiments with 50 clients and more, in the profile `paper`: with 300 steps for each of 100
clients they would take most of the time of all experiments together."""


def attack_shares(profile: Profile) -> tuple[float, ...]:
    """Return the shares of attackers of the figures that vary them."""
    return (0.1, 0.3, 0.5) if profile.quick else (0.1, 0.2, 0.3, 0.4, 0.5)


def client_counts(profile: Profile) -> tuple[int, ...]:
    """Return the numbers of clients of the figures that vary them."""
    return (10, 50) if profile.quick else (10, 50, 100, 150, 200)


def with_many_clients(profile: Profile) -> Profile:
    """Return the profile of experiments with 50 clients and more: fewer rounds and seeds, as `MANY_ROUNDS` says."""
    if profile.quick:
        return profile
    return replace(profile, rounds=min(MANY_ROUNDS, profile.rounds), seeds=profile.seeds[:MANY_SEEDS])


def federations(
    profile: Profile,
    name: str | Rule,
    attack: Attack | None = None,
    *,
    share: float = SHARE,
    clients: int = CLIENTS,
    **changes: Any,
) -> list[FederatedRun]:
    """Return the runs of one point of a figure, one per seed; `name` is that of a rule, or a rule."""
    attackers = attackers_of(share, clients) if attack else 0
    rule = name if isinstance(name, Rule) else compared_rule(name, attackers, clients)
    base = FederatedRun(
        data=profile.data,
        rule=rule,
        clients=clients,
        rounds=profile.rounds,
        attack=attack,
        attackers=attackers,
        plan=profile.plan,
        steps=profile.steps,
        start=profile.start,
    )
    return [replace(base, seed=seed, **changes) for seed in profile.seeds]


def compared_rule(name: str, attackers: int = 0, clients: int = 1) -> Rule:
    """Return a rule as the paper ran it, or as it takes part beside the paper's.

    The paper's rule has no pages of the server to validate with, so `fused` has none either.
    """
    return paper_rule(name, attackers, clients, **({"validation": False} if name == "fused" else {}))


def clean(profile: Profile, clients: int = CLIENTS) -> list[FederatedRun]:
    """Return FedAvg without attackers: the floor of every attack's success."""
    return federations(profile, "fedavg", clients=clients)


def without_repeats(runs: Iterable[Run]) -> Sequence[Run]:
    """Return each run once, in order."""
    return list(dict.fromkeys(runs))


def values_of(results: Results, name: str) -> list[Any]:
    """Return the values that a field of the runs takes, ascending."""
    return sorted({getattr(result.run, name) for result in results})


def rules_of(results: Results) -> list[str]:
    """Return the rules among the results: the readings of the paper's rule first, then the others."""
    found = {result.run.rule.name for result in results}
    return [rule for rule in COMPARED if rule in found]
