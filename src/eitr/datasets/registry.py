"""All data sets by name."""

import os
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from eitr import plugins
from eitr.datasets import builtin, covid, curlie, news_rows, news_sections, newsgroups, surl
from eitr.datasets.interface import Examples, Source, read_examples
from eitr.datasets.location import data_folder
from eitr.datasets.own.files import FORMATS, format_of, own_examples
from eitr.datasets.own.options import FileOptions
from eitr.datasets.sampling import stratified_sample
from eitr.datasets.vectors import examples_of
from eitr.errors import InputError
from eitr.pages.vocabulary import Vocabulary

_OWN: Final[dict[str, Source]] = {
    module.SOURCE.name: module.SOURCE for module in (builtin, news_rows, news_sections, newsgroups, covid, surl, curlie)
}


def _adopted(value: Any) -> tuple[str, Source]:
    if not isinstance(value, Source):
        raise InputError(f"a data set is an eitr.datasets.Source, not {value!r}")
    return value.name, value


SOURCES: Final[plugins.Registry[Source]] = plugins.Registry("data set", plugins.DATA_SETS, _OWN, _adopted)


def load(
    name_or_path: str | Path,
    *,
    data_dir: Path | None = None,
    seed: int = 0,
    size: int | None = None,
    words: int = 1000,
    difficulty: float | None = None,
    options: FileOptions | None = None,
    vocabulary: Vocabulary | None = None,
) -> Examples:
    """Return the examples of a data set by its name, of the user's own file or folder, or of a prepared .npz file.

    `data_dir` is the folder the files lie in, else the one that EITR_DATA names. `size` takes at most so many pages, of
    every class and of both sides of the split in proportion. `words` says how many columns there are; a prepared file
    has its own. With a `vocabulary`, pages are read and weighed as a model with this vocabulary does it, instead of by
    words that are chosen on the training pages; a prepared file must have been prepared with it. `difficulty` is for
    the built-in pages alone, `options` for the user's own file or folder.
    """
    name = str(name_or_path)
    if is_own(name_or_path):
        return own_examples(
            Path(name_or_path), options or FileOptions(), words=words, seed=seed, size=size, vocabulary=vocabulary
        )
    check_options(name, options)
    if difficulty is not None and name != builtin.SOURCE.name:
        raise InputError(f"{name} has no difficulty to set; only {builtin.SOURCE.name} has")
    if name == builtin.SOURCE.name:
        chosen = builtin.DIFFICULTY if difficulty is None else difficulty
        wanted = builtin.SIZE if size is None else size
        if vocabulary is None:
            return builtin.examples(size=wanted, seed=seed, difficulty=chosen, words=words)
        drawn = partial(builtin.pages, size=wanted, seed=seed, difficulty=chosen)
        return examples_of(name, drawn, seed=seed, vocabulary=vocabulary)
    if name in SOURCES:
        source = SOURCES[name]
        folder = data_folder(data_dir, source.needs) if source.needs else data_dir
        return examples_of(
            name,
            lambda: source.checked_pages(folder),
            words=words,
            seed=seed,
            size=size,
            classes=source.classes,
            vocabulary=vocabulary,
        )
    if isinstance(name_or_path, Path) or name.endswith(".npz") or os.sep in name:
        found = _prepared(Path(name_or_path))
        if vocabulary is not None and found.words != vocabulary.words:
            raise InputError(
                f"{name} was prepared with other words than those of the vocabulary: prepare it again with this "
                "vocabulary (`eitr data prepare --start`), or name the data it was made of"
            )
        return _sampled(found, size, seed)
    if name == "cifar10":
        raise InputError("cifar10 holds images, not pages: eitr.datasets.cifar10.load_images reads it")
    raise InputError(f"no data set is called {name!r}; there are {', '.join(SOURCES)}; or give {FORMATS}")


def is_own(name_or_path: str | Path) -> bool:
    """Return whether this is a file of rows or a folder of HTML files; the name of a data set goes first."""
    return str(name_or_path) not in SOURCES and format_of(Path(name_or_path)) is not None


def check_options(name: str, options: FileOptions | None) -> None:
    """Refuse options of files for data that need none: they would be ignored."""
    if options is not None and options.given:
        raise InputError(f"{name} has its own columns and labels: leave out {options.arguments()[0]}")


def _prepared(path: Path) -> Examples:
    """Read a prepared file, whatever its ending; other files of an unknown ending are refused with the ones we know."""
    try:
        return read_examples(path)
    except InputError as error:
        if path.suffix == ".npz" or not path.is_file():
            raise
        raise InputError(f"{path}: the format of the data is not known; give {FORMATS}") from error


def _sampled(examples: Examples, size: int | None, seed: int) -> Examples:
    if size is None:
        return examples
    return examples.take(stratified_sample(examples.labels * 2 + examples.test.astype(np.int64), size, seed))
