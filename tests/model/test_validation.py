"""Losses on trusted pages, against the same computed plainly."""

import numpy as np
import pytest

from eitr.model import Network
from eitr.model.evaluation import loss_and_accuracy
from eitr.model.validation import ValidationPages, answers, cross_entropy
from eitr.pages.sparse import SparseRows
from tests.model.examples import page_like_rows

LAYERS = ((30, 4), (30, 8, 4), (30, 16, 8, 4))
networks = pytest.mark.parametrize("network", [Network(layers) for layers in LAYERS], ids=str)


def models(network, count=3):
    return np.stack([network.initial(seed) + np.float32(0.05 * seed) for seed in range(count)])


def plain_logits(network, vector, rows):
    """Dense, in float64."""
    activation = rows.dense().astype(np.float64)
    layers = network.split(vector)
    for depth, layer in enumerate(layers):
        activation = activation @ layer.kernel.astype(np.float64) + layer.bias
        if depth < len(layers) - 1:
            activation = np.maximum(activation, 0)
    return activation


def plain_losses(network, vector, rows, labels):
    likelihood = np.exp(plain_logits(network, vector, rows))
    likelihood /= likelihood.sum(axis=1, keepdims=True)
    loss = -np.log(likelihood[np.arange(len(labels)), labels])
    return [loss[labels == c].mean() if (labels == c).any() else np.nan for c in range(network.outputs)]


@networks
def test_the_losses_of_several_models_are_the_means_by_class(network):
    rows, labels = page_like_rows(60, 30, words=6), np.random.default_rng(0).integers(0, 4, 60)
    vectors = models(network)
    found = ValidationPages(network, rows, labels).losses(vectors)
    assert found.shape == (3, 4)
    assert found.dtype == np.float64
    for vector, own in zip(vectors, found, strict=True):
        np.testing.assert_allclose(own, plain_losses(network, vector, rows, labels), rtol=1e-5)


def test_a_class_without_pages_has_no_loss_and_the_others_have_theirs():
    network, rows = Network(LAYERS[1]), page_like_rows(20, 30, words=6)
    labels = np.random.default_rng(1).choice([0, 2], 20)
    vectors = models(network)
    found = ValidationPages(network, rows, labels).losses(vectors)
    assert np.isnan(found).tolist() == [[False, True, False, True]] * 3
    np.testing.assert_allclose(found[0], plain_losses(network, vectors[0], rows, labels), rtol=1e-5)


def test_no_pages_have_no_loss_of_any_class():
    network = Network(LAYERS[1])
    pages = ValidationPages(network, SparseRows.of([], width=30), np.zeros(0, np.int64))
    assert np.isnan(pages.losses(models(network))).all()


def test_no_models_have_no_losses():
    network = Network(LAYERS[0])
    pages = ValidationPages(network, page_like_rows(5, 30, words=3), np.zeros(5, np.int64))
    assert pages.losses(np.empty((0, network.size), np.float32)).shape == (0, 4)


def test_the_mean_over_classes_by_their_pages_is_the_loss_that_evaluation_finds():
    network, rows = Network(LAYERS[2]), page_like_rows(50, 30, words=6)
    labels = np.random.default_rng(2).integers(0, 4, 50)
    vector = network.initial(7)
    by_class = ValidationPages(network, rows, labels).losses(vector[None])[0]
    loss, _ = loss_and_accuracy(network, vector, rows, labels)
    assert by_class @ np.bincount(labels, minlength=4) / 50 == pytest.approx(loss, rel=1e-5)


def test_a_model_that_forgets_one_class_loses_there_and_nowhere_else():
    network = Network((4, 4))
    one_word_each = [(np.array([c], np.int32), np.array([1.0], np.float32)) for c in range(4)]
    pages = ValidationPages(network, SparseRows.of(one_word_each, width=4), np.arange(4))
    knowing = np.concatenate([8 * np.eye(4).ravel(), np.zeros(4)]).astype(np.float32)
    forgetful = knowing.copy()
    forgetful[2 * 4 + 2], forgetful[2 * 4] = 0.0, 8.0  # word 2 speaks for class 0
    before, after = pages.losses(np.stack([knowing, forgetful]))
    assert (after - before > 5).tolist() == [False, False, True, False]
    assert np.abs(after - before)[[0, 1, 3]].max() < 1e-6


@networks
def test_rows_are_answered_as_asked_in_any_order_and_more_than_once(network):
    rows, vector = page_like_rows(20, 30, words=6), network.initial(3)
    asked = np.array([7, 0, 19, 7], np.int64)
    found = answers(network, vector, rows, asked)
    np.testing.assert_allclose(found, plain_logits(network, vector, rows)[asked], rtol=0, atol=1e-5)
    pages = ValidationPages(network, rows, np.zeros(20, np.int64))
    np.testing.assert_array_equal(pages.logits(vector, asked), found)


def test_models_are_not_changed():
    network, rows = Network(LAYERS[1]), page_like_rows(9, 30, words=4)
    vectors = models(network)
    before = vectors.copy()
    ValidationPages(network, rows, np.zeros(9, np.int64)).losses(vectors)
    np.testing.assert_array_equal(vectors, before)


def test_cross_entropy_stays_a_number_for_logits_of_any_size():
    logits = np.array([[1e30, 0.0], [1e30, 0.0], [-1e4, 1e4], [0.0, 0.0]], np.float32)
    found = cross_entropy(logits, np.array([0, 1, 0, 1]))
    assert found[0] == 0
    assert found[1] == pytest.approx(1e30, rel=1e-6)
    assert found[2] == pytest.approx(2e4)
    assert found[3] == pytest.approx(np.log(2))
