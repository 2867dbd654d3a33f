"""A topic that few clients have and the server has never seen: is it learned, and are those who teach it trusted?"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.registry import make_rule
from eitr.datasets.registry import SOURCES
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.robustness_grid import OTHER_SEEDS, federation, seeds_of
from eitr.lab.experiments.seed_statistics import RoundsToReach, SeedValues, final, rounds_to_reach
from eitr.lab.plotting import as_percent, draw_spread, legend_below, panels, series_style, styled
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.federated import exclusive_owners
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run
from eitr.taxonomy import NAMES, NON_SENSITIVE, TOPICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES = {"fedavg": "FedAvg", "fused": "Fused + validation"}
FEW_TOPICS = ("health", "politics", "religion")
"""Of the quick profile."""
LEARNED = 0.8
"""A class is learned at this share of the accuracy that FedAvg ends with in it, seed by seed."""
BLIND = 1 / len(NAMES)
"""A class in which FedAvg ends below what a blind guess gets right it has not learned: 80 % of that say nothing."""
SLOWER = 1.5
"""How many times as many rounds as FedAvg our rule may take."""
TRUSTED = 0.8
"""What the reputation of those who have the class must be, at least, relative to that of the others."""
LAST = 10
"""Rounds at the end in which reputations are compared."""
COLUMNS = 3


class NewTopic(Experiment):
    """One class is known to a fifth of the clients only."""

    id = "new-topic"
    title = "A new topic that few clients have"
    paper = "–"
    ours = True
    note = (
        "A fifth of the 10 clients, all of them honest, have all pages of one class; the others, and the server with "
        "its validation pages, have none. Everything else is as for every rule against every attack. A class counts "
        "as learned at 80 % of the accuracy that FedAvg ends with in it. Reputation is the mean over those who have "
        "the class, relative to the mean over the others: 1 is no difference. 3 seeds; one in the quick profile."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return FedAvg and the fused rule, for every class."""
        base = federation(profile)
        return [
            replace(base, rule=make_rule(rule), exclusive=topic, seed=seed)
            for topic in topics(profile)
            for rule in RULES
            for seed in seeds_of(profile, OTHER_SEEDS)
        ]

    def table(self, results: Results) -> Table:
        """Return one row per class and rule."""
        table = Table(
            ("class", "rule", "rounds to learn it", "class accuracy", "± class accuracy", "accuracy", "reputation")
        )
        for topic in _topics(results):
            for rule, label in RULES.items():
                mine = results.where(exclusive=topic, rule=rule)
                of_class, accuracy = final(mine, "class_accuracy", NAMES.index(topic)), final(mine, "accuracy")
                when = learned(results, topic, rule)
                table.rows.append(
                    (
                        _title(topic),
                        label,
                        when.mean if when is not None and when.always else None,
                        of_class.mean,
                        of_class.deviation,
                        accuracy.mean,
                        relative_reputation(mine).mean if rule == "fused" else None,
                    )
                )
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw one panel per class, its accuracy over the rounds; in the last, reputations of those who have it."""
        found = _topics(results)
        figure, axes = panels(math.ceil((len(found) + 1) / COLUMNS), COLUMNS, height=2.6)
        places: list[Any] = axes.ravel().tolist()
        for panel, topic in zip(places, found, strict=False):
            for number, (rule, label) in enumerate(RULES.items()):
                curves = results.where(exclusive=topic, rule=rule).stacked("class_accuracy")[:, :, NAMES.index(topic)]
                draw_spread(panel, np.arange(1, curves.shape[1] + 1), curves, series_style(number, label))
            panel.set_title(_title(topic))
            panel.set_ylim(0, 1)
            panel.set_ylabel("accuracy of the class")
            as_percent(panel)
        last = places[len(found)]
        for number, topic in enumerate(found):
            curves = np.array([reputations(one) for one in results.where(exclusive=topic, rule="fused")])
            style = series_style(number + len(RULES), _title(topic))
            draw_spread(last, np.arange(1, curves.shape[1] + 1), curves, style)
        last.axhline(TRUSTED, color="#444444", linestyle=(0, (1, 3)), linewidth=1.2, label="goal for the reputation")
        last.set_title("Reputation of those who have it")
        last.set_ylabel("relative to the others")
        last.set_ylim(bottom=0)
        for panel in places[: len(found) + 1]:
            panel.set_xlabel("round")
        for panel in places[len(found) + 1 :]:
            panel.set_visible(False)
        legend_below(figure, places, 4)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge two goals per class: it is learned nearly as fast, and those who have it are trusted."""
        return [judge(results, topic) for topic in _topics(results) for judge in (learns, trusts)]


def topics(profile: Profile) -> list[str]:
    """Return the sensitive classes of which the data has pages, as far as its name tells."""
    source = SOURCES.get(profile.data)
    there = NAMES if source is None else source.classes
    wanted = FEW_TOPICS if profile.quick else NAMES[:NON_SENSITIVE]
    return [topic for topic in wanted if topic in there]


def owners(result: Result) -> NDArray[np.bool_]:
    """Return which clients have the pages of the class."""
    have = np.zeros(result.run.clients, np.bool_)
    have[exclusive_owners(result["attacker"])] = True
    return have


def reputations(result: Result) -> NDArray[np.float64]:
    """Return, round by round, the reputation of those who have the class, relative to the other honest clients."""
    have, reputation = owners(result), np.asarray(result["reputation"], np.float64)
    others = reputation[:, ~have & ~result["attacker"]].mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(reputation[:, have].mean(axis=1) / others)


def relative_reputation(results: Results) -> SeedValues:
    """Return it as a mean over the last ten rounds, one number per seed."""
    return SeedValues(tuple(float(reputations(one)[-LAST:].mean()) for one in results))


def learned(results: Results, topic: str, rule: str) -> RoundsToReach | None:
    """Return when a rule has learned a class; None where FedAvg does not learn it in some seed."""
    place = NAMES.index(topic)
    reference = results.where(exclusive=topic, rule="fedavg")
    ends = {one.run.seed: float(one["class_accuracy"][-1, place]) for one in reference}
    if not all(end >= BLIND for end in ends.values()):
        return None
    return rounds_to_reach(
        results.where(exclusive=topic, rule=rule), {seed: LEARNED * end for seed, end in ends.items()}, place
    )


def learns(results: Results, topic: str) -> ClaimVerdict:
    """Judge how soon the class is learned."""
    claim = f"{_title(topic)}: the fused rule learns it in at most {SLOWER:g}x the rounds of FedAvg."
    end, reference = (
        final(results.where(exclusive=topic, rule=rule), "class_accuracy", NAMES.index(topic)).percent
        for rule in ("fused", "fedavg")
    )
    ours, theirs = (learned(results, topic, rule) for rule in ("fused", "fedavg"))
    if ours is None or theirs is None or not theirs.always:
        return ClaimVerdict(
            claim=claim, measured=f"FedAvg itself does not learn it in every seed: it ends at {reference}.", holds=None
        )
    ratio = f", {ours.mean / theirs.mean:.2f}x" if ours.always else ""
    told = f"Ours: {ours.text}{ratio}; FedAvg: {theirs.text}. At the end: {end}, FedAvg {reference}."
    return ClaimVerdict(claim=claim, measured=told, holds=ours.always and ours.mean <= SLOWER * theirs.mean + 1e-9)


def trusts(results: Results, topic: str) -> ClaimVerdict:
    """Judge the reputation of those who have the class."""
    claim = f"{_title(topic)}: those who have it keep at least {TRUSTED:g} of the others' reputation."
    found = relative_reputation(results.where(exclusive=topic, rule="fused"))
    if math.isnan(found.mean):
        return ClaimVerdict(claim=claim, measured="Training diverged.", holds=False)
    least = min(value for value in found.values if not math.isnan(value))
    told = f"{found.mean:.2f} in the mean over the seeds and the last {LAST} rounds; lowest seed {least:.2f}."
    return ClaimVerdict(claim=claim, measured=told, holds=found.diverged == 0 and found.mean >= TRUSTED - 1e-9)


def _topics(results: Results) -> list[str]:
    """Return the classes among the results, in their usual order."""
    found: set[Any] = {one.run.exclusive for one in results}
    return [topic for topic in NAMES if topic in found]


def _title(topic: str) -> str:
    return TOPICS[NAMES.index(topic)].title
