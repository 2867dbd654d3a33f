"""What a refresh of the vocabulary brings, on pages about COVID-19.

The start is the shipped model without its words for the pandemic. Fifty people have 20 pages each and report terms;
half of them let their labels be collected; one label in seven is wrong. The table says how many pages of known truth
each way to learn gets right, and how many validation pages. With the gate, a step is published as far as the
validation pages let it, as on a server; updates are averaged, because nobody attacks here.

    python -m benchmarks.vocabulary_refresh --data DIR
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.interface import Labelled
from eitr.datasets.jsonl import labelled_rows
from eitr.datasets.task_draw import draw_tasks
from eitr.datasets.validation import ValidationSet
from eitr.model import Network, TrainingPlan, Vector, train
from eitr.model.classifier import Classifier
from eitr.model.files import Model
from eitr.model.private import PrivatePlan, expected_cover_step, private_step
from eitr.model.refresh import carried, converted, learned, refreshed_vocabulary, replaced, unknown_terms
from eitr.model.round_plan import RoundPlan
from eitr.pages.federated_vocabulary import agree, report
from eitr.pages.pool import Pool
from eitr.pages.sparse import SparseRows, joined
from eitr.pages.vocabulary import Vocabulary
from eitr.server.domain.gate import Gate, Reference, References
from eitr.server.settings import read_settings
from eitr.statistics.scores import auc, balanced_accuracy
from eitr.taxonomy import NAMES, NON_SENSITIVE

PANDEMIC = ("covid", "coronavirus", "pandemic", "quarantine", "lockdown")
PEOPLE, EACH, ALPHA, ERROR, CONSENTING = 50, 20, 0.9, 1 / 7, 25
WORDS, MIN_CLIENTS = 50, 3
PUBLIC = ("usagov_html", "wcxb", "website_homepages_kaggle", "postlight_fixtures", "party_sites_html")
"""Sources with the most pages that mention the pandemic, of those whose pages may be used to train."""
HEALTH = NAMES.index("health")


@dataclass(frozen=True)
class Study:
    """Pages, who has which of them, and what they call them."""

    pages: list[Labelled]
    tasks: list[list[int]]
    labels: list[dict[int, int]]

    @classmethod
    def of(cls, pages: list[Labelled], seed: int) -> "Study":
        tasks = draw_tasks([NAMES[one.label] for one in pages], PEOPLE, EACH, ALPHA, seed)
        rng = np.random.default_rng(seed)
        other = {HEALTH: NON_SENSITIVE, NON_SENSITIVE: HEALTH}
        chosen = [
            {page: other[pages[page].label] if rng.random() < ERROR else pages[page].label for page in mine}
            for mine in tasks
        ]
        return cls(pages, tasks, chosen)

    def collected(self) -> dict[int, int]:
        """Return what most of those who consented call a page."""
        votes: dict[int, Counter[int]] = {}
        for mine in self.labels[:CONSENTING]:
            for page, label in mine.items():
                votes.setdefault(page, Counter())[label] += 1
        return {
            page: label
            for page, count in votes.items()
            if len(set(count.values())) == len(count)
            for label, _ in count.most_common(1)
        }


class Judge:
    """Measures models on the pages of known truth and on the validation pages."""

    def __init__(self, truth: Sequence[Labelled]) -> None:
        self._truth, self._validation = truth, ValidationSet()
        self.rows: list[dict[str, float | str]] = []

    def note(self, name: str, classifier: Classifier) -> None:
        labels = [one.label for one in self._truth]
        chances = classifier.probabilities(classifier.vocabulary.rows([one.page for one in self._truth]))
        answers = chances.argmax(axis=1)
        network, vector = classifier.model
        found: dict[str, float | str] = {
            "model": name,
            "accuracy": float(np.mean(answers == labels)),
            "balanced": balanced_accuracy(labels, answers.tolist()),
            "auc": auc(np.array(labels) == HEALTH, chances[:, HEALTH]),
            "validation": self._validation.score(network, vector, classifier.vocabulary).accuracy,
        }
        self.rows.append(found)
        print(json.dumps(found), flush=True)


def refreshed(
    base: Classifier, pool: Pool, study: Study, public: Sequence[Labelled], *, collected: bool
) -> tuple[Classifier, Pool]:
    """Refresh as a server does."""
    reports = [report([base.vocabulary.read(study.pages[page].page).tokens for page in mine]) for mine in study.tasks]
    ranked = agree(reports, size=5000, min_clients=MIN_CLIENTS)
    added = unknown_terms(base.vocabulary, ranked.words, WORDS)
    new = Vocabulary(tuple(added), ranked.idf[[ranked.words.index(word) for word in added]])
    vocabulary = refreshed_vocabulary(base, new, size=len(Classifier.shipped().vocabulary))
    start, cover = carried(base, vocabulary), converted(pool, base.vocabulary, vocabulary)
    pages = [(one.page, one.label) for one in public]
    if collected:
        pages += [(study.pages[page].page, label) for page, label in study.collected().items()]
    if not pages:
        return start, cover
    rows = joined([cover.rows, vocabulary.rows([page for page, _ in pages])])
    labels = np.concatenate([cover.labels, [label for _, label in pages]])
    return learned(start, [vocabulary.words.index(word) for word in added], rows, labels), cover


Gated = Callable[[Vector, Vector], Vector]
"""Returns what is published, of a base and the model that a round leads to."""


def gate_of(base: Classifier, plan: RoundPlan) -> Gated:
    """Return the gate of a server with default settings, whose first version is the base."""
    settings = read_settings()
    gate = Gate(ValidationSet(settings.validation_pages), settings.margin, settings.class_margin)
    network, vocabulary = base.model.network, base.vocabulary
    first = Reference(1, gate.pages.grader(network, vocabulary)(base.model.vector))
    references = References(1, first, first, None)

    def published(before: Vector, target: Vector) -> Vector:
        judged = gate.judge_step(network, vocabulary, before, target, plan, references)
        return judged.model if judged.reason is None else before

    return published


def all_layers(base: Classifier, study: Study, rounds: int, seed: int, gate: Gated | None = None) -> Classifier:
    """Train all layers in rounds, as in the paper, and average the updates."""
    network, vector = base.model
    rows = [base.vocabulary.rows([study.pages[page].page for page in mine]) for mine in study.tasks]
    labels = [np.array([mine[page] for page in task]) for mine, task in zip(study.labels, study.tasks, strict=True)]
    for number in range(rounds):
        updates = [
            train(network, vector, rows[one], labels[one], TrainingPlan(), seed + 1000 * number + one)
            for one in range(PEOPLE)
        ]
        target = np.asarray(np.mean(updates, axis=0, dtype=np.float64), np.float32)
        vector = target if gate is None else gate(vector, target)
    return Classifier(Model(network, vector), base.vocabulary)


def last_layer(
    base: Classifier, cover: Pool, study: Study, rounds: int, seed: int, gate: Gated | None = None
) -> Classifier:
    """Train the last layer in private rounds, average the updates and leave out the expected part of cover pages.

    The other layers never change, so that what they make of each page is computed once.
    """
    network, vector = base.model
    small = Network(network.layers[-2:])
    rng = np.random.default_rng(seed)
    pages = [base.vocabulary.rows([study.pages[page].page for page in task]) for task in study.tasks]
    mine = [_below(network, vector, rows) for rows in pages]
    labels = [np.array([own[page] for page in task]) for own, task in zip(study.labels, study.tasks, strict=True)]
    public, plan = _below(network, vector, cover.rows), PrivatePlan()
    for _ in range(rounds):
        last, steps = vector[-small.size :].copy(), []
        for own, chosen in zip(mine, labels, strict=True):
            drawn = np.sort(rng.choice(len(cover), plan.cover_pages, replace=False))
            covering = (public.take(drawn), cover.labels[drawn])
            made = private_step(small, last, (own, chosen), covering, plan, rng.standard_normal)
            steps.append(made.astype(np.float64) - last)
        step = np.mean(steps, axis=0) - expected_cover_step(small, last, public, cover.labels, plan)
        target = vector.copy()
        target[-small.size :] = (last + step).astype(np.float32)
        vector = target if gate is None else gate(vector, target)
    return Classifier(Model(network, vector), base.vocabulary)


def _below(network: Network, vector: Vector, rows: SparseRows) -> SparseRows:
    """Return what the last layer is given by each page."""
    outputs = rows.dense()
    for kernel, bias in network.split(vector)[:-1]:
        outputs = np.maximum(outputs @ kernel + bias, 0.0)
    width = outputs.shape[1]
    columns: NDArray[np.int32] = np.arange(width, dtype=np.int32)
    return SparseRows.of([(columns, row.astype(np.float32)) for row in outputs], width=width)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="The folder of covid_pages.jsonl.gz and pages/.")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="Where the numbers go, as JSON.")
    given = parser.parse_args()
    covid = list(labelled_rows(given.data / "covid_pages.jsonl.gz", {"study": False, "truth": True}))
    study, judge = (
        Study.of([one for one in covid if not one.test], given.seed),
        Judge([one for one in covid if one.test]),
    )
    public = [one for name in PUBLIC for one in labelled_rows(given.data / "pages" / f"{name}.jsonl.gz")]
    shipped = Classifier.shipped()
    pool = Pool.from_bytes(files("eitr").joinpath("assets", "pool.bin").read_bytes(), width=len(shipped.vocabulary))
    gone = {shipped.vocabulary.words.index(word) for word in PANDEMIC}
    base = carried(shipped, replaced(shipped.vocabulary, gone))
    cover = converted(pool, shipped.vocabulary, base.vocabulary)
    judge.note("shipped, with pandemic words", shipped)
    judge.note("start: without pandemic words", base)
    empty, new_cover = refreshed(base, cover, study, [], collected=False)
    judge.note("refresh, weights of new words still 0", empty)
    judge.note("refresh, learned from public pages", refreshed(base, cover, study, public, collected=False)[0])
    best = refreshed(base, cover, study, [], collected=True)[0]
    judge.note("refresh, learned from collected labels", best)
    judge.note("refresh, public pages and collected labels", refreshed(base, cover, study, public, collected=True)[0])
    for title, model, drawn in (("start", base, cover), ("refresh, collected labels", best, new_cover)):
        for rounds in (2, given.rounds):
            for gate, told in ((None, ""), (gate_of(model, PrivatePlan()), ", gate")):
                name = f"{title}, then {rounds} private rounds of the last layer{told}"
                judge.note(name, last_layer(model, drawn, study, rounds, given.seed, gate))
    for title, model in (("start", base), ("refresh, weights still 0", empty), ("refresh, collected labels", best)):
        for gate, told in ((None, ""), (gate_of(model, TrainingPlan()), ", gate")):
            name = f"{title}, then {given.rounds} rounds of all layers{told}"
            judge.note(name, all_layers(model, study, given.rounds, given.seed, gate))
    if given.out:
        given.out.write_text(json.dumps(judge.rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
