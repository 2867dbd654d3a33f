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
RIVALS = ("fedavg", "residual", "median", "trimmed-mean", "foolsgold", "fltrust")
PAPER_RULES = (OURS, *RIVALS)
MEDIAN_RESCALING = "reputation-median"
"""Our own variant of the paper's rule, shown beside it; claims are judged for the paper's."""

FLIP: Attack = LabelFlip()
BACKDOOR: Attack = Backdoor()
ATTACK_TITLES = {FLIP.name: "label flipping", BACKDOOR.name: "backdoor"}
CLIENTS = 10
SHARE = 0.3


def attack_shares(profile: Profile) -> tuple[float, ...]:
    """Return the shares of attackers of the figures that vary them."""
    return (0.1, 0.3, 0.5) if profile.quick else (0.1, 0.2, 0.3, 0.4, 0.5)


def client_counts(profile: Profile) -> tuple[int, ...]:
    """Return the numbers of clients of the figures that vary them."""
    return (10, 50) if profile.quick else (10, 50, 100, 150, 200)


def federations(
    profile: Profile,
    variant: str | Rule,
    attack: Attack | None = None,
    *,
    share: float = SHARE,
    clients: int = CLIENTS,
    **changes: Any,
) -> list[FederatedRun]:
    """Return the runs of one point of a figure, one per seed. A variant is the name of a rule, or a rule."""
    attackers = attackers_of(share, clients) if attack else 0
    rule = variant if isinstance(variant, Rule) else variant_rule(variant, attackers, clients)
    base = FederatedRun(
        data=profile.data,
        rule=rule,
        clients=clients,
        rounds=profile.rounds,
        attack=attack,
        attackers=attackers,
        plan=profile.plan,
        steps=profile.steps,
    )
    return [replace(base, seed=seed, **changes) for seed in profile.seeds]


def variant_rule(variant: str, attackers: int = 0, clients: int = 1) -> Rule:
    """Return the rule of a variant, as the paper ran it."""
    if variant == MEDIAN_RESCALING:
        return paper_rule(OURS, rescale="median")
    return paper_rule(variant, attackers, clients)


def clean(profile: Profile, clients: int = CLIENTS) -> list[FederatedRun]:
    """Return FedAvg without attackers: the floor of every attack's success."""
    return federations(profile, "fedavg", clients=clients)


def without_repeats(runs: Iterable[Run]) -> Sequence[Run]:
    """Return each run once, in order."""
    return list(dict.fromkeys(runs))


def variant_of(run: FederatedRun) -> str:
    """Return the variant of a run: its rule's name, or that of our variant."""
    return MEDIAN_RESCALING if getattr(run.rule, "rescale", "paper") == "median" else run.rule.name


def select(results: Results, variant: str | None = None, **wanted: Any) -> Results:
    """Return the results of a variant whose run has these values."""
    return Results(result for result in results.where(**wanted) if variant is None or variant_of(result.run) == variant)


def values_of(results: Results, name: str) -> list[Any]:
    """Return the values that a field of the runs takes, ascending."""
    return sorted({getattr(result.run, name) for result in results})


def variants_of(results: Results) -> list[str]:
    """Return the variants among the results, the paper's rule first, ours beside it."""
    order = (OURS, MEDIAN_RESCALING, *RIVALS)
    found = {variant_of(result.run) for result in results}
    return [variant for variant in order if variant in found]
