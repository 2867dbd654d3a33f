"""Studies: people label pages of a new topic and train on them, and a rule combines what they send, round by round.

A round does what a server does, by the same functions and in the same order: clients train with `eitr.model`, the rule
gets the trained parameters alone, without the step that cover pages cause on average, and the same validation pages.
What is left out are a server's gate and its bounds on newcomers (`EITR_MARGIN=1`, `EITR_CLASS_MARGIN=1` and
`EITR_BOUNDS=false` switch them off there). A server also has secrets: the names of the participants, in whose order it
adds up numbers, the seed of random projections, and the factors of weights. Given the same ones (`ServerSecrets`), a
simulation and a server compute the same models: `benchmarks/study.py` shows it.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Floats, Result, Round, Rule
from eitr.aggregation.rule_state import RuleState
from eitr.aggregation.weight_factors import with_weight_factors
from eitr.datasets.interface import Examples
from eitr.datasets.task_draw import draw_tasks
from eitr.datasets.validation import ValidationSet
from eitr.errors import InputError
from eitr.lab.results.store import Arrays, Computed
from eitr.lab.runs.start import StartModel
from eitr.lab.runs.study import MALICIOUS, PersonKind, StudyRun
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.people import kinds_of, labels_of, place_of
from eitr.lab.simulation.private_clients import sparse_rows
from eitr.model import Network, Vector, predict, train
from eitr.model.plan import TrainingPlan
from eitr.model.private import PrivatePlan, private_step, trained_from, without_cover
from eitr.model.random import key_of, permutation
from eitr.model.round_plan import RoundPlan, first_trained
from eitr.model.validation import answers
from eitr.pages.pool import Pool
from eitr.pages.sparse import SparseRows
from eitr.pages.vocabulary import Vocabulary
from eitr.robust.threads import thread_count
from eitr.statistics.scores import auc, balanced_accuracy
from eitr.taxonomy import NAMES, NON_SENSITIVE


class Stream(IntEnum):
    """What random words are drawn for, apart from the streams of federations and of people."""

    TRAINING = 41
    PAGES = 42
    NOISE = 43
    PROJECTION = 44


@dataclass(frozen=True, eq=False)
class Person:
    """Somebody who takes part, with the pages of their tasks and what they say about them."""

    number: int
    kind: PersonKind
    pages: list[int]
    """Places among the pages of the study, in the order of the tasks."""
    labels: NDArray[np.int64]

    @property
    def malicious(self) -> bool:
        """Whether this person attacks."""
        return self.kind.name == MALICIOUS.name


@dataclass(frozen=True, eq=False)
class StudyModel:
    """What a study starts from."""

    network: Network
    vector: Vector
    vocabulary: Vocabulary
    pool: Pool | None
    """The cover pages, with private training."""


@dataclass(frozen=True, eq=False)
class ServerSecrets:
    """What a server knows and nobody else does; without one, numbers stand for names and no weight is multiplied."""

    ids: Sequence[str]
    """The name of each participant, by their number."""
    seed: int
    """Of random projections."""
    factors: Floats
    """(rounds, people): what the weight of each person is multiplied by in each round, with private training."""


def secrets_of_lab(run: StudyRun) -> ServerSecrets:
    """Return what takes the place of a server's secrets in the lab: the same for the same run."""
    names = [f"{person:06d}" for person in range(run.clients)]
    return ServerSecrets(names, key_of(run.seed, Stream.PROJECTION), np.ones((run.rounds, run.clients)))


def people_of(run: StudyRun, truth: NDArray[np.int64]) -> list[Person]:
    """Return the people of a study, given the class of each of its pages."""
    tasks = draw_tasks([NAMES[label] for label in truth], run.clients, run.pages_each, run.alpha, run.seed)
    found = []
    for number, (kind, pages) in enumerate(zip(kinds_of(run), tasks, strict=True)):
        found.append(Person(number, kind, pages, labels_of(kind, run.seed, number, pages, truth)))
    return found


def round_plan(run: StudyRun) -> RoundPlan:
    """Return the training that every round asks for."""
    asked = run.training
    if asked is None:
        return run.plan
    return PrivatePlan(
        layers=asked.layers,
        cover_pages=asked.cover_pages,
        own_weight=asked.own_weight,
        clip=asked.clip,
        learning_rate=asked.learning_rate,
        noise=asked.noise,
    )


def own_plan(run: StudyRun, person: Person) -> TrainingPlan:
    """Return the plan that a person follows with training as in the paper: malicious people train longer."""
    return replace(run.plan, epochs=run.plan.epochs + run.extra_epochs) if person.malicious else run.plan


def training_seed(run: StudyRun, person: Person, number: int) -> int:
    """Return the seed of a person's training as in the paper, in a round."""
    return key_of(run.seed, Stream.TRAINING, number, person.number) >> 1


def pages_of_round(run: StudyRun, person: Person, number: int) -> list[int]:
    """Return which of a person's tasks are used in a round, counted from 0.

    As in the paper, all of them. In private rounds so many as the training allows: those that were used least, in an
    order that is drawn anew each time all have been used.
    """
    tasks = len(person.pages)
    most = run.training.own_pages if run.training is not None else 0
    if most == 0 or most >= tasks:
        return list(range(tasks))
    rounds = -(-tasks // most)
    lap, place = divmod(number - 1, rounds)
    order = permutation(key_of(run.seed, Stream.PAGES, person.number, lap), tasks)
    return [int(task) for task in order[place * most : (place + 1) * most]]


@dataclass(frozen=True, eq=False)
class UpperLayers:
    """The layers that private rounds train, as a network of their own: those below never change."""

    network: Network
    pages: SparseRows
    """What the trained layers are given by each page of the study."""
    cover: SparseRows
    """... and by each cover page."""
    cover_labels: NDArray[np.int64]

    @classmethod
    def of(cls, model: StudyModel, layers: int, pages: SparseRows) -> Self:
        """Compute what the layers below the trained ones make of all pages."""
        if model.pool is None:
            raise InputError("private training needs a pool of cover pages")
        first = trained_from(model.network, layers)
        below = len(model.network.shapes) - layers
        lower = Network(model.network.layers[: below + 1])

        def given(rows: SparseRows) -> SparseRows:
            outputs = answers(lower, model.vector[:first], rows, np.arange(len(rows), dtype=np.int64))
            return sparse_rows(np.maximum(outputs, np.float32(0)))

        return cls(Network(model.network.layers[below:]), given(pages), given(model.pool.rows), model.pool.labels)


def private_update(run: StudyRun, person: Person, number: int, upper: UpperLayers, base: Vector) -> Vector:
    """Return the trained parameters after a person's private step; cover pages and noise depend on the seed.

    Outside of simulations both come from the operating system: whoever can repeat them can subtract them.
    """
    plan = round_plan(run)
    if not isinstance(plan, PrivatePlan):
        raise InputError("the rounds of this study do not train the private way")
    random = np.random.default_rng(key_of(run.seed, Stream.NOISE, number, person.number))
    drawn = np.sort(random.choice(len(upper.cover), plan.cover_pages, replace=False))
    used = pages_of_round(run, person, number)
    own = (upper.pages.take([person.pages[task] for task in used]), person.labels[used])
    cover = (upper.cover.take(drawn), upper.cover_labels[drawn])
    return private_step(upper.network, base, own, cover, plan, random.standard_normal)


class StudySimulation:
    """One study, round by round."""

    def __init__(
        self,
        run: StudyRun,
        model: StudyModel,
        pages: tuple[SparseRows, NDArray[np.int64]],
        truth: tuple[SparseRows, NDArray[np.int64]],
        validation: ValidationSet,
        secrets: ServerSecrets | None = None,
    ) -> None:
        """`pages` are those of the study, `truth` those that models are judged by, both with their classes."""
        self.run, self.model = run, model
        self._rows, self._labels = pages
        self._truth = truth
        self.people = people_of(run, pages[1])
        self._secrets = secrets or secrets_of_lab(run)
        self._plan = round_plan(run)
        self._first = first_trained(model.network, self._plan)
        self._validation = validation.shown_pages(model.network, model.vocabulary)
        start = max(0, model.network.first_layer - self._first)
        self._rule: Rule = run.rule.private(seed=self._secrets.seed, start=start)
        self._state: RuleState = self._rule.init()
        self._upper = None if run.training is None else UpperLayers.of(model, run.training.layers, pages[0])

    def next_round(self, number: int, threads: ThreadPoolExecutor) -> Result:
        """Let everybody train and the rule combine what they send; the model is then the new one."""
        model, first = self.model, self._first
        sent = np.stack(list(threads.map(lambda person: self._trained(person, number), self.people)))
        order = sorted(range(len(self.people)), key=self._secrets.ids.__getitem__)
        result = self._combined(number, sent[order], [self._secrets.ids[place] for place in order], order)
        trained = np.asarray(result.model, np.float32)
        self.model = replace(model, vector=np.concatenate([model.vector[:first], trained]))
        return _by_person(result, order)

    def _trained(self, person: Person, number: int) -> Vector:
        """Return the trained parameters that a person sends."""
        run, vector = self.run, self.model.vector
        if self._upper is not None:
            return private_update(run, person, number, self._upper, vector[self._first :])
        plan = own_plan(run, person)
        rows = self._rows.take(person.pages)
        return train(self.model.network, vector, rows, person.labels, plan, training_seed(run, person, number))

    def _combined(self, number: int, updates: NDArray[np.float32], ids: list[str], order: list[int]) -> Result:
        """Return what a server makes of the updates, in the order of the names."""
        model, plan, base = self.model, self._plan, self.model.vector[self._first :]
        added_noise = 0.0
        if isinstance(plan, PrivatePlan) and model.pool is not None:
            added_noise = plan.added_noise
            updates = without_cover(updates, model.network, model.vector, (model.pool.rows, model.pool.labels), plan)
        scorer = self._validation.above(model.vector[: self._first]).losses
        sent = Round(base, updates, ids, index=number, scorer=scorer, added_noise=added_noise)
        self._state, result = self._rule.update(self._state, sent)
        if isinstance(plan, PrivatePlan):
            result = with_weight_factors(result, base, updates, self._secrets.factors[number - 1, order])
        return result

    def right_labels(self, person: Person) -> float:
        """Return the share of a person's labels that are right."""
        return float((person.labels == self._labels[person.pages]).mean())

    def chances(self) -> NDArray[np.float32]:
        """Return the probability of each class of the pages that models are judged by, (pages, classes)."""
        return predict(self.model.network, self.model.vector, self._truth[0])


def measures(chances: NDArray[np.float32], truth: NDArray[np.int64]) -> dict[str, float]:
    """Return how good a model is on pages of known class.

    `accuracy` counts pages whose class is found, `sensitive_accuracy` those of which it is found whether they are
    sensitive at all; `balanced_accuracy` is the mean of that over sensitive pages and others, and `auc` judges the
    probability that a page is sensitive.
    """
    said, sensitive = chances.argmax(axis=1), truth != NON_SENSITIVE
    found = said != NON_SENSITIVE
    scores = 1.0 - chances[:, NON_SENSITIVE].astype(np.float64)
    return {
        "accuracy": float((said == truth).mean()),
        "sensitive_accuracy": float((found == sensitive).mean()),
        "balanced_accuracy": balanced_accuracy(sensitive.tolist(), found.tolist()),
        "auc": auc(sensitive, scores),
    }


def run_all(runs: Sequence[StudyRun], examples: Examples, start: StartModel, context: Context) -> Iterator[Computed]:
    """Compute studies one after the other, their people on threads."""
    study, truth = (np.flatnonzero(examples.test == test) for test in (False, True))
    pages = (examples.rows.take(study), examples.labels[study])
    known = (examples.rows.take(truth), examples.labels[truth])
    validation = ValidationSet()
    with ThreadPoolExecutor(thread_count()) as threads:
        for run in runs:
            began = time.perf_counter()
            network, vector = start.classifier.model
            pool = None if run.training is None else start.pool
            model = StudyModel(network, vector, start.classifier.vocabulary, pool)
            simulation = StudySimulation(run, model, pages, known, validation)
            yield Computed(run, simulated(simulation, known[1], context, threads), time.perf_counter() - began)


def simulated(
    simulation: StudySimulation, truth: NDArray[np.int64], context: Context, threads: ThreadPoolExecutor
) -> Arrays:
    """Simulate all rounds; return everything recorded, from round 0, the start, on."""
    run, people = simulation.run, simulation.people
    chances = simulation.chances()
    first, found = chances, [measures(chances, truth)]
    by_person: dict[str, list[NDArray[np.float64]]] = {"weights": []}
    if run.rule.has_reputation:
        by_person["reputation"] = []
    for number in range(1, run.rounds + 1):
        result = simulation.next_round(number, threads)
        chances = simulation.chances()
        found.append(measures(chances, truth))
        for name, column in (("weights", result.weights), ("reputation", result.reputation)):
            if name in by_person:
                by_person[name].append(np.full(run.clients, np.nan) if column is None else np.asarray(column))
        context.on_progress(run, number, run.rounds, found[-1]["accuracy"])
    return {
        **{name: np.array([one[name] for one in found]) for name in found[0]},
        **{name: np.array(rows) for name, rows in by_person.items()},
        "attacker": np.array([person.malicious for person in people]),
        "kinds": np.array([place_of(person.kind) for person in people], np.int64),
        "right_labels": np.array([simulation.right_labels(person) for person in people]),
        "page_truth": truth,
        "page_scores_start": 1.0 - first[:, NON_SENSITIVE].astype(np.float64),
        "page_scores_end": 1.0 - chances[:, NON_SENSITIVE].astype(np.float64),
        "page_answers_start": first.argmax(axis=1),
        "page_answers_end": chances.argmax(axis=1),
    }


def _by_person(result: Result, order: list[int]) -> Result:
    """Return a result whose columns are in the order of the people, not of their names."""
    back = np.argsort(order)
    columns = {name: getattr(result, name) for name in ("weights", "positive", "negative", "reputation")}
    there: dict[str, Any] = {name: column[back] for name, column in columns.items() if column is not None}
    return replace(result, **there)
