"""Private updates of honest people and of attackers, many a second: only the last layer changes, its inputs do not.

Attackers know what everybody knows: the model, the plan, the pool, the validation pages of the package, and pages like
those of the people. Each of their updates is as long as the noise of an honest one makes it. A share of the length is
the attack, the same for all of them, and the rest is noise, so that their updates are not alike.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.formal_privacy import Floats, Pages
from eitr.model.network import Network
from eitr.model.private import PrivatePlan, trained_from
from eitr.model.validation import answers
from eitr.pages.sparse import SparseRows
from eitr.taxonomy import NAMES

NON_SENSITIVE = len(NAMES) - 1
TARGET = NAMES.index("politics")
"""The class that slow poisoning attacks."""
AIM_STEPS, AIM_RATE, AIM_DISTANCE = 400, 0.05, 3.0
"""How slow poisoning and the backdoor look for the model that they want, and how far away it may be."""
KEPT_WEIGHT = 20.0
"""How much a validation page that would be lost counts beside a page that is attacked."""


def last_inputs(network: Network, vector: NDArray[np.float32], rows: SparseRows) -> Floats:
    """Return what the last layer is given by each page, with a 1 for the bias."""
    lower = Network(network.layers[:-1])
    first = trained_from(network, 1)
    found = np.maximum(answers(lower, vector[:first], rows, np.arange(len(rows), dtype=np.int64)), 0.0)
    return np.hstack([found, np.ones((len(found), 1))]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Known:
    """What attackers use."""

    people: Pages
    """Pages like those of the people, rightly labelled."""
    triggered: Pages
    """Sensitive pages with the trigger of the backdoor, labelled as not sensitive."""
    validation: Pages
    pool: Pages


class PrivateUpdates:
    """Makes the updates of a round."""

    def __init__(self, network: Network, start: NDArray[np.float32], pages: Pages, known: Known) -> None:
        self._first = trained_from(network, 1)
        self._pages, self._known = pages, known
        self._start = self._last(start)
        self._aims: dict[str, Floats] = {}

    def begin(self, vector: NDArray[np.float32], plan: PrivatePlan) -> None:
        """Begin a round with the model and the plan that the server tells."""
        self._plan, self._base = plan, vector[self._first :].astype(np.float64)
        self._model = self._last(vector)
        self._cover = self._known.pool.gradients(self._model, plan.clip)
        self._expected = -plan.learning_rate * plan.cover_pages * self._cover.mean(axis=0)
        self._directions: dict[str, Floats] = {}

    def honest(self, places: NDArray[np.int64], rng: np.random.Generator) -> bytes:
        """Return the update of somebody with these pages: the step of `eitr.model.private`, with seeded noise."""
        plan = self._plan
        mine = self._pages.at(places).gradients(self._model, plan.clip).sum(axis=0)
        total = mine * (plan.own_weight * plan.clip / max(float(np.linalg.norm(mine)), plan.clip))
        drawn = rng.permutation(len(self._cover))[: plan.cover_pages]
        step = -plan.learning_rate * (total + self._cover[drawn].sum(axis=0))
        return self._encoded(step + plan.added_noise * rng.standard_normal(len(step)))

    def attack(self, name: str, share: float, noisy: bool, rng: np.random.Generator) -> bytes:
        """Return an attacker's update; `share` of its length is the attack, the rest is noise or nothing."""
        plan, size = self._plan, len(self._base)
        if name not in self._directions:  # all attackers have the same
            self._directions[name] = self._direction(name)
        step = share * math.sqrt(size) * self._directions[name]
        if noisy:
            step = step + math.sqrt(1 - share**2) * rng.standard_normal(size)
        return self._encoded(self._expected + plan.added_noise * step)

    def aim(self, name: str) -> Floats:
        """Return the last layer that slow poisoning or the backdoor wants, found once: validation pages stay right."""
        if name not in self._aims:
            self._aims[name] = self._wanted(name)
        return self._aims[name]

    def _direction(self, name: str) -> Floats:
        if name in ("slow", "backdoor"):
            found = (self.aim(name) - self._model).ravel()
        elif name == "label-flip":
            pages = self._known.people
            flipped = Pages(pages.inputs, (pages.labels + 1) % len(NAMES))
            found = -_slope(flipped, self._model).ravel()
        elif name == "sign-flip":
            found = _slope(self._known.pool, self._model).ravel()
        else:
            biases = np.zeros_like(self._model)
            biases[-1], biases[-1, NON_SENSITIVE] = -1.0, len(NAMES) - 1.0
            found = biases.ravel()
        return found / max(float(np.linalg.norm(found)), 1e-12)

    def _wanted(self, name: str) -> Floats:
        """Descend on what the attack wants; validation pages whose loss would rise, and may become wrong, pull back."""
        kept, model = self._known.validation, self._start.copy()
        if name == "slow":
            people = self._known.people
            pages, sign = people.at(np.flatnonzero(people.labels == TARGET)), -1.0
        else:
            pages, sign = self._known.triggered, 1.0
        right = (kept.inputs @ model).argmax(axis=1) == kept.labels
        for _ in range(AIM_STEPS):
            margins = _margins(kept, model)
            close = kept.at(np.flatnonzero(right & (margins < 0.5)))
            pull = sign * _slope(pages, model)
            if len(close.labels):
                pull = pull + KEPT_WEIGHT * len(close.labels) / len(kept.labels) * _slope(close, model)
            model = model - AIM_RATE * pull
            if float(np.linalg.norm(model - self._start)) >= AIM_DISTANCE:
                break
        return model

    def _encoded(self, step: Floats) -> bytes:
        return (self._base + step).astype("<f4").tobytes()

    def _last(self, vector: NDArray[np.float32]) -> Floats:
        return vector[self._first :].reshape(-1, len(NAMES)).astype(np.float64)


def _slope(pages: Pages, model: Floats) -> Floats:
    """Return the mean gradient of the pages' loss."""
    return pages.inputs.T @ pages.errors(model) / len(pages.labels)


def _margins(pages: Pages, model: Floats) -> Floats:
    """Return by how much the logit of the right class is above the highest other one."""
    logits = pages.inputs @ model
    rows = np.arange(len(logits))
    own = logits[rows, pages.labels].copy()
    logits[rows, pages.labels] = -np.inf
    return np.asarray(own - logits.max(axis=1))
