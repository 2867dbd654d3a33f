"""What federations start from: a random model, or a given one with the vocabulary that it was trained with."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from eitr.errors import InputError
from eitr.model.classifier import Classifier
from eitr.model.files import to_safetensors

RANDOM: Final = "random"
"""A random model for each seed; the words are chosen on the training pages of the data."""
SHIPPED: Final = "shipped"
"""The model of the package."""


@dataclass(frozen=True, slots=True, eq=False)
class StartModel:
    """A given model to start from, and its vocabulary, which makes the vectors of all pages."""

    name: str
    """What runs and results call it: a name, an @ and a digest of model and vocabulary."""
    argument: str
    """`shipped`, or the whole path of the folder."""
    classifier: Classifier


def find_start(start: str) -> StartModel | None:
    """Return the model that a user names, `shipped` or a folder; None for `random`."""
    if start == RANDOM:
        return None
    if start == SHIPPED:
        return StartModel(_named(SHIPPED, found := Classifier.shipped()), SHIPPED, found)
    folder = Path(start).resolve()
    if not folder.is_dir():
        raise InputError(
            f"there is no folder {start!r} to start from: give {RANDOM}, {SHIPPED}, or a folder with model.safetensors "
            "and vocabulary.json"
        )
    return StartModel(_named(folder.name, found := Classifier.load(folder)), str(folder), found)


def _named(name: str, classifier: Classifier) -> str:
    found = hashlib.sha256(to_safetensors(*classifier.model))
    found.update(classifier.vocabulary.to_json().encode())
    return f"{name}@{found.hexdigest()[:12]}"
