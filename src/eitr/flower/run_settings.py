"""What `[tool.flwr.app.config]` of a project and `flwr run --run-config` can set, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from eitr.aggregation.interface import Rule
from eitr.aggregation.registry import make_rule, rule_class
from eitr.errors import InputError
from eitr.model.plan import TrainingPlan
from eitr.model.random import check_seed
from eitr.settings import parse_settings

PARTITION, PARTITIONS = "partition-id", "num-partitions"
"""Names that Flower's simulation gives its nodes; a node with `partition` as identity says the first in its replies."""
KEY, PARTITION_IDENTITY = "key", "partition"
"""What `identity` may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of a federation of page classifiers. A name has dashes in the file where it has underscores here.

    >>> RunSettings.read({"rounds": 3, "batch-size": 32, "mine": "is not looked at"}).plan.batch_size
    32
    """

    rule: str = "fused"
    rule_settings: str = ""
    """Settings of the rule, as `name=value name=value`."""
    rounds: int = 10
    """Rounds in all, those of earlier runs included."""
    seed: int = 0
    checkpoint: str = "federation"
    """The folder of the checkpoint and of the finished model, on the machine of the SuperLink."""
    model: str = "shipped"
    """The model to start from: `shipped`, or a folder with model.safetensors and vocabulary.json on every machine."""
    nodes: int = 1
    """A round waits for so many nodes."""
    wait: float = 60.0
    """The seconds that it waits for them; then it begins with those that are there. It also waits as long for a node
    that disconnects in the middle."""
    timeout: float = 600.0
    """The seconds that a round waits for replies."""
    fewest: int = 2
    """With fewer good replies the model stays as it is."""
    share: float = 1.0
    """The share of the connected nodes that a round is sent to."""
    most_examples: int = 100_000
    """A reply that claims more examples is refused."""
    trusted_pages: str = ""
    """A file of pages by which the server judges models; empty: those of the package."""
    data: str = ""
    """To try things out: a data set that is divided among nodes with `partition-id`, as the lab divides it."""
    data_size: int = 0
    """How many of its pages are used; 0: all."""
    trusted: int = 100
    """How many of them the server holds back, to judge by."""
    identity: str = KEY
    """Whose reputation it is: that of a node's `key`, or, where a data set is divided, of its `partition`."""
    epochs: int = TrainingPlan().epochs
    max_batches: int = TrainingPlan().max_batches
    batch_size: int = TrainingPlan().batch_size
    learning_rate: float = TrainingPlan().learning_rate
    momentum: float = TrainingPlan().momentum
    dropout: float = TrainingPlan().dropout

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Self:
        """Return the settings of a run; refuse values of another type. Other names are the project's own business."""
        found: dict[str, Any] = {}
        for item in fields(cls):
            name = item.name.replace("_", "-")
            if name not in config:
                continue
            value, kind = config[name], type(item.default)
            if kind is float and type(value) is int:
                value = float(value)
            if type(value) is not kind:
                raise InputError(f"{name} must be of the type {kind.__name__}, not {value!r}")
            found[item.name] = value
        settings = cls(**found)
        settings.plan  # noqa: B018 - checks the numbers
        check_seed(settings.seed)
        if settings.rounds < 1 or min(settings.wait, settings.timeout, settings.trusted, settings.data_size) < 0:
            raise InputError("there must be at least one round, and no time and no number may be negative")
        if settings.identity not in (KEY, PARTITION_IDENTITY):
            raise InputError(f"identity must be {KEY} or {PARTITION_IDENTITY}, not {settings.identity!r}")
        if settings.identity == PARTITION_IDENTITY and not settings.data:
            raise InputError(
                "nodes have partitions only where a data set is divided: set `data`, or let identity be key"
            )
        return settings

    @property
    def plan(self) -> TrainingPlan:
        """How nodes train."""
        return TrainingPlan(**{item.name: getattr(self, item.name) for item in fields(TrainingPlan)})

    def make_rule(self) -> Rule:
        """Return the rule with its settings."""
        chosen = rule_class(self.rule)
        return make_rule(self.rule, **parse_settings(chosen, self.rule_settings.split()))

    def same_for_all_runs(self) -> dict[str, Any]:
        """Return what must not change when a federation goes on: what its results depend on."""
        names = (
            "model",
            "trusted_pages",
            "data",
            "data_size",
            "trusted",
            *(item.name for item in fields(TrainingPlan)),
        )
        found = {name: getattr(self, name) for name in names}
        # Not the usual identity: checkpoints of earlier versions do not name it.
        return found if self.identity == KEY else {**found, "identity": self.identity}
