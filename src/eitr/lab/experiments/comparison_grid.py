"""The grid of a comparison: which rules meet which attacks in which federations, and the run of each cell."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple, Self

from eitr.aggregation.attacker_count import UNKNOWN
from eitr.aggregation.interface import Rule
from eitr.aggregation.registry import rule_class
from eitr.attacks.interface import Attack
from eitr.attacks.registry import attack_class
from eitr.errors import InputError
from eitr.lab.experiments.robustness_grid import PLAN, TRUSTED
from eitr.lab.results.metadata import check_grid_types
from eitr.lab.runs.federated import FederatedRun, attackers_of, expected_attackers, paper_rule, participants_of
from eitr.lab.runs.private_training import PAPER, make_training, short
from eitr.lab.runs.start import RANDOM
from eitr.settings import parse_settings

NO_ATTACK = "none"
"""How a grid names the federation that nobody attacks."""
REFERENCE = "fedavg"
"""The rule that losses and floors are measured against, without attackers."""
EVERYBODY = 1.0
"""The participation of a federation whose clients take part in every round."""
MOST = 1_000_000
"""How many clients, rounds or steps there can be."""


class Setting(NamedTuple):
    """One federation of a grid."""

    share: float
    """Of attackers, where there is an attack."""
    clients: int
    alpha: float
    participation: float = EVERYBODY
    training: str = PAPER

    @property
    def participants(self) -> int:
        """How many clients take part in a round."""
        return participants_of(self.participation, self.clients)


@dataclass(frozen=True, kw_only=True)
class ReferenceRun(FederatedRun):
    """FedAvg without attackers, which measures the floor of every attack of a grid."""

    measured: tuple[tuple[str, Attack], ...] = ()
    """The attacks, as the grid writes them."""

    @property
    def probes(self) -> dict[str, Attack]:
        """Return the attacks whose success is measured."""
        return dict(self.measured)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What is compared: every rule meets every attack in every setting, and is also run without attackers.

    A rule or an attack is written as its name, then its settings: `trimmed-mean:beta=0.2`.
    """

    rules: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    attackers: tuple[float, ...] = (0.3,)
    """Shares of attackers."""
    clients: tuple[int, ...] = (10,)
    alpha: tuple[float, ...] = (0.9,)
    """Concentrations of the Dirichlet partition."""
    participation: tuple[float, ...] = (EVERYBODY,)
    """Shares of the clients that take part in a round."""
    training: tuple[str, ...] = (PAPER,)
    """How clients train: `paper`, or `private` with its settings."""
    rounds: int = 40
    steps: int = 150
    """Local steps of a client in a round."""
    learning_rate: float = 0.05

    def __post_init__(self) -> None:
        for name, what in (("rules", "rule"), ("attacks", "attack (or `none`)")):
            if not getattr(self, name):
                raise InputError(f"name at least one {what}; `eitr lab compare --list` shows them")
        for item in fields(self):
            values = getattr(self, item.name)
            if isinstance(values, tuple) and (not values or len(set(values)) < len(values)):
                raise InputError(f"{item.name}: name at least one, and each once, not {', '.join(map(str, values))}")
        if any(not 0 < share < 1 for share in self.attackers):
            raise InputError("attackers are shares of the clients, above 0 and below 1")
        if any(not 0 < share <= 1 for share in self.participation):
            raise InputError("the participation is a share of the clients, above 0, at most 1")
        if any(not 1 <= number <= MOST for number in (self.rounds, self.steps, *self.clients)):
            raise InputError(f"clients, rounds and steps are counts of at least 1 and at most {MOST}")
        if any(not 0 < number <= sys.float_info.max for number in (self.learning_rate, *self.alpha)):
            raise InputError("alpha and the learning rate must be finite and above 0")
        for setting in self.settings:
            if self.attacks != (NO_ATTACK,) and not attackers_of(setting.share, setting.clients):
                raise InputError(f"{setting.share:g} of {setting.clients} clients is nobody: take a larger share")
        for rule in self.rules:
            make_rule(rule, 0, max(self.clients))
        for attack in self.attacks:
            make_attack(attack)
        for training in self.training:
            make_training(training)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Return the grid that `as_json` wrote."""
        known = [item.name for item in fields(cls)]
        unknown = sorted(set(found) - set(known))
        if unknown:
            raise InputError(f"a comparison has {', '.join(known)}, not {', '.join(unknown)}")
        check_grid_types(found)
        values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in found.items()}
        return cls(**values)

    def as_json(self) -> dict[str, Any]:
        """Return the grid as JSON values, without a participation where everybody takes part, and without the training
        where it is the paper's.

        Grids that were stored before there were these are then equal to those of today.
        """
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        if not self.some_are_absent:
            del values["participation"]
        if self.training == (PAPER,):
            del values["training"]
        return values

    @property
    def some_are_absent(self) -> bool:
        """Whether there are federations of whose clients only some take part in a round."""
        return self.participation != (EVERYBODY,)

    @property
    def settings(self) -> Sequence[Setting]:
        """The federations."""
        return [
            Setting(share, n, alpha, participation, training)
            for training in self.training
            for n in self.clients
            for participation in self.participation
            for alpha in self.alpha
            for share in self.attackers
        ]

    @property
    def threats(self) -> Sequence[str]:
        """The attacks, without `none`."""
        return [attack for attack in self.attacks if attack != NO_ATTACK]

    def label(self, attack: str, setting: Setting) -> str:
        """Return an attack and its setting in words; what does not vary in the grid is left out.

        >>> grid = Grid(rules=("median",), attacks=("shift",), clients=(10, 50))
        >>> grid.label("shift", grid.settings[1])
        'shift, 30 %, 50 clients'
        """
        words = [attack, f"{100 * setting.share:g} %"]
        words += [f"{setting.clients} clients"] * (len(self.clients) > 1)
        words += [f"{setting.participants} a round"] * (len(self.participation) > 1)
        words += [f"alpha {setting.alpha:g}"] * (len(self.alpha) > 1)
        return ", ".join(words + [short(setting.training)] * (len(self.training) > 1))

    def run_of(
        self, rule: str, attack: str, setting: Setting, data: str, seed: int, start: str = RANDOM
    ) -> FederatedRun | None:
        """Return the run of one seed of a cell; None where the rule is not defined for so many attackers."""
        chosen = make_attack(attack)
        attackers = attackers_of(setting.share, setting.clients) if chosen else 0
        if chosen is None and rule == REFERENCE:
            return self.reference(setting, data, seed, start)
        expected = expected_attackers(attackers, setting.clients, setting.participants)
        made = make_rule(rule, expected, setting.participants)
        if made is None:
            return None
        return replace(self._federation(setting, data, seed, start), rule=made, attack=chosen, attackers=attackers)

    def reference(self, setting: Setting, data: str, seed: int, start: str = RANDOM) -> ReferenceRun:
        """Return the run that losses and floors are measured against."""
        same = self._federation(setting, data, seed, start)
        made = {attack: make_attack(attack) for attack in self.threats}
        measured = tuple((label, attack) for label, attack in made.items() if attack is not None)
        return ReferenceRun(**{item.name: getattr(same, item.name) for item in fields(same)}, measured=measured)

    def runs(self, data: str, seeds: Sequence[int], start: str = RANDOM) -> Iterator[FederatedRun]:
        """Yield all runs; some come more than once."""
        for setting in self.settings:
            for seed in seeds:
                yield self.reference(setting, data, seed, start)
                for rule in self.rules:
                    for attack in (NO_ATTACK, *self.threats):
                        run = self.run_of(rule, attack, setting, data, seed, start)
                        if run is not None:
                            yield run

    def _federation(self, setting: Setting, data: str, seed: int, start: str) -> FederatedRun:
        return FederatedRun(
            data=data,
            rule=paper_rule(REFERENCE),
            clients=setting.clients,
            alpha=setting.alpha,
            participation=setting.participation,
            rounds=self.rounds,
            steps=self.steps,
            plan=replace(PLAN, learning_rate=self.learning_rate),
            trusted=TRUSTED,
            seed=seed,
            start=start,
            training=make_training(setting.training),
        )


def make_rule(text: str, attackers: int, clients: int) -> Rule | None:
    """Return a rule of a grid, told how many attack unless it says so itself; None where it is not defined then.

    >>> make_rule("multi-krum", 3, 10), make_rule("bulyan", 3, 10), make_rule("trimmed-mean:beta=0.1", 3, 10)
    (MultiKrum(ramp=0, attackers=3), None, TrimmedMean(ramp=0, beta=0.1))
    """
    name, *assignments = text.split(":")
    chosen = rule_class(name)
    settings = parse_settings(chosen, assignments)
    told = settings.get("attackers", attackers)
    if chosen.takes_attackers and told != UNKNOWN and not chosen.defined(clients, told):
        return None
    return paper_rule(name, attackers, clients, **settings)


def make_attack(text: str) -> Attack | None:
    """Return an attack of a grid; None for `none`.

    >>> make_attack("ipm:epsilon=0.5")
    Ipm(extra_epochs=0, epsilon=0.5)
    """
    if text == NO_ATTACK:
        return None
    name, *assignments = text.split(":")
    chosen = attack_class(name)
    return chosen(**parse_settings(chosen, assignments))
