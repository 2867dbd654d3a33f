"""The runs of the privacy experiment: victims, attackers, and what the defence costs."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.datasets.interface import Examples
from eitr.errors import InputError
from eitr.lab.results.store import Arrays, Computed
from eitr.lab.runs.privacy import (
    ANY,
    CORRECTED_TOPIC,
    CORRECTIONS,
    LATER,
    LEAKING,
    OF_ONE_TOPIC,
    Defence,
    DefenceRun,
    LabelRun,
    PoisonRun,
    PrivacyRun,
    WeightRun,
)
from eitr.lab.runs.start import StartModel
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.privacy.attacks import ATTACKS
from eitr.lab.simulation.privacy.cover_part import CoverPart
from eitr.lab.simulation.privacy.interest import Readers, interest
from eitr.lab.simulation.privacy.known_pages import Study, read_labels
from eitr.lab.simulation.privacy.layers import TrainedLayers, last_layers, lower_outputs
from eitr.lab.simulation.privacy.leaking import leaking_base
from eitr.lab.simulation.privacy.learning import TrainingOf, accuracy, after_rounds, corrections_learned, right
from eitr.lab.simulation.privacy.measures import measured
from eitr.lab.simulation.privacy.own_weight import read_weights
from eitr.lab.simulation.privacy.poisoned import TRIGGER, after_attack
from eitr.lab.simulation.privacy.seen import seen_by
from eitr.lab.simulation.privacy.server_round import Crowd
from eitr.lab.simulation.privacy.training import Pages, Training, make_training
from eitr.lab.simulation.privacy.view import Attacker, View, watch
from eitr.model.network import Vector
from eitr.model.private import trained_from
from eitr.pages.sparse import SparseRows

LEAST_KNOWN = 3
"""Own pages and candidates have so many known words; fewer say little, and cannot be told apart."""
SIMULATED_VICTIMS = 100
"""Victims on which an attacker chooses its settings, at most; with so many candidates: """
SIMULATED_CANDIDATES = 100
SIMULATED_READERS = 600
"""Victims who read about one topic, on which an attacker chooses its settings."""
LOOKED_AT = 2
"""Whoever reads labels in an update of more layers looks at so many of the last ones."""
TRUSTED = 100
"""Training pages of the server, to validate steps with."""


class Lab:
    """What runs have in common, computed once and kept while the runs that need it come."""

    def __init__(self, examples: Examples, start: StartModel, device: torch.device) -> None:
        self._examples, self._start, self._device = examples, start, device
        self._worlds: dict[int, World] = {}
        self._costs: dict[tuple[Defence, int], Cost] = {}
        self._covers: dict[PrivacyRun, CoverPart] = {}

    def compute(self, run: DefenceRun) -> Arrays:
        """Return what was measured in a run."""
        world = self._world(run.defence.layers)
        if isinstance(run, WeightRun):
            return read_weights(run, _training(run, world, world.model), world.crowd)
        if isinstance(run, LabelRun):
            return _as_arrays(self._labels(run, world))
        if isinstance(run, PoisonRun):
            return _poisoned(run, world, self._examples)
        assert isinstance(run, PrivacyRun)
        of_cost = (run.defence, run.seed)
        if of_cost not in self._costs:
            self._costs[of_cost] = cost_of(run, world)
        cost = self._costs[of_cost]
        if run.base == LEAKING:
            world = leaking_world(run, self._examples, self._start, self._device)
        alike = replace(run, own_pages=1, choice=ANY, uses=1)
        if alike not in self._covers:
            self._covers.clear()
            self._covers[alike] = cover_of(run, world, cost)
        return compute(run, world, cost, self._covers[alike])

    def _labels(self, run: LabelRun, world: "World") -> dict[str, float]:
        """Return how well labels are read by an attacker who looks at the last layers of an update."""
        looked = world
        if run.defence.layers > LOOKED_AT:
            looked = world_of(LOOKED_AT, self._examples, self._start, self._device)
        defence = replace(run.defence, layers=min(run.defence.layers, LOOKED_AT))
        attacker = replace(run, defence=defence)
        study = Study(
            training=_training(run, world, world.model),
            templates=_training(attacker, looked, looked.model),
            pages=world.pages,
            looked_at=looked.pages,
        )
        rng = np.random.default_rng((run.seed, 7))
        return read_labels(run, study, world.train, world.test, rng)

    def _world(self, layers: int) -> "World":
        if layers not in self._worlds:
            self._worlds.clear()  # the dense inputs of all pages: one at a time
            self._worlds[layers] = world_of(layers, self._examples, self._start, self._device)
        return self._worlds[layers]


def run_all(runs: Sequence[DefenceRun], examples: Examples, start: StartModel, context: Context) -> Iterator[Computed]:
    """Compute runs one after the other; what a defence costs is computed once for all its cells."""
    lab = Lab(examples, start, context.device)
    for run in runs:
        began = time.perf_counter()
        arrays = lab.compute(run)
        context.on_progress(run, 1, 1, float("nan"))
        yield Computed(run, arrays, time.perf_counter() - began)


@dataclass(frozen=True)
class World:
    """Pages, pool, words and start, as the trained layers see them."""

    layers: TrainedLayers
    model: Tensor
    pages: Pages
    pool: Pages
    words: Tensor
    present: Tensor
    """Which words each page has (pages, words)."""
    test: NDArray[np.int64]
    """Places of the pages that nobody was trained on, and that can be told from others."""
    train: NDArray[np.int64]
    """Those of the others: the pages of honest clients, and of attackers who simulate victims."""
    crowd: Crowd
    lower: Callable[[SparseRows], Tensor]
    """Returns what the trained layers are given by other pages."""

    def wrong(self, model: Tensor, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of some pages that a model gets wrong."""
        found = right(self.layers, model, self.pages.at(torch.from_numpy(places).to(model.device)))
        wrong: NDArray[np.bool_] = ~found.cpu().numpy()
        return places[wrong]


def world_of(
    layers: int, examples: Examples, start: StartModel, device: torch.device, base: Vector | None = None
) -> World:
    """Return what the last `layers` layers of a start, or of another base, are given by all pages."""
    network, vector = start.classifier.model
    if base is not None:
        vector = base
    pool = start.pool

    def lower(rows: SparseRows) -> Tensor:
        return lower_outputs(network, vector, layers, rows, device)

    def seen(rows: SparseRows, labels: NDArray[np.int64]) -> Pages:
        return Pages(lower(rows), torch.from_numpy(labels.astype(np.int64)).to(device))

    width = np.arange(network.inputs)
    single = SparseRows(
        np.arange(network.inputs + 1), width.astype(np.int32), np.ones(network.inputs, np.float32), network.inputs
    )
    told = np.diff(examples.rows.starts) >= LEAST_KNOWN
    pages = seen(examples.rows, examples.labels)
    train = np.random.default_rng(0).permutation(np.flatnonzero(~examples.test & told))
    trusted, train = train[:TRUSTED], np.sort(train[TRUSTED:])
    return World(
        layers=last_layers(network, layers),
        model=torch.from_numpy(vector[trained_from(network, layers) :].copy()).to(device),
        pages=pages,
        pool=seen(pool.rows, pool.labels),
        words=seen(single, np.zeros(network.inputs, np.int64)).inputs,
        present=torch.from_numpy(examples.rows.dense() > 0).to(device),
        test=np.flatnonzero(examples.test & told),
        train=train,
        crowd=Crowd(pages, torch.from_numpy(train).to(device), pages.at(torch.from_numpy(trusted).to(device))),
        lower=lower,
    )


def leaking_world(run: PrivacyRun, examples: Examples, start: StartModel, device: torch.device) -> World:
    """Return the world of a base that was made to find some test pages. All victims and candidates are of these."""
    network = start.classifier.model.network
    told = np.flatnonzero(examples.test & (np.diff(examples.rows.starts) >= LEAST_KNOWN))
    most = min(network.layers[1], run.candidates, len(told))
    sought = np.sort(np.random.default_rng((run.seed, 6)).choice(told, most, replace=False))
    world = world_of(run.defence.layers, examples, start, device, leaking_base(network, examples.rows.take(sought)))
    # Whoever looks for pages has them, and simulates victims with them.
    return replace(world, test=sought, train=sought)


@dataclass(frozen=True)
class Cost:
    """What a defence costs, and the model after its rounds."""

    later: Tensor
    start_accuracy: float
    later_accuracy: float
    learned: float


def cost_of(run: PrivacyRun, world: World) -> Cost:
    """Let honest clients train under the defence of a run."""
    training_of = _training_of(run, world)
    held_out = world.pages.at(torch.from_numpy(world.test).to(world.model.device))
    later = after_rounds(training_of, world.model, world.pages, world.train, run.seed)
    wrong = world.wrong(world.model, world.test)
    return Cost(
        later=later,
        start_accuracy=accuracy(world.layers, world.model, held_out),
        later_accuracy=accuracy(world.layers, later, held_out),
        learned=corrections_learned(training_of, world.model, world.pages, wrong, run.seed),
    )


def cover_of(run: PrivacyRun, world: World, cost: Cost) -> CoverPart:
    """Return what is known about the cover pages of a run."""
    training = _training(run, world, cost.later if run.base == LATER else world.model)
    return CoverPart(seen_by(run.viewer, training, world.crowd), run.simulated)


def compute(run: PrivacyRun, world: World, cost: Cost, cover: CoverPart) -> Arrays:
    """Return the measures of every attack as single numbers, named MEASURE.ATTACK, and the cost."""
    training, model = cover.training, cover.training.model
    # Results must not depend on which cells were computed before.
    training.generator.manual_seed(run.seed)
    rng = np.random.default_rng((run.seed, 1))
    found = {
        "accuracy_start": cost.start_accuracy,
        "accuracy_later": cost.later_accuracy,
        "corrections_learned": cost.learned,
        "clip": training.clip,
    }
    if run.choice in OF_ONE_TOPIC:
        simulated_readers, readers = (
            Readers(
                cover,
                world.pages,
                world.wrong(model, places) if run.choice == CORRECTED_TOPIC else places,
                run.own_pages,
                run.uses,
            )
            for places in (world.train, world.test)
        )
        told = interest(cover, simulated_readers, readers, rng, run.victims, max(run.victims, SIMULATED_READERS))
        return _as_arrays(found | {"topic.interest": told})

    def victims(places: NDArray[np.int64], count: int, candidates: int) -> View:
        chosen = world.wrong(model, places) if run.choice == CORRECTIONS else places
        candidates = min(candidates, len(chosen))
        if candidates <= run.own_pages:
            raise InputError(
                f"{run.data}: {len(chosen)} pages ({run.choice}) are too few for victims with {run.own_pages} own "
                "pages: take data with more pages"
            )
        drawn = np.stack([rng.choice(chosen, candidates, replace=False) for _ in range(count)])
        found = torch.from_numpy(drawn).to(model.device)
        return watch(training, cover.expected, world.pages, found, run.own_pages, run.uses)

    real = victims(world.test, run.victims, run.candidates)
    simulated = victims(
        world.train, min(run.victims, SIMULATED_VICTIMS), min(run.candidates, SIMULATED_CANDIDATES + run.own_pages)
    )
    attacker = Attacker(training, cover, world.words, run.uses, simulated)
    found["candidates"] = float(real.candidates.shape[1])
    for name, attack in ATTACKS.items():
        guesses = attack(attacker, real)
        if guesses is not None:
            found |= {f"{measure}.{name}": value for measure, value in measured(guesses, world.present).items()}
    return _as_arrays(found)


def _poisoned(run: PoisonRun, world: World, examples: Examples) -> Arrays:
    """Return the accuracy after rounds with attackers, and how often a triggered page is called what they want."""
    twins, probe = world.lower(TRIGGER.made_rows(examples)), TRIGGER.probe(examples)
    model = after_attack(run, _training_of(run, world), world.model, world.pages, twins, world.crowd)
    held_out = world.pages.at(torch.from_numpy(world.test).to(model.device))
    rows = torch.from_numpy(probe.rows - len(examples.rows)).to(model.device)
    called = world.layers.logits(model, twins[rows]).argmax(-1) == probe.target
    return _as_arrays(
        {"accuracy_later": accuracy(world.layers, model, held_out), "triggered": float(called.double().mean())}
    )


def _training(run: DefenceRun, world: World, model: Tensor) -> Training:
    return _training_of(run, world)(model)


def _training_of(run: DefenceRun, world: World) -> TrainingOf:
    """Return how clients train models under the defence of a run: all with one source of random numbers."""
    generator = torch.Generator(device=world.model.device).manual_seed(run.seed)

    def training_of(model: Tensor) -> Training:
        return make_training(run.defence, world.layers, model, world.pool, generator)

    return training_of


def _as_arrays(numbers: dict[str, float]) -> Arrays:
    return {name: np.array(value, np.float64) for name, value in numbers.items()}
