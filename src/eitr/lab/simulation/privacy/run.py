"""One cell of the privacy experiment: victims, attackers, and what the defence costs."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.datasets.interface import Examples
from eitr.errors import InputError
from eitr.lab.results.store import Arrays, Computed
from eitr.lab.runs.privacy import CORRECTIONS, LATER, Defence, PrivacyRun
from eitr.lab.runs.start import StartModel
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.privacy.attacks import ATTACKS
from eitr.lab.simulation.privacy.cover_part import CoverPart
from eitr.lab.simulation.privacy.layers import TrainedLayers, last_layers, lower_outputs
from eitr.lab.simulation.privacy.learning import accuracy, after_rounds, corrections_learned, right
from eitr.lab.simulation.privacy.measures import measured
from eitr.lab.simulation.privacy.training import Pages, Training, make_training
from eitr.lab.simulation.privacy.view import Attacker, View, watch
from eitr.model.private import trained_from
from eitr.pages.sparse import SparseRows

LEAST_KNOWN = 3
"""Own pages and candidates have so many known words; fewer say little, and cannot be told apart."""
SIMULATED_VICTIMS = 100
"""Victims on which an attacker chooses its settings, at most; with so many candidates: """
SIMULATED_CANDIDATES = 100


def run_all(runs: Sequence[PrivacyRun], examples: Examples, start: StartModel, context: Context) -> Iterator[Computed]:
    """Compute runs one after the other; what a defence costs is computed once for all its cells."""
    costs: dict[tuple[Defence, int], Cost] = {}
    worlds: dict[int, World] = {}
    covers: dict[tuple[Defence, int, str, int], CoverPart] = {}
    for run in runs:
        began = time.perf_counter()
        layers = run.defence.layers
        if layers not in worlds:
            worlds.clear()  # the dense inputs of all pages: one at a time
            worlds[layers] = world_of(layers, examples, start, context.device)
        world = worlds[layers]
        of_cost = (run.defence, run.seed)
        if of_cost not in costs:
            costs[of_cost] = cost_of(run, world)
        of_cover = (*of_cost, run.base, run.simulated)
        if of_cover not in covers:
            covers.clear()
            covers[of_cover] = cover_of(run, world, costs[of_cost])
        arrays = compute(run, world, costs[of_cost], covers[of_cover])
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

    def wrong(self, model: Tensor, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of some pages that a model gets wrong."""
        found = right(self.layers, model, self.pages.at(torch.from_numpy(places).to(model.device)))
        wrong: NDArray[np.bool_] = ~found.cpu().numpy()
        return places[wrong]


def world_of(layers: int, examples: Examples, start: StartModel, device: torch.device) -> World:
    """Return what the last `layers` layers of a start are given by all pages."""
    network, vector = start.classifier.model
    pool = start.pool

    def seen(rows: SparseRows, labels: NDArray[np.int64]) -> Pages:
        inputs = lower_outputs(network, vector, layers, rows, device)
        return Pages(inputs, torch.from_numpy(labels.astype(np.int64)).to(device))

    width = np.arange(network.inputs)
    single = SparseRows(
        np.arange(network.inputs + 1), width.astype(np.int32), np.ones(network.inputs, np.float32), network.inputs
    )
    told = np.diff(examples.rows.starts) >= LEAST_KNOWN
    return World(
        layers=last_layers(network, layers),
        model=torch.from_numpy(vector[trained_from(network, layers) :].copy()).to(device),
        pages=seen(examples.rows, examples.labels),
        pool=seen(pool.rows, pool.labels),
        words=seen(single, np.zeros(network.inputs, np.int64)).inputs,
        present=torch.from_numpy(examples.rows.dense() > 0).to(device),
        test=np.flatnonzero(examples.test & told),
        train=np.flatnonzero(~examples.test & told),
    )


@dataclass(frozen=True)
class Cost:
    """What a defence costs, and the model after its rounds."""

    later: Tensor
    start_accuracy: float
    later_accuracy: float
    learned: float


def cost_of(run: PrivacyRun, world: World) -> Cost:
    """Let honest clients train under the defence of a run."""
    generator = _generator(run, world)

    def training_of(model: Tensor) -> Training:
        return make_training(run.defence, world.layers, model, world.pool, generator)

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
    model = cost.later if run.base == LATER else world.model
    training = make_training(run.defence, world.layers, model, world.pool, _generator(run, world))
    return CoverPart(training, run.simulated)


def compute(run: PrivacyRun, world: World, cost: Cost, cover: CoverPart) -> Arrays:
    """Return the measures of every attack as single numbers, named MEASURE.ATTACK, and the cost."""
    training, model = cover.training, cover.training.model
    # Results must not depend on which cells were computed before.
    training.generator.manual_seed(run.seed)
    rng = np.random.default_rng((run.seed, 1))

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
    found = {
        "candidates": float(real.candidates.shape[1]),
        "accuracy_start": cost.start_accuracy,
        "accuracy_later": cost.later_accuracy,
        "corrections_learned": cost.learned,
        "clip": training.clip,
    }
    for name, attack in ATTACKS.items():
        guesses = attack(attacker, real)
        if guesses is not None:
            found |= {f"{measure}.{name}": value for measure, value in measured(guesses, world.present).items()}
    return {name: np.array(value, np.float64) for name, value in found.items()}


def _generator(run: PrivacyRun, world: World) -> torch.Generator:
    return torch.Generator(device=world.model.device).manual_seed(run.seed)
