"""A data set and a network so small that a run takes a moment."""

import pytest

from eitr.datasets import load
from eitr.model.network import Network


@pytest.fixture(scope="module")
def examples():
    return load("builtin", size=300, words=60)


@pytest.fixture(scope="module")
def network(examples):
    return Network((examples.rows.width, 16, 8, 6))
