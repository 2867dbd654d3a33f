"""From training pages to a classifier: choose the words, train, calibrate."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from eitr.initial.corpus import Labelled
from eitr.initial.fit import Ingredient, Progress, Recipe, fit
from eitr.initial.languages import foreign_forms, sketches
from eitr.initial.material import Material, material
from eitr.initial.sources import NEWS, Pages
from eitr.initial.unknown_words import material_without, pages_without
from eitr.initial.vocabulary_choice import weighted, with_forms
from eitr.model import Classifier, Model, Network, Vector
from eitr.pages.language import LANGUAGES
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

PIECE = 15
"""So many words of a page in a row stand for a headline."""
PIECES = 3
"""At most so many pieces of a page do, evenly spaced."""
MOST_PAGES = 300
"""Pieces are made of at most so many pages of one class and source."""


def make_classifier(
    training: Pages, recipe: Recipe, seed: int, progress: Progress, unknown: Collection[str] = ()
) -> Classifier:
    """Return a classifier that was trained on the pages and on our own material, without those with `unknown` words."""
    training = pages_without(training, unknown)
    languages: Sequence[str] = LANGUAGES
    if recipe.without == Ingredient.LANGUAGES:
        languages = LANGUAGES[:1]
        training = {name: [page for page in pages if page.language in languages] for name, pages in training.items()}
    rows, sources = headlines_and_pages(training)
    if recipe.without == Ingredient.DATA:
        sources = {}
    vocabulary = choose_vocabulary(rows, sources, languages, unknown)
    sketched = languages[1:] if recipe.without == Ingredient.HARD_NEGATIVES else languages
    ours = material_without(with_more_sketches(material(), sketched), unknown)
    vector = calibrated_fit(vocabulary, rows, sources, ours, recipe, seed, progress)
    return Classifier(Model(network_for(vocabulary), vector), vocabulary)


def headlines_and_pages(training: Pages) -> tuple[Sequence[Labelled], Pages]:
    """Return the headlines of which pages are composed, and the real pages.

    Where there are no headlines, pieces of the real pages stand for them.
    """
    sources = {name: pages for name, pages in training.items() if name != NEWS}
    return training.get(NEWS) or pieces(sources), sources


def choose_vocabulary(
    rows: Sequence[Labelled], sources: Pages, languages: Sequence[str] = LANGUAGES, unknown: Collection[str] = ()
) -> Vocabulary:
    """Choose English words by the headlines and by pieces of real pages; words of other languages count as them."""
    documents = [*rows, *pieces(sources)]
    words, forms = with_forms(documents, material_without(material(), unknown))
    places = {word: place for place, word in enumerate(words)} | forms
    return weighted(words, documents, forms, foreign_forms(places) if len(languages) > 1 else {})


def with_more_sketches(ours: Material, languages: Sequence[str] = LANGUAGES) -> Material:
    """Return the material with our further sketches: the English ones are hard negatives and very short pages."""
    added = [sketches(language) for language in languages]
    every = tuple(
        (*own, *(sketch for of_language in added for sketch in of_language[label]))
        for label, own in enumerate(ours.sketches)
    )
    return replace(ours, sketches=every)


def pieces(sources: Pages) -> list[Labelled]:
    """Return short pieces of the English pages, as long as a headline, so that every page and source counts alike."""
    found = []
    for name, pages in sources.items():
        counts = [0] * len(NAMES)
        for page in (page for page in pages if page.language == LANGUAGES[0]):
            counts[page.label] += 1
            if counts[page.label] > MOST_PAGES:
                continue
            step = max(PIECE, -(-len(page.words) // PIECES))
            starts = range(0, len(page.words), step)
            found += [replace(page, words=page.words[start : start + PIECE], section=name) for start in starts]
    return found


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
    temperature = np.float32(1 if recipe.without == Ingredient.CALIBRATION else recipe.temperature)
    last = network_for(vocabulary).split(vector)[-1]
    last.kernel[:] /= temperature
    last.bias[:] /= temperature
    return vector


def network_for(vocabulary: Vocabulary) -> Network:
    """Return the network with as many inputs as there are words."""
    return Network((len(vocabulary), *Network().layers[1:]))
