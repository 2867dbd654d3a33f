"""The recorded arrays of a run, round by round, and the checkpoints from which it continues."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.lab.results.store import Arrays
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.simulation.evaluation import ASR, EvaluationRows
from eitr.lab.simulation.population import Population, participants

_MODEL = "state.model"
_MEMORY = "memory."
_ROUND = "state.round"
_ENGINE = "state.engine"


def checkpoint_of(kept: Arrays | None, engine: str) -> Arrays | None:
    """Return a checkpoint if this engine wrote it, else None: rule states of the other engine have another shape."""
    return kept if kept is not None and str(kept.get(_ENGINE)) == engine else None


class RunRecorder:
    """The growing arrays of one run. Rounds that were never reached, because training diverged, are NaN."""

    def __init__(self, run: FederatedRun, people: Population, evaluation: EvaluationRows, parameters: int) -> None:
        self.rounds = 0
        self.failed = 0
        # All of them from the start: a run that diverges in its first round has them too, as NaN.
        self._series = {
            name: np.full((run.rounds, *shape), np.nan, np.float32 if shape else np.float64)
            for name, shape in _shapes(run, evaluation).items()
        }
        self._facts: Arrays = {
            "attacker": people.attacker,
            "counts": people.counts,
            "parameters": np.array(parameters, np.int64),
        }
        if run.participants < run.clients:
            # (rounds, participants): whose weights and reputations the columns are.
            present = [participants(run, number + 1) for number in range(run.rounds)]
            self._facts["participants"] = np.stack(present).astype(np.int32)

    def add(self, values: Mapping[str, Any]) -> None:
        """Record one round: numbers, or one number per participant or class."""
        if values.keys() != self._series.keys():
            raise KeyError(f"recorded is {sorted(values)}, not {sorted(self._series)}")
        for name, value in values.items():
            self._series[name][self.rounds] = value
        self.rounds += 1

    def fail(self) -> None:
        """Record that the run failed in the next round."""
        self.failed = self.rounds + 1

    def arrays(self) -> Arrays:
        """Return everything recorded."""
        return {**self._facts, "failed": np.array(self.failed, np.int64), **self._series}

    def checkpoint(self, model: NDArray[np.float32], memory: Mapping[str, NDArray[Any]], *, engine: str) -> Arrays:
        """Return what the same engine needs to continue after the rounds recorded so far."""
        kept = {_MEMORY + name: array for name, array in memory.items()}
        state = {_ROUND: np.array(self.rounds), _ENGINE: np.array(engine), _MODEL: model}
        return {**state, **kept, **self._series}

    @staticmethod
    def rounds_of(kept: Arrays) -> int:
        """Return how many rounds a checkpoint has behind it."""
        return int(kept[_ROUND])

    def restore(self, kept: Arrays) -> tuple[NDArray[np.float32], Arrays]:
        """Continue from a checkpoint; return the model and the state of the rule."""
        self.rounds = int(kept[_ROUND])
        memory = {name.removeprefix(_MEMORY): array for name, array in kept.items() if name.startswith(_MEMORY)}
        own = {name for name in kept if name in (_ROUND, _ENGINE, _MODEL) or name.startswith(_MEMORY)}
        self._series = {name: array for name, array in kept.items() if name not in own}
        return kept[_MODEL], memory


def _shapes(run: FederatedRun, evaluation: EvaluationRows) -> dict[str, tuple[int, ...]]:
    """Return what is recorded of a round, by name, with its shape."""
    shapes: dict[str, tuple[int, ...]] = {
        "accuracy": (),
        "loss": (),
        "train_loss": (),
        "class_accuracy": (evaluation.classes,),
    }
    shapes |= {ASR + name: () for name, *_ in evaluation.probes}
    shapes["weights"] = (run.participants,)
    if run.rule.has_reputation:
        shapes |= {"reputation": (run.participants,), "negative": (run.participants,)}
    return shapes
