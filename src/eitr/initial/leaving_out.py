"""Judge the way the model is made: train without a group of sources, then ask it about the pages of that group."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from eitr.errors import InputError
from eitr.initial.classifier import make_classifier
from eitr.initial.corpus import Labelled
from eitr.initial.fit import Progress, Recipe, vectors
from eitr.initial.sources import Pages, for_judging, for_training, groups
from eitr.initial.yardstick import Verdicts
from eitr.model import Classifier, load
from eitr.pages.reading import WITH_BOILERPLATE
from eitr.pages.vocabulary import Vocabulary

SHIPPED = "shipped"


def judge_recipe(pages: Pages, recipe: Recipe, seed: int, progress: Progress) -> Verdicts:
    """Return verdicts on all pages, each of a model that was trained without the page's group of sources.

    Sources that are never trained on are judged by a model that was trained on all others.
    """
    parts = []
    for group in (*groups(pages), None):
        if not (judged := for_judging(pages, group)):
            continue
        progress(f"without {group}" if group else "with all groups")
        classifier = make_classifier(for_training(pages, without=group), recipe, seed, progress)
        parts.append(_verdicts(classifier, judged))
    return Verdicts.joined(parts)


def judge_model(pages: Pages, classifier: Classifier) -> Verdicts:
    """Return a finished model's verdicts on the same pages."""
    return _verdicts(classifier, [page for group in (*groups(pages), None) for page in for_judging(pages, group)])


def read_model(name: str) -> Classifier:
    """Return the shipped model, or that of a folder with `model.safetensors` and `vocabulary.json`."""
    if name == SHIPPED:
        return Classifier.shipped()
    folder = Path(name)
    if not (folder / "model.safetensors").is_file():
        raise InputError(f"{folder}: no model.safetensors; name a folder that holds it and vocabulary.json")
    return Classifier(load(folder / "model.safetensors"), Vocabulary.load(folder / "vocabulary.json"))


def _verdicts(classifier: Classifier, judged: Sequence[Labelled]) -> Verdicts:
    rows = vectors(classifier.vocabulary, [page.words for page in judged])
    two_answers = classifier.vocabulary.version == WITH_BOILERPLATE
    language = classifier.vocabulary.language
    pages = [replace(page, read_language=language(page.read_language, page.words)) for page in judged]
    return Verdicts.of(classifier.probabilities(rows), pages, None if two_answers else np.diff(rows.starts).tolist())
