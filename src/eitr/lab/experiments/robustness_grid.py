"""Who meets whom when robustness is measured: the rules, the attacks and the settings, and the run of each cell."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from eitr.aggregation.interface import Rule
from eitr.aggregation.registry import make_rule, rule_class
from eitr.attacks.interface import Attack
from eitr.attacks.registry import make_attack
from eitr.lab.runs.federated import FederatedRun, attackers_of, expected_attackers, paper_rule, participants_of
from eitr.lab.runs.profile import PROFILES, Profile
from eitr.model.plan import TrainingPlan

ROUNDS = 40
STEPS = 150
TRUSTED = 300
"""Pages of the server: what FLTrust trains on and the fused rule validates with."""
PLAN = TrainingPlan(learning_rate=0.05, momentum=0.8, batch_size=64)
MAIN_SEEDS = 5
OTHER_SEEDS = 3
QUICK_SEEDS = 1
"""A table has many cells: with one seed, the quick one of `robustness` takes two minutes on two busy cores."""

IID = 1e6
"""The concentration that stands for "all clients alike": shares differ by a thousandth. JSON knows no infinity."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A rule as it takes part: told how many attackers to expect in a round, if it asks for it."""

    label: str
    """The name in tables and figures."""
    rule: str
    settings: tuple[tuple[str, object], ...] = ()

    def make(self, attackers: int, clients: int) -> Rule | None:
        """Return the rule for rounds of so many clients; None where it is not defined for so many attackers.

        >>> BULYAN = Contender("Bulyan", "bulyan")
        >>> BULYAN.make(3, 10) is None, BULYAN.make(3, 15)
        (True, Bulyan(ramp=0, attackers=3))
        """
        chosen = rule_class(self.rule)
        if not chosen.defined(clients, attackers):
            return None
        settings = dict(self.settings)
        if chosen.takes_attackers:
            return make_rule(self.rule, attackers=attackers, **settings)
        return paper_rule(self.rule, attackers, clients, **settings)


@dataclass(frozen=True, slots=True)
class Threat:
    """An attack, or none, as a column of the table."""

    label: str
    """The name in tables and figures."""
    attack: Attack | None = None
    floor: str | None = None
    """The attack of the paper that is measured on the same pages, and so has the same floor; None where only the
    accuracy can tell."""


@dataclass(frozen=True, slots=True)
class Setting:
    """In which federation they meet."""

    label: str
    share: float = 0.3
    """Of attackers."""
    alpha: float = 0.9
    clients: int = 10
    participation: float = 1.0
    """The share of the clients that takes part in a round."""

    @property
    def attackers(self) -> int:
        """How many clients attack, where there is an attack."""
        return attackers_of(self.share, self.clients)

    @property
    def participants(self) -> int:
        """How many clients take part in a round."""
        return participants_of(self.participation, self.clients)


FEDAVG = Contender("FedAvg", "fedavg")
FUSED = Contender("Fused + validation", "fused", (("validation", True), ("without", "")))
FUSED_ALONE = Contender("Fused", "fused", (("validation", False), ("without", "")))
REPUTATION = Contender("Reputation", "reputation")
FLTRUST = Contender("FLTrust", "fltrust")
MULTI_KRUM = Contender("Multi-Krum", "multi-krum")
MEDIAN = Contender("Median", "median")
GEOMETRIC_MEDIAN = Contender("Geometric median", "geometric-median")
FLAME = Contender("FLAME", "flame")
NNM = Contender("NNM", "nnm")
DNC = Contender("DnC", "dnc")
CONTENDERS = (
    FUSED,
    FUSED_ALONE,
    REPUTATION,
    FEDAVG,
    Contender("Residual", "residual"),
    MEDIAN,
    Contender("Trimmed mean", "trimmed-mean"),
    Contender("FoolsGold", "foolsgold"),
    FLTRUST,
    MULTI_KRUM,
    Contender("Bulyan", "bulyan"),
    GEOMETRIC_MEDIAN,
    Contender("Centred clipping", "centred-clipping"),
    NNM,
    DNC,
    FLAME,
    Contender("FLDetector", "fldetector"),
    Contender("FoundationFL", "foundation-fl"),
)
STRONGEST = (FUSED, FUSED_ALONE, FLAME, GEOMETRIC_MEDIAN, FLTRUST, MEDIAN)
"""The rules whose worst case in the main table is best. Runs are named before there is a table, so these are named by
hand; a verdict says when the table has others."""
ELSEWHERE = (*STRONGEST, MULTI_KRUM, NNM, DNC)
"""The rules that meet the attacks in other settings, too: the strongest, and those that are recommended most."""
JUDGED = (FUSED, FUSED_ALONE)
"""The rules that have goals."""
FEW_CONTENDERS = (FEDAVG, REPUTATION, MULTI_KRUM, FUSED, FUSED_ALONE)
"""Of the quick profile."""

NO_ATTACK = Threat("no attack")
FLIP = Threat("label flip", make_attack("label-flip"), "label-flip")
BACKDOOR = Threat("backdoor", make_attack("backdoor"), "backdoor")
IPM = Threat("IPM 1", make_attack("ipm", epsilon=1.0))
SIGN_FLIP = Threat("sign flip", make_attack("sign-flip"))
SHIFT = Threat("shift", make_attack("shift"))
SCALED_FLIP = Threat("scaled flip", make_attack("scaling", of="label-flip"), "label-flip")
SYBILS = Threat("sybils", make_attack("sybil"), "label-flip")
THREATS = (
    NO_ATTACK,
    FLIP,
    BACKDOOR,
    Threat("ALIE", make_attack("alie")),
    Threat("IPM 0.1", make_attack("ipm", epsilon=0.1)),
    IPM,
    Threat("Min-Max", make_attack("min-max")),
    Threat("Min-Sum", make_attack("min-sum")),
    Threat("Fang", make_attack("fang")),
    SIGN_FLIP,
    Threat("noise", make_attack("noise")),
    SHIFT,
    SCALED_FLIP,
    Threat("DBA", make_attack("dba"), "backdoor"),
    Threat("Neurotoxin", make_attack("neurotoxin"), "backdoor"),
    SYBILS,
    Threat("on-off", make_attack("on-off"), "label-flip"),
    Threat("whitewash", make_attack("whitewash")),
    Threat("slander", make_attack("slander")),
)
FEW_THREATS = (NO_ATTACK, FLIP, BACKDOOR, IPM, SIGN_FLIP)
"""Of the quick profile."""

MAIN = Setting("30 % attackers, Dirichlet 0.9")
MANY_ATTACKERS = Setting("40 % attackers", share=0.4)
SKEWED = Setting("Dirichlet 0.1", alpha=0.1)
MANY_CLIENTS = Setting("50 clients", clients=50)
OTHER_SETTINGS = (
    Setting("10 % attackers", share=0.1),
    Setting("20 % attackers", share=0.2),
    MANY_ATTACKERS,
    SKEWED,
    Setting("Dirichlet 0.5", alpha=0.5),
    Setting("IID", alpha=IID),
    MANY_CLIENTS,
)


def federation(profile: Profile) -> FederatedRun:
    """Return the federation of which every cell changes something; the quick profile has its own, shorter plan."""
    base = FederatedRun(data=profile.data, rule=make_rule(FEDAVG.rule), trusted=TRUSTED, start=profile.start)
    if profile.quick:
        steps = profile.plan.epochs * profile.plan.max_batches
        return replace(base, rounds=profile.rounds, steps=steps, plan=profile.plan)
    return replace(base, rounds=ROUNDS, steps=STEPS, plan=PLAN)


def seeds_of(profile: Profile, usual: int) -> tuple[int, ...]:
    """Return as many seeds as usual in the paper profile; fewer, when fewer than the profile's own are asked for."""
    if profile.quick:
        return profile.seeds[:QUICK_SEEDS]
    return profile.seeds if len(profile.seeds) < len(PROFILES[profile.name].seeds) else tuple(range(usual))


def run_of(base: FederatedRun, who: Contender, threat: Threat, setting: Setting, seed: int) -> FederatedRun | None:
    """Return the run of one seed of a cell; None where the rule is not defined."""
    attackers = setting.attackers if threat.attack else 0
    rule = who.make(expected_attackers(attackers, setting.clients, setting.participants), setting.participants)
    if rule is None:
        return None
    return replace(
        base,
        rule=rule,
        attack=threat.attack,
        attackers=attackers,
        alpha=setting.alpha,
        clients=setting.clients,
        participation=setting.participation,
        seed=seed,
    )


def runs_of(
    base: FederatedRun, who: Contender, threat: Threat, setting: Setting, seeds: tuple[int, ...]
) -> Iterator[FederatedRun]:
    """Yield the runs of a cell: one per seed, or none where the rule is not defined."""
    for seed in seeds:
        run = run_of(base, who, threat, setting, seed)
        if run is not None:
            yield run


def seeds_in(setting: Setting, who: Contender) -> int:
    """Return how many seeds a cell of another setting has: where goals are judged, as many as the main table."""
    return MAIN_SEEDS if setting == MANY_CLIENTS and who in (*JUDGED, FEDAVG) else OTHER_SEEDS
