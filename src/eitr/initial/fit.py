"""Training the initial model with the package's own trainer, in stages of falling learning rate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How much the model is trained, and on what."""

    pages: int = 150_000
    rates: tuple[float, ...] = (0.1, 0.1, 0.1, 0.1, 0.03)
    """The learning rate of each pass over the pages."""
    averaged: int = 3
    """The parameters after so many further passes, at the last rate, are averaged."""
    momentum: float = 0.9
    dropout: float = 0.3
    batch_size: int = 64
    mixture: Mixture = field(default_factory=Mixture)

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
    progress(f"making {recipe.pages} training pages")
    known = {*vocabulary.words, *vocabulary.forms}
    maker = PageMaker(rows, material, known, sources=sources, mixture=recipe.mixture, seed=seed)
    pages, labels = maker.pages(recipe.pages)
    return fit_pages(vectors(vocabulary, pages), labels, recipe=recipe, seed=seed, progress=progress)


def fit_pages(pages: SparseRows, labels: NDArray[np.int64], *, recipe: Recipe, seed: int, progress: Progress) -> Vector:
    """Train on pages that are there already."""
    network = Network((pages.width, *Network().layers[1:]))
    vector = network.initial(seed)
    averaged: list[Vector] = []
    rates = recipe.rates + recipe.rates[-1:] * recipe.averaged
    for number, rate in enumerate(rates):
        vector = train(network, vector, pages, labels, recipe.plan(rate), seed + number)
        progress(f"pass {number + 1} of {len(rates)}")
        if number >= len(recipe.rates):
            averaged.append(vector)
    return np.asarray(np.mean(averaged or [vector], axis=0, dtype=np.float64), np.float32)


def vectors(vocabulary: Vocabulary, pages: Sequence[Sequence[str]]) -> SparseRows:
    """Return the vectors of pages given as words."""
    return SparseRows.of((vocabulary.vector(page) for page in pages), width=len(vocabulary))
