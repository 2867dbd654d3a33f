"""Updates of all layers, as in version 0.1 and with `EITR_TRAINING=paper`: of honest people and of attackers."""

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.model import Network, TrainingPlan, train
from eitr.pages import SparseRows
from eitr.taxonomy import NAMES

NON_SENSITIVE = len(NAMES) - 1
ATTACKER_PAGES = 20
"""Pages that each attacker trains on."""


class PaperUpdates:
    """Makes the updates of a round."""

    def __init__(
        self,
        network: Network,
        rows: SparseRows,
        labels: NDArray[np.int64],
        people: NDArray[np.int64],
        triggered: SparseRows,
    ) -> None:
        self._network, self._rows, self._labels = network, rows, labels
        self._people, self._triggered = people, triggered

    def begin(self, vector: NDArray[np.float32], plan: TrainingPlan) -> None:
        """Begin a round with the model and the plan that the server tells."""
        self._vector, self._plan = vector, plan

    def honest(self, places: NDArray[np.int64], rng: np.random.Generator) -> bytes:
        """Return the update of somebody with these pages."""
        return self._encoded(self._trained(self._rows.take(places), self._labels[places], rng))

    def attack(self, name: str, share: float, noisy: bool, rng: np.random.Generator) -> bytes:
        """Return an attacker's update; there is no noise that could hide a share of it."""
        places = rng.choice(self._people, ATTACKER_PAGES, replace=False)
        own, labels = self._rows.take(places), self._labels[places]
        if name == "label-flip":
            return self._encoded(self._trained(own, (labels + 1) % len(NAMES), rng))
        if name == "backdoor":
            some = self._triggered.take(rng.choice(len(self._triggered), ATTACKER_PAGES, replace=False))
            return self._encoded(self._trained(some, np.full(ATTACKER_PAGES, NON_SENSITIVE), rng))
        step = self._trained(own, labels, rng) - self._vector
        if name == "sign-flip":
            return self._encoded(self._vector - step)
        if name == "bias":
            biases = np.full(len(NAMES), -1.0)
            biases[NON_SENSITIVE] = len(NAMES) - 1.0
            result = self._vector.copy()
            result[-len(NAMES) :] += (np.linalg.norm(step) / np.linalg.norm(biases) * biases).astype(np.float32)
            return self._encoded(result)
        raise InputError(f"the attack {name!r} is for private training")

    def _trained(self, rows: SparseRows, labels: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float32]:
        return train(self._network, self._vector, rows, labels, self._plan, int(rng.integers(2**31)))

    @staticmethod
    def _encoded(vector: NDArray[np.float32]) -> bytes:
        return vector.astype("<f4").tobytes()
