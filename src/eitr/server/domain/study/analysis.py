"""The numbers of a study's report: agreement, reputations, and how versions of the model do on the study's pages.

Everything here may be published: there are no ids, addresses or moments, nothing is told person by person, and no group
of one or two people is counted, nor do counts differ by one or two, which would tell the same. Choices are counted page
by page, one by one, from three labels of a page on: nobody is told whose they are.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.model.classifier import Classifier
from eitr.server.domain.study.analysis_data import SOURCES, StudiedPage, StudyData, agreed_classes, counts
from eitr.statistics.agreement import fleiss_kappa, kappa_interval, pairwise_agreement
from eitr.statistics.scores import auc, balanced_accuracy, confusion, majority_share, roc
from eitr.taxonomy import NAMES, NON_SENSITIVE

FEWEST = 3
"""Smaller groups of people are not counted: a number of one or two can point at somebody."""
BINS = (10, 5, 2, 1)
"""A picture has the most bins of these in which no bin is of one or two people."""
FEW = f"fewer than {FEWEST}"
NOT_TOLD = "not told"
"""Of a larger count that another one would make tell of one or two people: 8 of whom 7 finished."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far some people agree about pages."""

    people: int
    pages: int
    """With at least two choices."""
    choices: int
    kappa: float | None
    """Fleiss' kappa; None where it is undefined."""
    low: float | None
    high: float | None
    """Of its 95 % interval."""


@dataclass(frozen=True, slots=True)
class VersionScore:
    """How a version does on the pages of known class."""

    version: int
    accuracy: float
    balanced: float
    auc: float | None
    """Of telling sensitive pages from others; None if all are one or the other."""


@dataclass(frozen=True, slots=True)
class VersionDetail:
    """More about one version."""

    version: int
    roc: list[tuple[float, float]]
    """False alarms and hits."""
    confusion: list[list[int]]
    """Rows: the class of the page; columns: what the model says. In the order of `classes`."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The whole report as numbers."""

    study: dict[str, Any]
    counts: dict[str, Any]
    classes: list[str]
    experts: Agreement | None
    expert_pairs: list[dict[str, Any]]
    participants: Agreement | None
    people: list[dict[str, Any]]
    """How many people chose the ground truth for which share of their pages."""
    with_truth: dict[str, Any] | None
    """How far all collected labels, and the label that most people chose, are the ground truth."""
    pages: list[dict[str, Any]]
    truth: dict[str, Any]
    reputations: list[dict[str, Any]]
    majority: float | None
    versions: list[VersionScore]
    details: list[VersionDetail]
    """Of the first version, the centralised classifier, and the newest."""
    exclusions: list[dict[str, Any]]

    def document(self) -> dict[str, Any]:
        """Return the report for machines."""
        return asdict(self)


def analysis(data: StudyData, models: Sequence[tuple[int, Classifier]]) -> Analysis:
    """Compute the report of a study."""
    if len(data.labels) < FEWEST:  # what one or two people labelled would be told as that of all
        data = replace(data, labels={})
    judged = [page for page in data.pages if page.truth is not None and page.content is not None]
    scores, details, majority = _versions(judged, models)
    sources = Counter(page.source for page in data.pages if page.source)
    told, rest = _people_counts(data)
    summed = replace(data, labels=_summed(data))
    return Analysis(
        study={
            "study": data.study.slug,
            "title": data.study.title,
            "status": data.study.status.value,
            "created": data.study.created.date().isoformat(),
            "pages_per_person": data.study.settings.pages_per_person,
            "uses_per_page": data.study.settings.uses_per_page,
        },
        counts=told | {"median_minutes": _median_minutes(data)},
        classes=list(NAMES),
        experts=_agreement(data.ratings, len(data.pages)),
        expert_pairs=[_without_nan(asdict(pair)) for pair in pairwise_agreement(data.ratings)],
        participants=_agreement(summed.labels, len(data.pages)),
        people=_people(summed),
        with_truth=_with_truth(summed),
        pages=_pages(data),
        truth={"pages": len(data.pages), **{name: sources[name] for name in SOURCES}, "judged": len(judged)},
        reputations=histogram(data.reputations, "participants"),
        majority=majority,
        versions=scores,
        details=details,
        exclusions=_exclusions(data, judged, rest),
    )


def _summed(data: StudyData) -> dict[str, dict[int, str]]:
    """Return the labels that numbers about all pages are of: those that are also told page by page.

    What is told of a page with few labels is that they are few. With them in a sum, or in Fleiss' kappa, anybody could
    try all that these few may have chosen until the numbers fit.
    """
    few = _with_few_labels(data)
    return {who: {page: label for page, label in mine.items() if page not in few} for who, mine in data.labels.items()}


def _with_few_labels(data: StudyData) -> set[int]:
    table = counts(list(data.labels.values()), len(data.pages))
    return {number for number, row in enumerate(table, 1) if 0 < row.sum() < FEWEST}


def suppressed(count: int) -> int | str:
    """Return how many people labelled a page; one or two are not told.

    >>> suppressed(0), suppressed(2), suppressed(3)
    (0, 'fewer than 3', 3)
    """
    return FEW if 0 < count < FEWEST else count


def told_together(counts: Mapping[str, int]) -> dict[str, int | str]:
    """Return counts of the same people; one that differs from an earlier one by one or two is not told.

    >>> told_together({"labelled": 7, "finished": 7, "consented": 8, "invited": 10, "withdrawn": 1})
    {'labelled': 7, 'finished': 7, 'consented': 'not told', 'invited': 10, 'withdrawn': 'fewer than 3'}
    """
    exact, told = {0}, dict[str, int | str]()
    for name, count in counts.items():
        if any(0 < abs(count - one) < FEWEST for one in exact):
            told[name] = FEW if count < FEWEST else NOT_TOLD
        else:
            exact.add(count)
            told[name] = count
    return told


def _people_counts(data: StudyData) -> tuple[dict[str, Any], dict[str, int | str]]:
    """Return how many people came how far, and how many withdrew, did not finish or do not let labels be collected.

    Who is counted in the latter is the difference of two of the former, and is told if both are.
    """
    monitor = data.monitor
    came = {name: getattr(monitor, name) for name in ("invited", "consented", "installed", "started", "finished")}
    chain = told_together(
        {
            "labelled": len(data.labels),  # first: all numbers about labels are told of so many
            "finished": monitor.finished,
            "consented": monitor.consented,
            "collecting": monitor.consented - data.without_collection,
            "ever consented": monitor.consented + monitor.withdrawn,
            **came,
        }
    )

    def difference(most: str, least: str, count: int) -> int | str:
        if count < FEWEST:
            return suppressed(count)
        return count if isinstance(chain[most], int) and isinstance(chain[least], int) else NOT_TOLD

    rest = {
        "withdrawn": difference("ever consented", "consented", monitor.withdrawn),
        "unfinished": difference("consented", "finished", data.unfinished),
        "without collection": difference("consented", "collecting", data.without_collection),
    }
    return {**{name: chain[name] for name in came}, "withdrawn": rest["withdrawn"]}, rest


def _median_minutes(data: StudyData) -> float | None:
    """Return the median time to finish, to five minutes: of an odd number of people, it is the time of one of them."""
    minutes = data.monitor.median_minutes
    return 5.0 * round(minutes / 5) if minutes is not None and data.monitor.finished >= FEWEST else None


def _agreement(choices: dict[str, dict[int, str]], pages: int) -> Agreement | None:
    if not choices or not pages:
        return None
    table = counts(list(choices.values()), pages)
    twice = int((table.sum(axis=1) >= 2).sum())
    kappa = low = high = math.nan
    if twice:
        kappa, (low, high) = fleiss_kappa(table), kappa_interval(table)
    return Agreement(len(choices), twice, int(table.sum()), *map(_number, (kappa, low, high)))


def _truth(data: StudyData) -> dict[int, str]:
    return {page.number: page.truth for page in data.pages if page.truth is not None}


def _people(data: StudyData) -> list[dict[str, Any]]:
    """Return how many people reached which agreement with the truth, and nothing person by person.

    A number of labels alone would point at whoever did not finish.
    """
    if not data.labels:
        return []
    truth = _truth(data)
    right = [[truth[page] == label for page, label in mine.items() if page in truth] for mine in data.labels.values()]
    return histogram([float(np.mean(one)) for one in right if one], "people")


def _with_truth(data: StudyData) -> dict[str, Any] | None:
    truth = _truth(data)
    pairs = [(truth[page], label) for mine in data.labels.values() for page, label in mine.items() if page in truth]
    if not pairs:
        return None
    table = counts(list(data.labels.values()), len(data.pages))
    most = {
        number: NAMES[int(row.argmax())]
        for number, row in enumerate(table, 1)
        if number in truth and (row == row.max()).sum() == 1
    }
    both = [{"truth": truth[page], "people": label} for page, label in most.items()]
    kappas = pairwise_agreement({"experts": {page: truth[page] for page in most}, "participants": dict(most.items())})
    return {
        "labels": len(pairs),
        "labels right": round(float(np.mean([one == other for one, other in pairs])), 4),
        "pages": len(both),
        "pages right": round(float(np.mean([one["truth"] == one["people"] for one in both])), 4) if both else None,
        "kappa of the majority": _number(kappas[0].kappa) if both else None,
    }


def _pages(data: StudyData) -> list[dict[str, Any]]:
    chosen, rated = (counts(list(one.values()), len(data.pages)) for one in (data.labels, data.ratings))
    agreed = agreed_classes(data.ratings, len(data.pages))
    return [
        {
            "page": page.number,
            "truth": page.truth,
            "truth from": page.source,
            "experts agree on": agreed.get(page.number),
            "experts": int(rated[page.number - 1].sum()),
            **_choices(chosen[page.number - 1]),
        }
        for page in data.pages
    ]


def _choices(row: NDArray[np.int64]) -> dict[str, Any]:
    """Return how many people labelled a page and what they chose; of one or two people, not what."""
    labels = suppressed(int(row.sum()))
    told = [None] * len(NAMES) if labels == FEW else row.tolist()
    return {"labels": labels, **dict(zip(NAMES, told, strict=True))}


def histogram(values: Sequence[float], what: str) -> list[dict[str, Any]]:
    """Return how many values from 0 to 1 are in which bin: nobody's, or those of at least `FEWEST` people.

    All bins grow until it is so: if only those with few people grew, their place would tell of them. Counts are ranges,
    because their sum would tell of the few who are in no bin.
    """
    for bins in BINS:
        counted, edges = np.histogram(np.clip(values, 0.0, 1.0), bins=bins, range=(0.0, 1.0))
        if not ((counted > 0) & (counted < FEWEST)).any():
            break
    return [
        {"from": round(low, 2), "to": round(high, 2), what: count_range(count)}
        for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counted.tolist(), strict=True)
    ]


def count_range(count: int) -> int | str:
    """Return about how many people there are.

    >>> count_range(0), count_range(2), count_range(3), count_range(7)
    (0, 'fewer than 3', '3 to 5', '6 to 8')
    """
    least = count - count % FEWEST
    return f"{least} to {least + FEWEST - 1}" if least else suppressed(count)


def _versions(
    judged: Sequence[StudiedPage], models: Sequence[tuple[int, Classifier]]
) -> tuple[list[VersionScore], list[VersionDetail], float | None]:
    """Return how all versions do, more about the first and the newest, and what always naming one class reaches."""
    if not judged or not models:
        return [], [], None
    truth = [str(page.truth) for page in judged]
    pages = [page.content for page in judged if page.content is not None]
    sensitive = np.array([label != NAMES[NON_SENSITIVE] for label in truth])
    both = bool(sensitive.any() and not sensitive.all())
    scores, details = [], []
    for version, classifier in models:
        chances = classifier.probabilities(classifier.vocabulary.rows(pages)).astype(np.float64)
        answers = [NAMES[place] for place in chances.argmax(axis=1)]
        score = 1.0 - chances[:, NON_SENSITIVE]
        right = float(np.mean([one == other for one, other in zip(truth, answers, strict=True)]))
        area = round(auc(sensitive, score), 4) if both else None
        scores.append(VersionScore(version, round(right, 4), round(balanced_accuracy(truth, answers), 4), area))
        if version in (models[0][0], models[-1][0]):
            points = np.stack(roc(sensitive, score), axis=1).round(4).tolist() if both else []
            table = confusion(truth, answers, NAMES).tolist()
            details.append(VersionDetail(version, [(x, y) for x, y in points], table))
    return scores, details, round(majority_share(truth), 4)


def _exclusions(data: StudyData, judged: Sequence[StudiedPage], rest: Mapping[str, int | str]) -> list[dict[str, Any]]:
    """Return who and what is not in the numbers, and why."""
    tasks = data.monitor.tasks
    without_truth = sum(page.truth is None for page in data.pages)
    return [
        {"what": what, "how many": how_many, "reason": reason}
        for what, how_many, reason in (
            ("people", rest["withdrawn"], "withdrew; everything about them was deleted"),
            ("people", rest["without collection"], "did not let their labels be collected"),
            ("people", rest["unfinished"], "did not end all tasks; what they labelled counts"),
            ("participants", count_range(data.muted), "were muted by the operator: their updates count for nothing"),
            ("participants", count_range(data.banned), "were banned by the operator"),
            ("tasks", count_range(tasks.get("skipped", 0)), "were skipped"),
            ("tasks", count_range(tasks.get("broken", 0) + tasks.get("replaced", 0)), "had a page that was broken"),
            ("pages", len(_with_few_labels(data)), f"have {FEW} labels: these are in no number about all pages"),
            ("pages", without_truth, "have no ground truth: no version is judged by them"),
            (
                "pages",
                len(data.pages) - without_truth - len(judged),
                "have no archived copy: they cannot be classified",
            ),
        )
        if how_many
    ]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _number(value) if isinstance(value, float) else value for name, value in values.items()}
