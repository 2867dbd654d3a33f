"""Local training that hides which pages it was done with: one step on clipped gradients, with noise.

An update of this kind is `base - rate * (sum of the cover pages' gradients + weight * sum of the own pages') + noise`,
in the last layers only. Every page's gradient is cut to the length `clip`, and so is the sum of the own pages', so all
own pages together move it by at most `rate * weight * clip`; the Gaussian noise in each coordinate is `noise` times
that. Whoever compares two updates, with and without somebody's pages, or one of them (cutting is a projection onto a
ball, which takes no two sums further apart), compares two normal distributions whose means differ by at most 1 / noise
standard deviations:
no test can do better (Dong, Roth and Su, "Gaussian differential privacy", 2022), whatever is known about the other
pages, the pool, the model and the plan. `docs/page-to-prediction.md`, section 9.1, specifies the step;
`extension/src/core/private_training.ts` is the same in TypeScript.
"""

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.errors import InputError
from eitr.model.examples import check_rows, checked_labels
from eitr.model.network import Layer, Network, Vector

if TYPE_CHECKING:
    from eitr.pages.sparse import SparseRows

Floats = NDArray[np.float64]
Noise = Callable[[int], Floats]
"""Returns so many independent standard normal numbers; of a source that nobody can predict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivatePlan:
    """What the step of a round is made of."""

    layers: int = 1
    """How many of the last layers are trained; the others, which know the words, stay as they are."""
    cover_pages: int = 200
    """So many pages are drawn from the public pool and trained on beside one's own."""
    own_weight: float = 4.0
    """How much the own pages count, which are cut to the length of one page together, beside a cover page."""
    clip: float = 0.2
    """The longest gradient of a page, over the trained layers, and of all own pages together."""
    learning_rate: float = 0.1
    noise: float = 4.0
    """Standard deviation of the noise in each parameter, in multiples of the most that the own pages can move."""

    def __post_init__(self) -> None:
        # A plan may come from a server's JSON, where a number can be anything.
        for name, least in (("layers", 1), ("cover_pages", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")
        for name in ("own_weight", "clip", "learning_rate", "noise"):
            value = getattr(self, name)
            positive = name != "noise"
            if type(value) not in (int, float) or not (value > 0 if positive else value >= 0) or value == math.inf:
                raise InputError(f"{name} must be a number {'above' if positive else 'of at least'} 0, not {value!r}")

    @property
    def reach(self) -> float:
        """The most that all own pages together move the parameters: the length of their part of the step."""
        return self.learning_rate * self.own_weight * self.clip

    @property
    def added_noise(self) -> float:
        """The standard deviation of the noise in each parameter."""
        return self.noise * self.reach


def trained_from(network: Network, layers: int) -> int:
    """Return the place of the first trained parameter, if the last `layers` are trained.

    >>> trained_from(Network(), 2), Network().size - trained_from(Network(), 2)
    (256256, 8422)
    """
    if not 1 <= layers <= len(network.shapes):
        raise InputError(f"the network has {len(network.shapes)} layers; {layers} of them cannot be trained")
    return sum((inputs + 1) * outputs for inputs, outputs in network.shapes[: len(network.shapes) - layers])


def private_step(
    network: Network,
    vector: Vector,
    own: tuple["SparseRows", ArrayLike],
    cover: tuple["SparseRows", ArrayLike] | None,
    plan: PrivatePlan,
    noise: Noise | None = None,
) -> Vector:
    """Return the parameters after one step on the own pages and all given cover pages, with noise.

    Both are vectors of pages and their labels; `drawn_cover` draws the cover pages. Only trained parameters change.
    """
    network.check(vector)
    start = trained_from(network, plan.layers)
    mine = clipped_sum(network, vector, *own, layers=plan.layers, clip=plan.clip)
    total = mine * (plan.own_weight * plan.clip / max(float(np.linalg.norm(mine)), plan.clip))
    if cover is not None and len(cover[0]):
        total = total + clipped_sum(network, vector, *cover, layers=plan.layers, clip=plan.clip)
    step = -plan.learning_rate * total
    if plan.noise:
        step = step + plan.added_noise * (noise or secret_noise)(len(step))
    result = vector.copy()
    result[start:] = (vector[start:] + step).astype(np.float32)
    if not np.isfinite(result).all():
        raise InputError("the step is not finite: the plan's numbers are too large")
    return result


def clipped_sum(
    network: Network, vector: Vector, rows: "SparseRows", labels: ArrayLike, *, layers: int, clip: float
) -> Floats:
    """Return the sum of the pages' gradients over the last layers, each cut to the length `clip`."""
    inputs, errors = _pages(network, vector, rows, labels, layers)
    scale = clip / np.maximum(_lengths(inputs, errors), clip)
    parts: list[Floats] = []
    for given, error in zip(inputs, errors, strict=True):
        cut = error * scale[:, None]
        parts += [(given.T @ cut).ravel(), cut.sum(axis=0)]
    return np.concatenate(parts)


def expected_cover_step(
    network: Network, vector: Vector, pool: "SparseRows", labels: ArrayLike, plan: PrivatePlan
) -> Floats:
    """Return the mean step of the trained parameters that cover pages alone cause, over all draws from a pool.

    Every page is drawn equally often. A server subtracts this from updates: what is left are own pages and noise.
    """
    whole = clipped_sum(network, vector, pool, labels, layers=plan.layers, clip=plan.clip)
    return -plan.learning_rate * plan.cover_pages / len(pool) * whole


def without_cover(
    updates: NDArray[np.float32],
    network: Network,
    base: Vector,
    pool: tuple["SparseRows", ArrayLike],
    plan: PrivatePlan,
) -> NDArray[np.float32]:
    """Return updates, (n, trained parameters), minus the step that cover pages cause on average.

    What is left are own pages, noise, and how each draw differs from the mean. The step that is subtracted is not added
    to the new model: it would train the model on the pool again in every round.
    """
    step = expected_cover_step(network, base, *pool, plan)
    return np.asarray(updates - step, np.float32)


def gradient_lengths(network: Network, vector: Vector, rows: "SparseRows", labels: ArrayLike, *, layers: int) -> Floats:
    """Return the length of each page's gradient over the last layers."""
    return _lengths(*_pages(network, vector, rows, labels, layers))


def largest_auc(noise: float, uses: int) -> float:
    """Return the most that anybody's area under the ROC curve can be for "was this page among them?".

    `uses` is the number of rounds in which the page was used: together they tell as much as one with less noise.

    >>> round(largest_auc(4.0, 2), 3)
    0.599
    """
    return NormalDist().cdf(math.sqrt(uses) / noise / math.sqrt(2)) if noise else 1.0


def secret_noise(count: int) -> Floats:
    """Return standard normal numbers from the operating system's random generator, which nobody can predict."""
    system = secrets.SystemRandom()
    return np.array([system.gauss(0.0, 1.0) for _ in range(count)])


def _pages(
    network: Network, vector: Vector, rows: "SparseRows", labels: ArrayLike, layers: int
) -> tuple[list[Floats], list[Floats]]:
    """Return what each trained layer is given by each page, and the slopes of the page's loss by its outputs."""
    check_rows(network, rows)
    classes = checked_labels(network, rows, labels)
    every = [Layer(kernel.astype(np.float64), bias.astype(np.float64)) for kernel, bias in network.split(vector)]
    given: list[Floats] = [rows.dense().astype(np.float64)]
    for kernel, bias in every[:-1]:
        given.append(np.maximum(given[-1] @ kernel + bias, 0.0))
    logits = given[-1] @ every[-1].kernel + every[-1].bias
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[np.arange(len(classes)), classes] -= 1.0
    errors = [chances]
    for place in range(len(every) - 1, len(every) - layers, -1):
        errors.insert(0, (errors[0] @ every[place].kernel.T) * (given[place] > 0))
    return given[len(every) - layers :], errors


def _lengths(inputs: list[Floats], errors: list[Floats]) -> Floats:
    """A layer's gradient is the outer product of what it is given, and a 1 for the bias, with the slopes."""
    squares = np.zeros(len(inputs[0]))
    for given, error in zip(inputs, errors, strict=True):
        squares += ((given**2).sum(axis=1) + 1.0) * (error**2).sum(axis=1)
    return np.sqrt(squares)
