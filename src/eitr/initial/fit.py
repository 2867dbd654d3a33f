"""Training the initial model with the package's own trainer, in stages of falling learning rate."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from eitr.initial.augmentation import Mixture, PageMaker
from eitr.initial.corpus import Labelled
from eitr.initial.material import Material
from eitr.model import Network, TrainingPlan, Vector, train
from eitr.pages.sparse import SparseRows
from eitr.pages.vocabulary import Vocabulary

Progress = Callable[[str], None]
"""Called with a line about what is being done."""
Examples = tuple[SparseRows, NDArray[np.int64]]
"""Vectors of pages and their labels."""
FURTHER_AVERAGED = 2
"""The parameters after so many last passes over the real pages are averaged."""


class Ingredient(StrEnum):
    """What the model owes its quality to; the yardstick can leave out one, to see what it brings."""

    DATA = "data"
    """Real pages of many sources beside the headlines."""
    HARD_NEGATIVES = "hard-negatives"
    """Our sketches of pages that look sensitive and are not, and of very short sensitive ones."""
    BOILERPLATE = "boilerplate"
    """Pages are read without menus, notices and legal text."""
    LANGUAGES = "languages"
    """Words, sketches and real pages of five further languages."""
    CALIBRATION = "calibration"
    """The temperature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How much the model is trained, and on what.

    It is trained first on sensitive pages that we composed and on real ones that are not sensitive, then on real pages
    of all classes, too, and the parameters of both are averaged: the first knows too few sensitive pages, and the
    second too much about the sites that ours come from.
    """

    pages: int = 150_000
    """How many pages each of the two trainings has."""
    rates: tuple[float, ...] = (0.1, 0.1, 0.1, 0.1, 0.03)
    """The learning rate of each pass of the first training."""
    averaged: int = 3
    """The parameters after so many further passes, at the last rate, are averaged."""
    further_rates: tuple[float, ...] = (0.05, 0.05, 0.02, 0.02)
    """The learning rate of each pass of the second one."""
    first_share: float = 0.5
    """How much the parameters of the first training count in the average."""
    momentum: float = 0.9
    dropout: float = 0.5
    batch_size: int = 64
    mixture: Mixture = field(default_factory=Mixture)
    temperature: float = 1.5
    """Divides the logits: without it, the model is too sure on pages of other sources."""
    without: Ingredient | None = None
    """What is left out. Boilerplate is left in by whoever reads the pages."""

    def plan(self, rate: float) -> TrainingPlan:
        """Return the plan of one pass."""
        return TrainingPlan(
            epochs=1,
            max_batches=self.pages,
            batch_size=self.batch_size,
            learning_rate=rate,
            momentum=self.momentum,
            dropout=self.dropout,
        )


def fit(
    vocabulary: Vocabulary,
    rows: Sequence[Labelled],
    material: Material,
    *,
    sources: Mapping[str, Sequence[Labelled]] | None = None,
    recipe: Recipe,
    seed: int,
    progress: Progress,
) -> Vector:
    """Return the parameters of a network that was trained on pages made of the rows, real pages and our material."""
    known = {*vocabulary.words, *vocabulary.forms}

    def examples(mixture: Mixture, seed: int) -> Examples:
        progress(f"making {recipe.pages} training pages")
        maker = PageMaker(rows, material, known, sources=sources, mixture=mixture, seed=seed)
        pages, labels = maker.pages(recipe.pages)
        return vectors(vocabulary, pages), labels

    composed = replace(recipe.mixture, real=0.0)
    rates = recipe.rates + recipe.rates[-1:] * recipe.averaged
    start = Network((len(vocabulary), *Network().layers[1:])).initial(seed)
    first = _trained(start, examples(composed, seed), map(recipe.plan, rates), recipe.averaged, seed, progress)
    if not sources:
        return first
    plans = map(recipe.plan, recipe.further_rates)
    further = _trained(first, examples(recipe.mixture, seed + 1), plans, FURTHER_AVERAGED, seed + 1, progress)
    return np.asarray(recipe.first_share * first + (1 - recipe.first_share) * further, np.float32)


def _trained(
    vector: Vector, examples: Examples, plans: Iterable[TrainingPlan], averaged: int, seed: int, progress: Progress
) -> Vector:
    """Return the mean of the parameters after the last so many passes, at least one."""
    pages, labels = examples
    network = Network((pages.width, *Network().layers[1:]))
    after: list[Vector] = []
    for number, plan in enumerate(plans):
        vector = train(network, vector, pages, labels, plan, seed + number)
        after.append(vector)
        progress(f"pass {number + 1}")
    return np.asarray(np.mean(after[-max(1, averaged) :], axis=0, dtype=np.float64), np.float32)


def vectors(vocabulary: Vocabulary, pages: Sequence[Sequence[str]]) -> SparseRows:
    """Return the vectors of pages given as words."""
    return SparseRows.of((vocabulary.vector(page) for page in pages), width=len(vocabulary))
