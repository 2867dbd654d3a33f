"""Our goals for the fused rule, fixed before the table was measured, and the verdict on each.

Numbers are means over the seeds. A rule whose training diverged in a seed misses its goal.
"""

import math
from dataclasses import dataclass

from eitr.lab.experiments.claim_checks import floor_text, listed, points
from eitr.lab.experiments.interface import ClaimVerdict
from eitr.lab.experiments.robustness_cells import Cells
from eitr.lab.experiments.robustness_grid import (
    BACKDOOR,
    CONTENDERS,
    ELSEWHERE,
    FEDAVG,
    FLIP,
    FUSED,
    FUSED_ALONE,
    MAIN,
    MANY_ATTACKERS,
    MANY_CLIENTS,
    NO_ATTACK,
    SKEWED,
    STRONGEST,
    THREATS,
    Contender,
    Setting,
    Threat,
)
from eitr.lab.experiments.seed_statistics import RoundsToReach, rounds_to_reach

LEARNED = 0.8
"""The accuracy that the speed of learning is measured by."""
SLOWER = 1.1
"""Our rule may need this many times the rounds of FedAvg to reach it."""
CLEAN_LOSS = 0.003
"""The accuracy that may be lost without attackers."""
NEAR_BEST = 0.01
"""How far behind the best rule the worst case may be in the hardest settings."""
_ROUNDING = 1e-9
"""Differences of means are rounded: a value at the limit may come out this far above it."""

DIVERGED = "Training diverged."


@dataclass(frozen=True, slots=True)
class Goal:
    """What a rule may lose, and by how much attacks may succeed above their floors."""

    who: Contender
    loss: float
    flip: float
    backdoor: float


GOALS = (
    Goal(FUSED, loss=0.015, flip=0.05, backdoor=0.03),
    Goal(FUSED_ALONE, loss=0.025, flip=0.15, backdoor=0.06),
)


def verdicts(cells: Cells) -> list[ClaimVerdict]:
    """Judge every goal, and whether the rules taken to other settings are the right ones."""
    found = []
    for goal in GOALS:
        for setting in (MAIN, MANY_CLIENTS):
            found += [
                never_loses(cells, goal.who, goal.loss, setting),
                keeps_out(cells, goal.who, FLIP, goal.flip, setting),
                keeps_out(cells, goal.who, BACKDOOR, goal.backdoor, setting),
            ]
        found += [costs_nothing(cells, goal.who), learns_as_fast(cells, goal.who)]
    found += [best_or_near(cells, setting) for setting in (MANY_ATTACKERS, SKEWED)]
    return [*found, chosen_well(cells)]


def never_loses(cells: Cells, who: Contender, most: float, setting: Setting = MAIN) -> ClaimVerdict:
    """Judge the worst case over all attacks."""
    claim = f"{_where(who, setting)}: no attack costs more than {100 * most:g} points of accuracy against clean FedAvg."
    worst = cells.worst_loss(who, setting)
    if worst is None:
        return _not_run(claim)
    cell = cells.at(who, worst.threat, setting)
    attacks = sum(threat.attack is not None for threat in cells.threats)
    told = (
        f"Of {attacks} attacks, worst: {worst.threat.label}, {_lost(worst.value)} ({cell.accuracy.percent})."
        if cell
        else ""
    )
    return _judged(claim, told, worst.value, most)


def keeps_out(cells: Cells, who: Contender, threat: Threat, most: float, setting: Setting = MAIN) -> ClaimVerdict:
    """Judge an attack's success against its floor."""
    claim = f"{_where(who, setting)}: the ASR of the {threat.label} is at most its floor + {100 * most:g} points."
    cell = cells.at(who, threat, setting)
    if cell is None or cell.success is None or cell.floor is None or cell.excess is None:
        return _not_run(claim)
    above = "diverged" if math.isinf(cell.excess) else f"{points(cell.excess)} against its floor"
    told = f"ASR {cell.success.percent}: {above}. {floor_text(cell.floor)}"
    return _judged(claim, told, cell.excess, most)


def costs_nothing(cells: Cells, who: Contender) -> ClaimVerdict:
    """Judge the accuracy without attackers."""
    claim = f"{who.label}: without attack it ends within {100 * CLEAN_LOSS:g} points of FedAvg."
    mine, clean = cells.at(who, NO_ATTACK), cells.at(FEDAVG, NO_ATTACK)
    if mine is None or clean is None:
        return _not_run(claim)
    told = f"{mine.accuracy.percent}, FedAvg {clean.accuracy.percent}: {_lost(mine.harm)}."
    return _judged(claim, told, mine.harm, CLEAN_LOSS)


def learns_as_fast(cells: Cells, who: Contender) -> ClaimVerdict:
    """Judge the first round with an accuracy of 80 % without attackers."""
    claim = f"{who.label}: without attack it takes at most {100 * (SLOWER - 1):.0f} % more rounds to 80 % than FedAvg."
    mine, theirs = (_arrival(cells, one) for one in (who, FEDAVG))
    if mine is None or theirs is None:
        return _not_run(claim)
    if not theirs.always:
        return ClaimVerdict(claim=claim, measured=f"FedAvg gets to 80 %: {theirs.text}.", holds=None)
    ratio = f", {mine.mean / theirs.mean:.2f}x" if mine.always else ""
    told = f"80 %: {mine.text}{ratio}; FedAvg {theirs.text}."
    return ClaimVerdict(claim=claim, measured=told, holds=mine.always and mine.mean <= SLOWER * theirs.mean + _ROUNDING)


def best_or_near(cells: Cells, setting: Setting) -> ClaimVerdict:
    """Judge the worst case of the fused rule in a hard setting against that of the other rules there."""
    claim = f"{setting.label}: the worst case of {FUSED.label} is the best, or within {100 * NEAR_BEST:g} point of it."
    found = {who: cells.worst_loss(who, setting) for who in cells.contenders(setting)}
    worst = {who: one for who, one in found.items() if one is not None}
    if FUSED not in worst:
        return _not_run(claim)
    if any(math.isnan(one.value) for one in worst.values()):
        return ClaimVerdict(
            claim=claim, measured=f"{DIVERGED} Clean FedAvg has no accuracy to compare with.", holds=None
        )
    told = "; ".join(f"{who.label} {_lost(one.value)} ({one.threat.label})" for who, one in worst.items())
    out = [who.label for who in found if who not in worst]
    told = f"Worst cases: {told}." + (f" Not defined: {listed(out)}." if out else "")
    best = min(one.value for one in worst.values())
    mine = worst[FUSED].value
    return ClaimVerdict(claim=claim, measured=told, holds=math.isfinite(mine) and mine <= best + NEAR_BEST + _ROUNDING)


def chosen_well(cells: Cells) -> ClaimVerdict:
    """Judge whether the rules that were taken to other settings are those the main table would choose."""
    claim = f"The {len(STRONGEST)} rules with the best worst case here are all taken to other settings."
    if len(cells.contenders()) < len(CONTENDERS) or len(cells.threats) < len(THREATS):
        return ClaimVerdict(claim=claim, measured="Not all rules and attacks are run in this profile.", holds=None)
    named = cells.strongest()
    if len(named) < len(STRONGEST):
        return ClaimVerdict(claim=claim, measured="Too few rules have a worst case that can be compared.", holds=None)
    told = f"Best worst cases here: {listed([who.label for who in named])}."
    missed = [who.label for who in named if who not in ELSEWHERE]
    told += f" Not taken to other settings: {listed(missed)}." if missed else ""
    return ClaimVerdict(claim=claim, measured=told, holds=not missed)


def _where(who: Contender, setting: Setting) -> str:
    return f"{who.label}, {setting.clients} clients"


def _arrival(cells: Cells, who: Contender) -> RoundsToReach | None:
    results = cells.results(who, NO_ATTACK, MAIN)
    return rounds_to_reach(results, {one.run.seed: LEARNED for one in results}) if len(results) else None


def _lost(harm: float) -> str:
    """Return a loss in words: a gain is a negative loss."""
    return "diverged" if math.isinf(harm) else f"{points(-harm)}"


def _judged(claim: str, told: str, value: float, most: float) -> ClaimVerdict:
    if math.isnan(value):
        return ClaimVerdict(claim=claim, measured=f"{DIVERGED} Clean FedAvg has nothing to compare with.", holds=None)
    return ClaimVerdict(claim=claim, measured=told, holds=value <= most + _ROUNDING)


def _not_run(claim: str) -> ClaimVerdict:
    return ClaimVerdict(claim=claim, measured="Not run in this profile.", holds=None)
