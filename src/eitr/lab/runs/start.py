"""What federations start from: a random model, or a given one with the vocabulary that it was trained with."""

import hashlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from eitr.errors import InputError
from eitr.model.classifier import Classifier
from eitr.model.files import to_safetensors
from eitr.pages.pool import Pool, vocabulary_digest

RANDOM: Final = "random"
"""A random model for each seed; the words are chosen on the training pages of the data."""
SHIPPED: Final = "shipped"
"""The model of the package."""
POOL_FILE: Final = "pool.bin"


@dataclass(frozen=True, eq=False)
class StartModel:
    """A given model to start from, and its vocabulary, which makes the vectors of all pages."""

    name: str
    """What runs and results call it: a name, an @ and a digest of model and vocabulary."""
    argument: str
    """`shipped`, or the whole path of the folder."""
    classifier: Classifier

    @cached_property
    def pool(self) -> Pool:
        """The pool of cover pages that lies beside the model and was made for its vocabulary."""
        with self._folder() as folder:
            return _pool_in(folder, len(self.classifier.vocabulary))

    @property
    def pool_digest(self) -> str:
        """What results call the pool: the first 12 digits of its file's SHA-256."""
        return _short_digest(self.pool.to_bytes())

    @property
    def pool_file_digest(self) -> str:
        """The same of the file as it is, which may be no pool of this model; "" where there is no file."""
        with self._folder() as folder:
            path = folder / POOL_FILE
            return _short_digest(path.read_bytes()) if path.is_file() else ""

    def _folder(self) -> AbstractContextManager[Path]:
        return (
            as_file(files("eitr").joinpath("assets")) if self.argument == SHIPPED else nullcontext(Path(self.argument))
        )


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


def _short_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _named(name: str, classifier: Classifier) -> str:
    found = hashlib.sha256(to_safetensors(*classifier.model))
    found.update(classifier.vocabulary.to_json().encode())
    return f"{name}@{found.hexdigest()[:12]}"


def _pool_in(folder: Path, width: int) -> Pool:
    try:
        data, words = ((folder / name).read_bytes() for name in (POOL_FILE, "vocabulary.json"))
    except OSError as error:
        raise InputError(
            f"private training needs cover pages, and {POOL_FILE} of the start cannot be read: {error.strerror}"
        ) from error
    pool = Pool.from_bytes(data, width=width)
    if pool.vocabulary != vocabulary_digest(words):
        raise InputError(f"{POOL_FILE} of the start was made for another vocabulary: make it anew for this one")
    return pool
