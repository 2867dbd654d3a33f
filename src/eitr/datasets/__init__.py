"""Data sets: labelled pages from many sources, as vectors, divided among clients."""

from eitr.datasets.interface import Examples, Labelled, Source, read_examples, save_examples
from eitr.datasets.own.options import FileOptions
from eitr.datasets.partition import dirichlet_partition, plot_partition
from eitr.datasets.registry import SOURCES, load

__all__ = [
    "SOURCES",
    "Examples",
    "FileOptions",
    "Labelled",
    "Source",
    "dirichlet_partition",
    "load",
    "plot_partition",
    "read_examples",
    "save_examples",
]
