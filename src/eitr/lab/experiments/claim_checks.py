"""Rules by which a claim is judged, fixed before anything was measured.

A rule's numbers are means over the seeds. "Stable" means that over all settings the accuracy changes by at most 2
points and the attack success rate (ASR) by at most 5. A trend is judged seed by seed: the mean change must exceed its
standard error. `ours` is the rule that is judged, a reading of the paper's; it loses when it diverged. Another rule
that diverged in every seed is out of a comparison, and named.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from eitr.lab.experiments.interface import ClaimVerdict
from eitr.lab.experiments.scenario import OURS, READINGS, RIVALS
from eitr.lab.experiments.seed_statistics import RoundsToReach, SeedValues
from eitr.lab.plotting import RULE_STYLES

STABLE_ACCURACY = 0.02
STABLE_ASR = 0.05
SAME = 0.005
"""Accuracies closer than this are the same."""
LINEAR = 0.9
"""The least R² of a straight line through the means that counts as linear."""

Settings = Mapping[str, Mapping[str, SeedValues]]
"""By setting (in words, "30 %"), then by rule."""


def points(difference: float) -> str:
    """Return a difference of two shares in words: +1.3 points."""
    return f"{100 * difference:+.{1 if abs(difference) >= 0.0005 else 2}f} points"


def name_of(rule: str) -> str:
    """Return the name of a rule that people read."""
    return RULE_STYLES[rule].label


def listed(words: Sequence[str]) -> str:
    """Return words as a list: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def by_reading(judge: Callable[[str], list[ClaimVerdict]]) -> list[ClaimVerdict]:
    """Judge the same claims for each reading of the paper's method; the verdicts on a claim follow one another.

    `judge` returns the verdicts for the rule that it is given, the claims in the same order for each.
    """
    columns = [[replace(one, reading=reading) for one in judge(rule)] for rule, reading in READINGS.items()]
    return [verdict for same_claim in zip(*columns, strict=True) for verdict in same_claim]


def open_where_nan(verdict: ClaimVerdict, *numbers: float) -> ClaimVerdict:
    """Leave a claim open where a number it rests on does not exist, because training diverged."""
    if not any(math.isnan(number) for number in numbers):
        return verdict
    return replace(verdict, measured="Training diverged, so there is nothing to compare.", holds=None)


def floor_text(floor: SeedValues) -> str:
    """Return the sentence that goes with every ASR."""
    return f"Floor (clean FedAvg): {floor.percent}."


def leads(
    claim: str,
    found: Settings,
    *,
    highest: bool,
    least: float = 0.0,
    ours: str = OURS,
    rivals: Sequence[str] = RIVALS,
    each: bool = True,
    more: str = "",
) -> ClaimVerdict:
    """Judge whether a rule has the best mean in every setting, by at least `least` (a share) over the next one.

    A negative `least` asks for "the same or better": no other rule may be ahead by more than that. `each` says whether
    the numbers of each setting are given.
    """
    leads = {setting: _leads_in(values, ours, rivals, highest) for setting, values in found.items()}
    every = [lead for own in leads.values() for lead in own]
    if not every:
        return ClaimVerdict(claim=claim, measured="No other rule finished without diverging.", holds=None)
    won = sum(all(lead > 0 if least == 0 else lead >= least for lead in own) for own in leads.values())
    sentences = [
        f"Best{_condition(least)} in {won} of {len(found)} setting{'' if len(found) == 1 else 's'}.",
        f"Lead over the others: {points(min(every))} to {points(max(every))}.",
    ]
    if each:
        shown = (f"{setting}: {_against(values, ours, rivals, highest)}" for setting, values in found.items())
        sentences.append(f"{'; '.join(shown)}.")
    rules = (ours, *rivals)
    out = {name_of(rule) for values in found.values() for rule in rules if rule in values and values[rule].diverged}
    if out:
        sentences.append(f"Diverged in some seed: {listed(sorted(out))}.")
    return ClaimVerdict(claim=claim, measured=" ".join([*sentences, more]).strip(), holds=won == len(found))


def _leads_in(values: Mapping[str, SeedValues], ours: str, rivals: Sequence[str], highest: bool) -> list[float]:
    """Return by how much a rule is ahead of each other rule in one setting; minus infinity where it diverged.

    A rule that diverged in some seeds is compared in the others, and left out where it diverged in all.
    """
    sign = 1 if highest else -1
    leads = [sign * values[ours].minus(values[rule]).mean for rule in rivals if rule in values]
    return [-math.inf] * (values[ours].diverged > 0) + [lead for lead in leads if not math.isnan(lead)]


def _condition(least: float) -> str:
    """Return which lead is asked for, in words."""
    if least < 0:
        return f", or within {-100 * least:g} points of the best,"
    return f" by at least {100 * least:g} point{'' if least == 0.01 else 's'}" if least > 0 else ""


def _against(spreads: Mapping[str, SeedValues], ours: str, rivals: Sequence[str], highest: bool) -> str:
    """Return the number of a rule and that of the best other rule."""
    there = [rule for rule in rivals if rule in spreads and not math.isnan(spreads[rule].mean)]
    if not there:
        return spreads[ours].percent
    best = (max if highest else min)(there, key=lambda rule: spreads[rule].mean)
    return f"{spreads[ours].percent} against {spreads[best].percent} ({name_of(best)})"


def exceeds_ours(claim: str, found: Settings, *, least: float, ours: str = OURS, more: str = "") -> ClaimVerdict:
    """Judge whether each other rule's ASR, averaged over the settings, is at least `least` (a share) above a rule's."""
    mean_of_ours = float(np.mean([spreads[ours].mean for spreads in found.values()]))
    means = {rule: float(np.mean([spreads[rule].mean for spreads in found.values()])) for rule in RIVALS}
    means = {rule: mean for rule, mean in means.items() if not math.isnan(mean)}
    if math.isnan(mean_of_ours) or not means:
        return ClaimVerdict(claim=claim, measured="Diverged, so there is no mean ASR to compare.", holds=None)
    if mean_of_ours == 0:
        return ClaimVerdict(claim=claim, measured="The rule's ASR is 0: no percentage above it exists.", holds=None)
    shown = ", ".join(
        f"{name_of(rule)} {100 * mean:.1f} % ({100 * (mean / mean_of_ours - 1):+.0f} %)" for rule, mean in means.items()
    )
    holds = min(means.values()) >= (1 + least) * mean_of_ours
    measured = f"Mean ASR over the settings: {name_of(ours)} {100 * mean_of_ours:.1f} %; {shown}. {more}".strip()
    return ClaimVerdict(claim=claim, measured=measured, holds=holds)


def stable(
    claim: str, accuracy: Mapping[str, SeedValues] | None, asr: Mapping[str, SeedValues] | None, more: str = ""
) -> ClaimVerdict:
    """Judge whether accuracy and ASR hardly change over the settings."""
    holds, texts = True, []
    for word, found, tolerance in (("Accuracy", accuracy, STABLE_ACCURACY), ("ASR", asr, STABLE_ASR)):
        if found is None:
            continue
        means = {setting: spread.mean for setting, spread in found.items()}
        if any(math.isnan(mean) for mean in means.values()):
            return ClaimVerdict(claim=claim, measured="The rule diverged in every seed of a setting.", holds=False)
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        width = means[high] - means[low]
        holds &= width <= tolerance
        texts.append(
            f"{word} from {found[low].percent} ({low}) to {found[high].percent} ({high}), a range of "
            f"{100 * width:.1f} points; stable is at most {100 * tolerance:g}."
        )
    if max(len(found) for found in (accuracy, asr) if found is not None) < 2:
        return ClaimVerdict(claim=claim, measured="There is one setting only, nothing to compare.", holds=None)
    return ClaimVerdict(claim=claim, measured=" ".join([*texts, more]).strip(), holds=holds)


def trend(
    claim: str,
    first: tuple[str, SeedValues],
    last: tuple[str, SeedValues],
    *,
    rises: bool,
    at_most: float = math.inf,
    more: str = "",
) -> ClaimVerdict:
    """Judge whether a quantity rises (or falls) from the first setting to the last, by at most `at_most`."""
    change = last[1].minus(first[1])
    if math.isnan(change.mean):
        return ClaimVerdict(claim=claim, measured="Diverged, so there is no change to judge.", holds=None)
    signed = change if rises else SeedValues(tuple(-value for value in change.values))
    bound = f" Slightly means at most {100 * at_most:g} points." if at_most < math.inf else ""
    measured = f"{first[1].percent} at {first[0]}, {last[1].percent} at {last[0]}: {points(change.mean)}.{bound} {more}"
    return ClaimVerdict(
        claim=claim, measured=measured.strip(), holds=signed.clearly_positive and signed.mean <= at_most
    )


def linear(claim: str, x: Sequence[float], found: Mapping[str, Sequence[SeedValues]], *, rises: bool,
           least: float = 0.01, more: str = "") -> ClaimVerdict:  # fmt: skip
    """Judge whether each rule's means follow a rising (or falling) line: R² at least 0.9, a change of `least`."""
    if len(x) < 3:
        return ClaimVerdict(claim=claim, measured="A line needs at least three shares.", holds=None)
    holds, texts = True, []
    for rule, spreads in found.items():
        means = np.array([spread.mean for spread in spreads])
        if np.isnan(means).any():
            texts.append(f"{name_of(rule)} diverged")
            holds = False
            continue
        slope, level = np.polyfit(x, means, 1)
        total = float(((means - means.mean()) ** 2).sum())
        fit = 1 - float(((means - slope * np.asarray(x) - level) ** 2).sum()) / total if total > 0 else 0.0
        change = slope * (x[-1] - x[0])
        holds &= fit >= LINEAR and (change if rises else -change) >= least
        texts.append(f"{name_of(rule)} {points(change)} (R² {fit:.2f})")
    word = "rise" if rises else "fall"
    measured = f"Along a straight line from {100 * x[0]:.0f} % to {100 * x[-1]:.0f} %: {', '.join(texts)}. "
    measured += (
        f"Needed: a {word} of at least {100 * least:g} point{'s' if least != 0.01 else ''}, R² at least {LINEAR}."
    )
    return ClaimVerdict(claim=claim, measured=f"{measured} {more}".strip(), holds=bool(holds))


def faster(claim: str, ours: RoundsToReach, others: Mapping[str, RoundsToReach], *, least: float) -> ClaimVerdict:
    """Judge whether a rule converges at least `least` times faster than each of the others.

    A rule that never got there has only a lower bound; where the bound does not decide, the claim stays open.
    """
    if not ours.always:
        better = [name_of(rule) for rule, other in others.items() if other.always]
        if better:
            text = f"This rule: {ours.text} within {ours.limit} rounds; {listed(better)} got there in every seed."
            return ClaimVerdict(claim=claim, measured=text, holds=False)
        text = f"This rule: {ours.text} within {ours.limit} rounds; nor did the others get there in every seed."
        return ClaimVerdict(claim=claim, measured=text, holds=None)
    holds: bool | None = True
    texts = []
    for rule, other in others.items():
        ratio = other.mean / ours.mean
        if ratio < least:
            holds = False if other.always else (holds and None)
        sign = "" if other.always else "at least "
        texts.append(f"{name_of(rule)} {other.text}, {sign}{ratio:.1f}x")
    measured = f"This rule: {ours.text}. {'; '.join(texts)}. Needed: {least:g}x."
    if holds is None:
        measured += f" Within {ours.limit} rounds this cannot be decided."
    return ClaimVerdict(claim=claim, measured=measured, holds=holds)
