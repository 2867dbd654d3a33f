"""The numbers of a study's report: agreement, reputations, and how versions of the model do on the study's pages.

Everything here may be published: people have random names, counts of one or two people are not told where they would
point at somebody, and there are no ids, addresses or moments.
"""

import math
from collections import Counter
from collections.abc import Sequence
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
BINS = 10
FEW = f"fewer than {FEWEST}"


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
    """Of each person: random name, number of labels, share of labels that are the ground truth."""
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
    return Analysis(
        study={
            "study": data.study.slug,
            "title": data.study.title,
            "status": data.study.status.value,
            "created": data.study.created.date().isoformat(),
            "pages_per_person": data.study.settings.pages_per_person,
            "uses_per_page": data.study.settings.uses_per_page,
        },
        counts=_counts(data),
        classes=list(NAMES),
        experts=_agreement(data.ratings, len(data.pages)),
        expert_pairs=[_without_nan(asdict(pair)) for pair in pairwise_agreement(data.ratings)],
        participants=_agreement(data.labels, len(data.pages)),
        people=_people(data),
        with_truth=_with_truth(data),
        pages=_pages(data),
        truth={"pages": len(data.pages), **{name: sources[name] for name in SOURCES}, "judged": len(judged)},
        reputations=_histogram(data.reputations),
        majority=majority,
        versions=scores,
        details=details,
        exclusions=_exclusions(data, judged),
    )


def suppressed(count: int) -> int | str:
    """Return a count of people; one or two are not told.

    >>> suppressed(0), suppressed(2), suppressed(3)
    (0, 'fewer than 3', 3)
    """
    return FEW if 0 < count < FEWEST else count


def _counts(data: StudyData) -> dict[str, Any]:
    monitor = data.monitor
    names = ("invited", "consented", "installed", "started", "finished", "withdrawn")
    found: dict[str, Any] = {name: suppressed(getattr(monitor, name)) for name in names}
    enough = monitor.finished >= FEWEST and monitor.median_minutes is not None
    return found | {"median_minutes": round(monitor.median_minutes or 0.0, 1) if enough else None}


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
    truth, found = _truth(data), []
    for name, mine in data.labels.items():
        right = [truth[page] == label for page, label in mine.items() if page in truth]
        share = round(float(np.mean(right)), 4) if right else None
        found.append({"person": name, "labels": len(mine), "judged": len(right), "agreement with the truth": share})
    return found


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


def _histogram(values: Sequence[float]) -> list[dict[str, Any]]:
    found, edges = np.histogram(np.clip(values, 0.0, 1.0), bins=BINS, range=(0.0, 1.0))
    return [
        {"from": round(float(low), 2), "to": round(float(high), 2), "participants": suppressed(int(count))}
        for count, low, high in zip(found, edges[:-1], edges[1:], strict=True)
    ]


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


def _exclusions(data: StudyData, judged: Sequence[StudiedPage]) -> list[dict[str, Any]]:
    """Return who and what is not in the numbers, and why."""
    tasks = data.monitor.tasks
    without_truth = sum(page.truth is None for page in data.pages)
    return [
        {"what": what, "how many": how_many, "reason": reason}
        for what, how_many, reason in (
            ("people", suppressed(data.monitor.withdrawn), "withdrew; everything about them was deleted"),
            ("people", suppressed(data.without_collection), "did not let their labels be collected"),
            ("people", suppressed(data.unfinished), "did not end all tasks; what they labelled counts"),
            ("participants", suppressed(data.muted), "were muted by the operator: their updates count for nothing"),
            ("participants", suppressed(data.banned), "were banned by the operator"),
            ("tasks", tasks.get("skipped", 0), "were skipped"),
            ("tasks", tasks.get("broken", 0) + tasks.get("replaced", 0), "had a page that was broken"),
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
