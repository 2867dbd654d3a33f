"""Which pages a node trains on and the server judges by.

A node has pages of its own, or, to try things out, a share of a data set. The shares are those of the lab for the same
seed, so that a federation on Flower can be compared with a simulated one.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.interface import Examples
from eitr.datasets.own.files import own_pages
from eitr.datasets.own.options import FileOptions
from eitr.datasets.registry import load
from eitr.datasets.validation import ValidationSet
from eitr.errors import InputError
from eitr.flower.round_step import Arrays
from eitr.flower.run_settings import PARTITION, PARTITIONS, RunSettings
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.simulation.population import Population, Stream, population
from eitr.model.classifier import Classifier
from eitr.model.network import Network, Vector
from eitr.model.random import key_of
from eitr.model.training import train_as_in_lab
from eitr.model.validation import ValidationPages
from eitr.pages.sparse import SparseRows
from eitr.pages.vocabulary import Vocabulary

PAGES: Final = "pages"
"""The name in the configuration of a node, beside those of Flower's simulation."""


class LabelledRows(NamedTuple):
    """Pages as the model sees them, with their classes."""

    rows: SparseRows
    labels: NDArray[np.int64]


@lru_cache(maxsize=2)
def classifier_of(model: str) -> Classifier:
    """Return the model that a federation starts from, and its vocabulary."""
    return Classifier.shipped() if model == "shipped" else Classifier.load(Path(model))


def named_layers(network: Network, vector: Vector) -> Arrays:
    """Return parameters by name, as in model files."""
    return {
        f"dense_{number}/{name}": part
        for number, layer in enumerate(network.split(vector))
        for name, part in (("kernel", layer.kernel), ("bias", layer.bias))
    }


def pages_of_node(settings: RunSettings, node: Mapping[str, Any]) -> LabelledRows:
    """Return what a node trains on, by its configuration."""
    vocabulary = classifier_of(settings.model).vocabulary
    if PAGES in node:
        return _own(Path(str(node[PAGES])), vocabulary)
    if settings.data and PARTITION in node and PARTITIONS in node:
        examples, people = _divided(settings, int(node[PARTITIONS]))
        place = int(node[PARTITION])
        if not 0 <= place < len(people.pages):
            raise InputError(f"{PARTITION} must be from 0 to {len(people.pages) - 1}, not {place}")
        own = people.pages[place]
        return LabelledRows(examples.rows.take(own), examples.labels[own])
    raise InputError(
        f"the node has no pages: start it with --node-config '{PAGES}=\"FILE\"', or, to try things out, set `data` for "
        f"the run and start it with --node-config '{PARTITION}=0 {PARTITIONS}=3'"
    )


def trusted_pages(settings: RunSettings, nodes: int) -> ValidationPages:
    """Return the pages that the server judges by; of a divided data set those that no node has."""
    classifier = classifier_of(settings.model)
    network, vocabulary = classifier.model.network, classifier.vocabulary
    if settings.data:
        examples, people = _divided(settings, nodes)
        return ValidationPages(network, examples.rows.take(people.root), examples.labels[people.root])
    pages = ValidationSet(Path(settings.trusted_pages) if settings.trusted_pages else None)
    return pages.shown_pages(network, vocabulary)


def measured_pages(settings: RunSettings, nodes: int) -> ValidationPages:
    """Return the pages on which the model is measured: the test pages of a data set, or those that are trusted."""
    if not settings.data:
        return trusted_pages(settings, nodes)
    examples, _ = _divided(settings, nodes)
    tests = np.flatnonzero(examples.test)
    return ValidationPages(
        classifier_of(settings.model).model.network, examples.rows.take(tests), examples.labels[tests]
    )


def seed_of(seed: int, number: int, node: int) -> int:
    """Return the seed with which a node trains in a round: another one for each node and each round."""
    return key_of(seed, Stream.TRAINING, number, node)


def trained(network: Network, vector: Vector, pages: LabelledRows, settings: RunSettings, seed: int) -> Vector:
    """Return the model after local training, as the lab trains a client with this seed."""
    return train_as_in_lab(network, vector, pages.rows, pages.labels, settings.plan, seed)


def _own(path: Path, vocabulary: Vocabulary) -> LabelledRows:
    found = [one for one in own_pages(path, FileOptions()) if not one.test]
    if not found:
        raise InputError(f"{path}: there is no page to train on")
    return LabelledRows(vocabulary.rows([one.page for one in found]), np.array([one.label for one in found], np.int64))


@lru_cache(maxsize=2)
def _divided(settings: RunSettings, nodes: int) -> tuple[Examples, Population]:
    """Return a data set and how the lab divides it among so many clients."""
    vocabulary = classifier_of(settings.model).vocabulary
    examples = load(settings.data, size=settings.data_size or None, vocabulary=vocabulary)
    run = FederatedRun(
        data=settings.data, rule=settings.make_rule(), clients=nodes, seed=settings.seed, trusted=settings.trusted
    )
    return examples, population(examples, run)
