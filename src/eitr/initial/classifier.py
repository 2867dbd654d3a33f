"""From training pages to a classifier: choose the words, train, calibrate."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eitr.initial.corpus import Labelled
from eitr.initial.fit import Progress, Recipe, fit
from eitr.initial.material import Material, material
from eitr.initial.sources import NEWS, UNLABELLED, Pages
from eitr.initial.vocabulary_choice import weighted, with_forms
from eitr.model import Classifier, Model, Network, Vector
from eitr.pages.vocabulary import Vocabulary

TEMPERATURE = 1.45
"""Divides the logits: without it, the model is too sure on pages of other sources."""
OPENING = 15
"""So many words of a page's beginning stand for a headline where there are no headlines."""
MOST_OPENINGS = 400
"""At most so many pages of a source do."""


def make_classifier(training: Pages, recipe: Recipe, seed: int, progress: Progress) -> Classifier:
    """Return a classifier that was trained on the pages and on our own material."""
    rows, sources = headlines_and_pages(training)
    words, forms = with_forms(rows, material())
    vocabulary = weighted(words, rows, forms)
    vector = calibrated_fit(vocabulary, rows, sources, material(), recipe, seed, progress)
    return Classifier(Model(network_for(vocabulary), vector), vocabulary)


def headlines_and_pages(training: Pages) -> tuple[Sequence[Labelled], Pages]:
    """Return the headlines of which pages are composed, and the real pages in English."""
    sources = {
        name: [page for page in pages if page.language == "en"] for name, pages in training.items() if name != NEWS
    }
    if NEWS in training:
        return training[NEWS], sources
    openings = [
        replace(page, words=page.words[:OPENING], section=name)
        for name, pages in sources.items()
        if name != UNLABELLED
        for page in pages[:MOST_OPENINGS]
    ]
    return openings, sources


def calibrated_fit(
    vocabulary: Vocabulary,
    rows: Sequence[Labelled],
    sources: Pages,
    ours: Material,
    recipe: Recipe,
    seed: int,
    progress: Progress,
) -> Vector:
    """Train, and divide the last layer by the temperature: the same classes, less sure."""
    vector = fit(vocabulary, rows, ours, sources=sources, recipe=recipe, seed=seed, progress=progress)
    last = network_for(vocabulary).split(vector)[-1]
    last.kernel[:] /= np.float32(TEMPERATURE)
    last.bias[:] /= np.float32(TEMPERATURE)
    return vector


def network_for(vocabulary: Vocabulary) -> Network:
    """Return the network with as many inputs as there are words."""
    return Network((len(vocabulary), *Network().layers[1:]))
