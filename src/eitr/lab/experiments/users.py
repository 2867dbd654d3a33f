"""Fig. 14: a study with people who label pages of a new topic, and err; what is learned, and whom the rule trusts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.paper_figures import printed
from eitr.lab.experiments.scenario import READINGS
from eitr.lab.experiments.seed_statistics import SeedValues, final, rounds_to
from eitr.lab.plotting import BLACK, LineStyle, as_percent, draw_spread, legend_below, panels, series_style, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.private_training import PrivateTraining
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run
from eitr.lab.runs.study import KINDS, StudyRun
from eitr.statistics.scores import majority_share, roc
from eitr.taxonomy import NON_SENSITIVE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES = {"reputation": "Reputation", "fused": "Fused + validation", "fedavg": "FedAvg"}
PAPER, PRIVATE = "paper", "private"
WAYS = {PAPER: "all layers, as in the paper", PRIVATE: "the private way, as on a server"}
MALICIOUS = (0.0, 0.1, 0.3)
ROUNDS = 40
"""Of the profile paper. The paper has 100, and says that about 30 are enough."""
FEW_PEOPLE, FEW_ROUNDS = 10, 3
"""Of the quick profile."""
CENTRALISED, LEARNED, WITHIN, AREA = 0.5313, 0.8036, 30, 0.79
"""What the paper reports: accuracy of the centralised classifier and of ours, the rounds it takes, and the AUC."""
NEAR = 0.05
"""A measured accuracy is as reported if it is no further away than this."""
LOW, HIGH = 0.25, 0.75
"""Reputations between these are intermediate."""
LAST = 10
"""Rounds at the end over which accuracy is averaged."""


class Users(Experiment):
    """50 people with 20 pages each, of whom some err, and some attack."""

    id = "users"
    title = "A study with people who label pages of a new topic"
    paper = printed("real_user")
    note = (
        "The people are simulated: docs/lab.md says by which model of human error, and where its numbers come from. "
        "Needs --start: the centralised classifier is the model that the study starts from, before its first round. "
        "50 people label 20 pages each, drawn by Dirichlet 0.9 over the classes of the data's training pages; models "
        "are judged by the test pages. Accuracy: the class is found. Sensitive: it is found whether a page is "
        "sensitive at all; balanced accuracy is the mean of this over sensitive pages and others, and the AUC is that "
        "of the probability of being sensitive. Majority: what always naming the most frequent class would score. "
        "Malicious people replace a share of the 50. As in the paper, people train all layers for 10 epochs of their "
        "20 pages, malicious ones 5 more; the private way takes 4 of the pages a round, so that a page is used in 8 of "
        "40 rounds, and in 2 of the first 10, the limit of an ordinary federation. Reputation rescales as in the "
        "paper. The paper has 100 rounds, the profile paper 40 here, quick 3 with 10 people."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return every rule with every share of malicious people, trained in both ways."""
        size: dict[str, Any] = {"rounds": ROUNDS}
        if profile.quick:
            size = {"clients": FEW_PEOPLE, "rounds": FEW_ROUNDS}
        seeds = profile.seeds[:1] if profile.quick else profile.seeds
        ways = (PrivateTraining(pool=profile.pool), None)  # the cheaper one first
        return [
            StudyRun(
                data=profile.data,
                start=profile.start,
                rule=paper_rule(rule),
                malicious=share,
                training=way,
                seed=seed,
                **size,
            )
            for seed in seeds
            for way in ways
            for share in MALICIOUS
            for rule in RULES
        ]

    def table(self, results: Results) -> Table:
        """Return one row per way to train, share of malicious people and rule, and the start first."""
        table = Table(
            ("training", "malicious", "rule", "accuracy", "± accuracy", "sensitive", "balanced accuracy", "AUC",
             "majority", "round with 80.36 %", "reputation, honest", "reputation, malicious")
        )  # fmt: skip
        first = next(iter(results))
        table.rows.append(
            ("none: the start", None, "–", *(_start(results, name) for name in ("accuracy",)), None,
             *(_start(results, name) for name in ("sensitive_accuracy", "balanced_accuracy", "auc")),
             _majority(first), None, None, None)
        )  # fmt: skip
        for way in WAYS:
            for share in MALICIOUS:
                for rule, label in RULES.items():
                    mine = _where(results, way, share, rule)
                    accuracy = final(mine, "accuracy")
                    honest, malicious = _reputations(mine)
                    table.rows.append(
                        (way, share, label, accuracy.mean, accuracy.deviation,
                         *(final(mine, name).mean for name in ("sensitive_accuracy", "balanced_accuracy", "auc")),
                         _majority(first), _reached(mine), honest, malicious)
                    )  # fmt: skip
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw, for each way to train, reputations at the end, accuracy over the rounds, and the ROC curve."""
        figure, axes = panels(len(WAYS), 3, height=3.0)
        for row, (way, title) in zip(axes, WAYS.items(), strict=True):
            _draw_reputations(row[0], _where(results, way, 0.0, "reputation"))
            row[0].set_title(f"Reputation at the end: {way} training")
            _draw_accuracy(row[1], results, way)
            row[1].set_title(title.capitalize())
            _draw_roc(row[2], results, way)
            row[2].set_title("ROC: sensitive or not")
        legend_below(figure, axes.flat)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge what the paper says of the centralised classifier and of its own method, for both of our readings."""
        found = [_centralised(results)]
        for judge in (_learns, _better, _area, _intermediate):
            found += [judge(results, rule) for rule in RULES if rule in READINGS]
        return found


def _where(results: Results, way: str, share: float, rule: str) -> Results:
    mine = results.where(rule=rule, malicious=share)
    return Results(one for one in mine if (one.run.training is None) == (way == PAPER))


def _start(results: Results, name: str) -> float:
    """Return a measure of the model that the study starts from, the same in all runs."""
    return float(next(iter(results))[name][0])


def _majority(result: Any) -> float:
    return majority_share(result["page_truth"].tolist())


def _reached(results: Results) -> float | None:
    """Return the round in which the accuracy of the paper is reached, if every seed gets there."""
    rounds = [rounds_to(one["accuracy"][1:], LEARNED) for one in results]
    return None if None in rounds else float(np.mean([number for number in rounds if number is not None]))


def _reputations(results: Results) -> tuple[float | None, float | None]:
    """Return the mean reputation at the end of honest and of malicious people; None where there is none."""
    if any("reputation" not in one for one in results):
        return None, None
    ends = [(one["reputation"][-1], one["attacker"]) for one in results]
    honest = float(np.mean([end[~attacks].mean() for end, attacks in ends]))
    attacked = all(attacks.any() for _, attacks in ends)
    return honest, float(np.mean([end[attacks].mean() for end, attacks in ends])) if attacked else None


def _draw_reputations(panel: Any, results: Results) -> None:
    """Draw how many people, by kind, have which reputation."""
    ends = np.concatenate([one["reputation"][-1] for one in results])
    kinds = np.concatenate([one["kinds"] for one in results])
    there = [place for place in range(len(KINDS)) if (kinds == place).any()]
    bins = np.linspace(min(0.0, float(ends.min())), max(1.0, float(ends.max())), 21)
    styles = [series_style(3 + place, KINDS[place].name) for place in there]
    panel.hist(
        [ends[kinds == place] for place in there],
        bins,
        stacked=True,
        color=[style.colour for style in styles],
        label=[style.label for style in styles],
    )
    panel.set_xlabel("reputation")
    panel.set_ylabel("people" if len(results) == 1 else f"people in {len(results)} studies")


def _draw_accuracy(panel: Any, results: Results, way: str) -> None:
    """Draw the rules without malicious people, beside the start and the majority."""
    for number, (rule, label) in enumerate(RULES.items()):
        curves = _where(results, way, 0.0, rule).stacked("accuracy")
        draw_spread(panel, np.arange(curves.shape[1]), curves, series_style(number, label))
    panel.axhline(_start(results, "accuracy"), color=BLACK, linestyle=(0, (4, 2)), label="centralised: the start")
    panel.axhline(_majority(next(iter(results))), color="#666666", linestyle=(0, (1, 3)), label="majority")
    panel.set_xlabel("round")
    panel.set_ylabel("accuracy")
    as_percent(panel)


def _draw_roc(panel: Any, results: Results, way: str) -> None:
    """Draw the curve of the first seed for each rule, and that of the start."""
    for number, (rule, label) in enumerate(RULES.items()):
        first = next(iter(_where(results, way, 0.0, rule)))
        _curve(panel, first, "page_scores_end", series_style(number, label))
    _curve(panel, first, "page_scores_start", LineStyle("centralised: the start", BLACK, (0, (4, 2)), ""))
    panel.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1)
    panel.set_xlabel("false alarms")
    panel.set_ylabel("hits")
    as_percent(panel)
    as_percent(panel, x=True)


def _curve(panel: Any, result: Any, name: str, style: LineStyle) -> None:
    alarms, hits = roc(_sensitive(result), result[name])
    panel.plot(alarms, hits, color=style.colour, linestyle=style.dashes, label=style.label)


def _sensitive(result: Any) -> NDArray[np.bool_]:
    return np.asarray(result["page_truth"] != NON_SENSITIVE)


def _centralised(results: Results) -> ClaimVerdict:
    accuracy, majority = _start(results, "accuracy"), _majority(next(iter(results)))
    return ClaimVerdict(
        claim="A centralised classifier that does not know the topic gets 53.13 % of the pages right.",
        measured=f"{100 * accuracy:.1f} %, balanced {100 * _start(results, 'balanced_accuracy'):.1f} %; the majority "
        f"would score {100 * majority:.1f} %. Needed: within {100 * NEAR:g} points.",
        holds=abs(accuracy - CENTRALISED) <= NEAR,
    )


def _learns(results: Results, rule: str) -> ClaimVerdict:
    mine = _where(results, PAPER, 0.0, rule)
    steady = SeedValues(tuple(float(one["accuracy"][-LAST:].mean()) for one in mine))
    reached, other = _reached(mine), final(_where(results, PRIVATE, 0.0, rule), "accuracy")
    when = "never in some seed" if reached is None else f"round {reached:.1f}"
    return ClaimVerdict(
        claim="Ours reaches 80.36 % within about 30 rounds, and stays there.",
        measured=f"80.36 % first in {when}; {steady.percent} over the last {LAST} rounds, balanced "
        f"{final(mine, 'balanced_accuracy').percent}; the private way ends at {other.percent}. The majority would "
        f"score {100 * _majority(next(iter(mine))):.1f} %. Needed: by round {WITHIN}, and so much at the end.",
        holds=reached is not None and reached <= WITHIN and steady.mean >= LEARNED,
        reading=READINGS[rule],
    )


def _better(results: Results, rule: str) -> ClaimVerdict:
    mine = _where(results, PAPER, 0.0, rule)
    end, start = final(mine, "balanced_accuracy"), _start(results, "balanced_accuracy")
    accuracy = final(mine, "accuracy")
    gained = SeedValues(tuple(value - start for value in end.values))
    plain = SeedValues(tuple(value - _start(results, "accuracy") for value in accuracy.values))
    return ClaimVerdict(
        claim="It is better than the centralised classifier.",
        measured=f"Accuracy {100 * plain.mean:+.1f} points, balanced accuracy {100 * gained.mean:+.1f} points. Needed: "
        "both above 0 by more than the standard error.",
        holds=plain.clearly_positive and gained.clearly_positive,
        reading=READINGS[rule],
    )


def _area(results: Results, rule: str) -> ClaimVerdict:
    found = final(_where(results, PAPER, 0.0, rule), "auc")
    other = final(_where(results, PRIVATE, 0.0, rule), "auc")
    return ClaimVerdict(
        claim="The area under the ROC curve is 0.79.",
        measured=f"{found.mean:.3f}; the private way {other.mean:.3f}, the start {_start(results, 'auc'):.3f}. Needed: "
        "at least 0.79.",
        holds=found.mean >= AREA,
        reading=READINGS[rule],
    )


def _intermediate(results: Results, rule: str) -> ClaimVerdict:
    ends = np.concatenate([one["reputation"][-1] for one in _where(results, PAPER, 0.0, rule)])
    middle, high, low = ((ends > LOW) & (ends < HIGH)).mean(), (ends >= HIGH).mean(), (ends <= LOW).mean()
    return ClaimVerdict(
        claim="Most people have an intermediate reputation, some a very high one, and a few a very low one.",
        measured=f"{100 * middle:.0f} % between {LOW} and {HIGH}, {100 * high:.0f} % above, {100 * low:.0f} % below; "
        f"from {ends.min():.2f} to {ends.max():.2f}. Needed: more than half between, and fewer below than above.",
        holds=bool(middle > 0.5 and 0 < low < high),
        reading=READINGS[rule],
    )
