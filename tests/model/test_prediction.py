import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eitr.errors import InputError
from eitr.model import Network, loss_and_accuracy, predict
from eitr.model.examples import check_rows
from eitr.model.prediction import BATCH
from eitr.pages.sparse import SparseRows

from .examples import page_like_rows


def plain_probabilities(network: Network, vector: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """The same network in float64, without batches."""
    activation = dense.astype(np.float64)
    layers = network.split(vector.astype(np.float64))
    for layer in layers[:-1]:
        activation = np.maximum(activation @ layer.kernel + layer.bias, 0)
    logits = activation @ layers[-1].kernel + layers[-1].bias
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@settings(deadline=None)
@given(st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_probabilities_are_those_of_the_plain_formula(count: int, seed: int) -> None:
    network = Network((30, 8, 4, 6))
    vector = network.initial(seed) * np.float32(3)
    rows = page_like_rows(count, 30, words=9, seed=seed)
    found = predict(network, vector, rows)
    assert found.dtype == np.float32
    assert found.shape == (count, 6)
    np.testing.assert_allclose(found, plain_probabilities(network, vector, rows.dense()), atol=1e-6)


@pytest.mark.parametrize("count", [1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH + 3])
def test_batches_join_without_a_gap(count: int) -> None:
    network = Network((20, 5, 6))
    vector, rows = network.initial(4), page_like_rows(count, 20, words=5)
    expected = plain_probabilities(network, vector, rows.dense())
    np.testing.assert_allclose(predict(network, vector, rows), expected, atol=1e-6)


def test_a_page_without_a_known_word_still_gets_probabilities() -> None:
    network = Network()
    rows = SparseRows.of([(np.empty(0, np.int32), np.empty(0, np.float32))], width=1000)
    assert predict(network, network.initial(0), rows).sum() == pytest.approx(1, abs=1e-6)


def test_huge_logits_give_a_certain_class_and_no_warning() -> None:
    network = Network((1, 2))
    rows = SparseRows.of([(np.array([0], np.int32), np.array([1], np.float32))], width=1)
    vector = np.array([3e37, -3e37, 0, 0], np.float32)
    assert predict(network, vector, rows).tolist() == [[1.0, 0.0]]


def test_parameters_so_large_that_the_outputs_overflow_are_refused() -> None:
    network = Network((1, 1, 2))
    rows = SparseRows.of([(np.array([0], np.int32), np.array([1], np.float32))], width=1)
    vector = np.full(network.size, 3e38, np.float32)
    with pytest.raises(InputError, match="overflow"):
        predict(network, vector, rows)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([0, 1], [0], [1.0], 4), "takes 3 numbers a row, the rows have 4"),
        (([0, 1], [3], [1.0], 3), "column outside 0..2"),
        (([0, 1], [-1], [1.0], 3), "column outside 0..2"),
        (([0, 1], [0], [np.nan], 3), "NaN or an infinity"),
        (([0, 9], [0], [1.0], 3), "inconsistent"),
        (([1, 1], [0], [1.0], 3), "inconsistent"),
        (([0, 2, 1], [0], [1.0], 3), "inconsistent"),
        (([], [], [], 3), "inconsistent"),
        (([0, 1], [0], [1.0, 2.0], 3), "inconsistent"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows: tuple[list[int], list[int], list[float], int], message: str) -> None:
    starts, columns, values, width = rows
    sparse = SparseRows(np.array(starts, np.int64), np.array(columns, np.int32), np.array(values, np.float32), width)
    with pytest.raises(InputError, match=message):
        check_rows(Network((3, 6)), sparse)


def test_rows_are_checked_before_they_are_predicted() -> None:
    network = Network((3, 6))
    with pytest.raises(InputError, match="takes 3 numbers a row"):
        predict(network, network.initial(0), page_like_rows(2, 4, words=2))


def test_loss_and_accuracy_are_those_of_the_probabilities() -> None:
    network = Network((30, 8, 6))
    rows = page_like_rows(BATCH + 50, 30, words=6)
    vector = network.initial(2) * np.float32(4)
    labels = np.random.default_rng(1).integers(0, 6, len(rows))
    probabilities = plain_probabilities(network, vector, rows.dense())
    score = loss_and_accuracy(network, vector, rows, labels)
    assert score.loss == pytest.approx(-np.log(probabilities[np.arange(len(rows)), labels]).mean(), abs=1e-6)
    assert score.accuracy == (probabilities.argmax(axis=1) == labels).mean()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "3 rows need as many labels, got 2"),
        ([[0, 1, 2]], "3 rows need as many labels"),
        ([0, 1, 6], "between 0 and 5"),
        ([0, -1, 2], "between 0 and 5"),
        ([0.0, 1.0, 2.0], "whole numbers"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: list[float], message: str) -> None:
    network = Network((4, 6))
    with pytest.raises(InputError, match=message):
        loss_and_accuracy(network, network.initial(0), page_like_rows(3, 4, words=2), labels)


def test_no_rows_have_no_accuracy() -> None:
    network = Network((4, 6))
    with pytest.raises(InputError, match="no rows"):
        loss_and_accuracy(network, network.initial(0), SparseRows.of([], width=4), [])


def test_prediction_does_not_load_numba_but_training_does() -> None:
    program = (
        "import sys, eitr.model as m; assert 'numba' not in sys.modules; "
        "m.train; assert 'numba' in sys.modules; assert not hasattr(m, 'other')"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False, timeout=120)
    assert ended.returncode == 0
