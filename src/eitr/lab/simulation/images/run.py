"""One federation on pictures, from the random start to the last round."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.aggregation.interface import LARGEST
from eitr.lab.aggregation import BatchedRule, Outcome, batched
from eitr.lab.results.store import Arrays
from eitr.lab.runs.image import ImageRun, Training
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.images.federation import Federation, Pictures, federation
from eitr.lab.simulation.images.resnet import initial_vector
from eitr.lab.simulation.images.scoring import Evaluator, Score
from eitr.lab.simulation.images.training import Trainer

ROOM = 1024
"""The plan of a round is made for a multiple of so many steps: runs that differ a little share their captured step."""
MOST_KEPT = 256 << 20
"""A checkpoint of more bytes is not written. Only FoolsGold at full width has one (every client's steps): writing it
takes longer than the run does on a device that can hold it."""


def compute(run: ImageRun, context: Context) -> Arrays:
    """Compute a run, from its checkpoint if there is one.

    Returned are, over rounds: `accuracy` (rounds,), `class_accuracy` (rounds, classes), `asr.flip` or `asr.backdoor`
    (rounds,), both without attackers, `weights` (rounds, clients), for the reputation rule `reputation` and `negative`
    (rounds, clients); and `attacker`, `counts` (clients,) and `failed`. A run whose numbers leave all bounds ends
    there: `failed` is that round, counted from 1, or 0, and its values from that round on are NaN.
    """
    people = federation(run, context.data_dir, context.device)
    simulation = ImageSimulation(run, people, context.device)
    checkpoint = context.load_checkpoint(run)
    if checkpoint is not None:
        simulation.restore(checkpoint)
    while simulation.done < run.rounds and not simulation.failed:
        simulation.advance()
        context.on_progress(run, simulation.done, run.rounds, simulation.accuracy)
        if simulation.done < run.rounds and context.checkpoint_due() and simulation.size <= MOST_KEPT:
            context.save_checkpoint(run, simulation.kept())
    return simulation.result()


class ImageSimulation:
    """A run on its way: the global model, what the rule remembers, and what was recorded."""

    def __init__(self, run: ImageRun, people: Federation, device: torch.device) -> None:
        pictures, width = people.pictures, run.training.width
        self._run, self._people = run, people
        self._trainer = _trainer(pictures, run.training, _room(people))
        self._examiner = Evaluator(pictures.preparation, pictures.test, pictures.labels, pictures.classes, width)
        self._model = initial_vector(width, len(pictures.classes), run.seed).to(device)
        self._rule: BatchedRule = batched([run.rule], run.clients, self._model.numel(), device)
        self._counts = torch.from_numpy(people.counts).to(device, torch.float64)
        self._records = _blank(run, len(pictures.classes))
        self.done, self.failed = 0, 0

    @property
    def accuracy(self) -> float:
        """Return the accuracy after the last round, NaN where the run failed."""
        return float(self._records["accuracy"][self.done - 1]) if self.done else float("nan")

    @property
    def size(self) -> int:
        """Return how many bytes a checkpoint is, about."""
        held = (self._model, *self._rule.memory().values())
        return sum(tensor.numel() * tensor.element_size() for tensor in held)

    def advance(self) -> None:
        """Do one round: train, combine, measure."""
        number = self.done + 1
        trained = self._trainer.train(self._model, self._people.batches(number))
        outcome = self._combined(trained) if _usable(trained) else None
        if outcome is None or not _usable(outcome.models):
            self.failed, self.done = number, self._run.rounds
            return
        self._model = outcome.models[0]
        self._record(number - 1, outcome, self._examiner.score(self._model, self._run.probes))
        self.done = number

    def _combined(self, trained: Tensor) -> Outcome:
        root = trained[-1][None] if self._people.has_root else None
        return self._rule.aggregate(self._model[None], trained[None, : self._run.clients], self._counts[None], root)

    def _record(self, place: int, outcome: Outcome, score: Score) -> None:
        records = self._records
        records["accuracy"][place] = score.accuracy
        records["class_accuracy"][place] = score.class_accuracy
        for name, success in score.success.items():
            records[f"asr.{name}"][place] = success
        for name in ("weights", "reputation", "negative"):
            values: Tensor | None = getattr(outcome, name)
            if name in records and values is not None:
                records[name][place] = values[0].cpu().numpy()

    def kept(self) -> dict[str, NDArray[Any]]:
        """Return all that is needed to go on."""
        memory = {f"memory.{name}": tensor.cpu().numpy() for name, tensor in self._rule.memory().items()}
        records = {f"record.{name}": array for name, array in self._records.items()}
        return {"done": np.array(self.done), "model": self._model.cpu().numpy(), **memory, **records}

    def restore(self, kept: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `kept` returned."""
        self.done = int(kept["done"])
        self._model = torch.from_numpy(kept["model"]).to(self._model.device)
        self._rule.restore({name: torch.from_numpy(kept[f"memory.{name}"]) for name in self._rule.remembers})
        self._records = {name: kept[f"record.{name}"] for name in self._records}

    def result(self) -> Arrays:
        """Return what was recorded."""
        fixed = {"attacker": self._people.attacker, "counts": self._people.counts, "failed": np.array(self.failed)}
        return {**self._records, **fixed}


def _blank(run: ImageRun, classes: int) -> Arrays:
    shapes: dict[str, tuple[int, ...]] = {"accuracy": (), "class_accuracy": (classes,), "weights": (run.clients,)}
    shapes |= {f"asr.{probe.name}": () for probe in run.probes}
    if run.rule.name == "reputation":
        shapes |= {"reputation": (run.clients,), "negative": (run.clients,)}
    return {name: np.full((run.rounds, *shape), np.nan) for name, shape in shapes.items()}


def _usable(vectors: Tensor) -> bool:
    """Return whether all numbers are within what a server would take; the one question a round asks of the device."""
    low, high = torch.stack(vectors.aminmax()).tolist()
    return bool(low >= -LARGEST and high <= LARGEST)  # no comparison with NaN is true


def _room(people: Federation) -> int:
    steps: int = sum(batches.shape[1] for batches in people.batches(1))  # every round has as many
    return -(-steps // ROOM) * ROOM


@lru_cache(maxsize=1)
def _trainer(pictures: Pictures, training: Training, room: int) -> Trainer:
    """Return a trainer, the last one if it fits: its step is captured once for all runs."""
    return Trainer(training, len(pictures.classes), pictures.preparation, room)
