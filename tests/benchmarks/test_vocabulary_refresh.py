"""The benchmark of the refresh computes what servers and browsers compute."""

import numpy as np

from benchmarks.vocabulary_refresh import CONSENTING, Study, _below
from eitr.datasets.interface import Labelled
from eitr.model import Network
from eitr.model.private import PrivatePlan, private_step
from eitr.pages.page import Page
from eitr.pages.sparse import SparseRows


def random_rows(rng, count, width):
    every = np.arange(width, dtype=np.int32)
    return SparseRows.of([(every, rng.random(width).astype(np.float32)) for _ in range(count)], width=width)


def test_the_last_layer_alone_takes_the_step_of_the_whole_network():
    rng = np.random.default_rng(0)
    network, plan = Network((12, 9, 7, 6)), PrivatePlan(noise=0.0)
    vector = network.initial(4)
    own, cover = (random_rows(rng, 5, 12), rng.integers(6, size=5)), (random_rows(rng, 8, 12), rng.integers(6, size=8))
    whole = private_step(network, vector, own, cover, plan)
    small = Network((7, 6))
    below = [(_below(network, vector, rows), labels) for rows, labels in (own, cover)]
    part = private_step(small, vector[-small.size :].copy(), below[0], below[1], plan)
    np.testing.assert_allclose(whole[-small.size :], part, rtol=1e-5, atol=1e-7)


def test_only_labels_of_those_who_consented_are_collected_and_ties_are_left_out():
    pages = [Labelled(Page(text=str(number)), 0, None) for number in range(4)]
    labels = [{0: 0, 1: 5}, {0: 0, 1: 0}, {0: 5}] + [{2: 0}] * (CONSENTING - 3) + [{3: 5}] * 10
    assert Study(pages, [], labels).collected() == {0: 0, 2: 0}
