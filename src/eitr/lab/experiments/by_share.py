"""Accuracy and attack success over the share of attackers, for every rule: what three figures of the paper show."""

from typing import TYPE_CHECKING, Any

import numpy as np

from eitr.lab.experiments.scenario import ATTACK_TITLES, rules_of, values_of
from eitr.lab.experiments.seed_statistics import SeedValues, final, floor_of
from eitr.lab.plotting import FLOOR, RULE_STYLES, as_percent, at_least_wide, draw_spread
from eitr.lab.results.store import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("attack", "attackers", "rule", "accuracy", "± accuracy", "ASR", "± ASR", "floor of ASR")


def shares_of(results: Results) -> list[float]:
    """Return the shares of attackers among attacked runs, ascending."""
    return sorted({result.run.attackers / result.run.clients for result in results if result.run.attackers})


def settings(results: Results, attack: str, name: str) -> dict[str, dict[str, SeedValues]]:
    """Return a final quantity by share (in words) and rule; `name` is accuracy or ASR."""
    attacked = results.where(attack=attack)
    quantity = f"asr.{attack}" if name == "ASR" else name
    found: dict[str, dict[str, SeedValues]] = {}
    for attackers in values_of(attacked, "attackers"):
        there = attacked.where(attackers=attackers)
        share = attackers / next(iter(there)).run.clients
        found[f"{100 * share:.0f} % attackers"] = {
            rule: final(there.where(rule=rule), quantity) for rule in rules_of(there)
        }
    return found


def rows(results: Results, attack: str) -> list[tuple[Any, ...]]:
    """Return the rows of the table for one attack: one row per share and rule."""
    accuracy, success = settings(results, attack, "accuracy"), settings(results, attack, "ASR")
    floor = floor_of(results, attack, next(iter(results)).run.clients).mean
    found = []
    for (setting, rules), share in zip(accuracy.items(), shares_of(results.where(attack=attack)), strict=True):
        for rule, acc in rules.items():
            asr = success[setting][rule]
            label = RULE_STYLES[rule].label
            found.append((attack, share, label, acc.mean, acc.deviation, asr.mean, asr.deviation, floor))
    return found


def draw(axes: "Axes", results: Results, attack: str, name: str) -> None:
    """Draw accuracy or ASR of every rule over the share of attackers, with the floor under an ASR."""
    attacked = results.where(attack=attack)
    quantity = f"asr.{attack}" if name == "ASR" else "accuracy"
    for rule in rules_of(attacked):
        mine = attacked.where(rule=rule)
        counts = values_of(mine, "attackers")
        table = np.array([final(mine.where(attackers=count), quantity).values for count in counts]).T
        shares = [count / next(iter(mine)).run.clients for count in counts]
        draw_spread(axes, shares, table, RULE_STYLES[rule], marks=len(shares))
    if name == "ASR":
        axes.axhline(
            floor_of(results, attack, next(iter(results)).run.clients).mean,
            color=FLOOR.colour,
            linestyle=FLOOR.dashes,
            linewidth=FLOOR.width,
            label=FLOOR.label,
        )
        axes.set_ylim(bottom=0)
    else:
        at_least_wide(axes, 0.06)
    axes.set_title(f"{name}, {ATTACK_TITLES[attack]}" if name == "ASR" else f"Accuracy, {ATTACK_TITLES[attack]}")
    axes.set_xlabel("share of attackers")
    axes.set_xticks(shares_of(attacked))
    as_percent(axes)
    as_percent(axes, x=True)
