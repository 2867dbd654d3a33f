"""Accuracy and loss over the rounds for every rule, and when each has converged."""

from typing import TYPE_CHECKING, Any

import numpy as np

from eitr.lab.experiments.scenario import ATTACK_TITLES, OURS, PAPER_RULES, rules_of
from eitr.lab.experiments.seed_statistics import RoundsToReach, converged_at, final, rounds_to_reach
from eitr.lab.plotting import RULE_STYLES, as_percent, draw_spread
from eitr.lab.results.store import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = (
    "attack", "rule", "accuracy", "± accuracy", "rounds to converge", "seeds that never did", "ours is faster by",
    "training loss", "diverged",
)  # fmt: skip


def scenario_title(attack: str | None, share: float) -> str:
    """Return the title of a panel."""
    return f"{ATTACK_TITLES[attack].capitalize()}, {100 * share:.0f} % attackers" if attack else "No attack"


def rounds_to_converge(results: Results, attack: str | None, clients: int) -> dict[str, RoundsToReach]:
    """Return when each rule converged under an attack: at 99 % of what clean FedAvg ends with."""
    thresholds = converged_at(results, clients)
    there = results.where(attack=attack)
    return {rule: rounds_to_reach(there.where(rule=rule), thresholds) for rule in rules_of(there)}


def rows(results: Results, attack: str | None, clients: int) -> list[tuple[Any, ...]]:
    """Return the rows of the table for one scenario: one row per rule."""
    reached = rounds_to_converge(results, attack, clients)
    ours = reached[OURS]
    found: list[tuple[Any, ...]] = []
    for rule, when in reached.items():
        there = results.where(rule=rule, attack=attack)
        accuracy = final(there, "accuracy")
        missing = sum(number is None for number in when.rounds)
        failed = sum(int(result["failed"]) > 0 for result in there)
        ratio = when.mean / ours.mean if rule in PAPER_RULES and when.always and ours.always else None
        mean = when.mean if when.always else None
        loss = final(there, "train_loss").mean
        label = RULE_STYLES[rule].label
        found.append((attack or "none", label, accuracy.mean, accuracy.deviation, mean, missing, ratio, loss, failed))
    return found


def draw(axes: "Axes", results: Results, attack: str | None, name: str) -> None:
    """Draw a recorded quantity of every rule over the rounds."""
    there = results.where(attack=attack)
    for rule in rules_of(there):
        table = there.where(rule=rule).stacked(name)
        draw_spread(axes, np.arange(1, table.shape[1] + 1), table, RULE_STYLES[rule])
    axes.set_xlabel("round")
    if name == "accuracy":
        as_percent(axes)
