import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from eitr.errors import InputError
from eitr.model import Network, TrainingPlan, kernels, loss_and_accuracy, train
from eitr.model.random import Stream, draw, key_of
from eitr.pages.sparse import SparseRows
from tests.examples import examples

from .examples import learnable_labels, page_like_rows
from .golden import DIRECTORY, training_cases

NETWORK = Network((60, 24, 12, 6))
ROWS = page_like_rows(150, 60, words=12)
LABELS = learnable_labels(ROWS, 6)
START = NETWORK.initial(11)
ONE_STEP = TrainingPlan(epochs=1, max_batches=1, batch_size=1, dropout=0.0)


@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.3])
def test_thirty_steps_equal_pytorch_dense_with_the_same_draws(dropout: float) -> None:
    from .oracle import torch_train

    plan = TrainingPlan(epochs=6, max_batches=5, batch_size=32, learning_rate=0.1, dropout=dropout)
    found = train(NETWORK, START, ROWS, LABELS, plan, seed=5)
    expected = torch_train(NETWORK, START, ROWS, LABELS, plan, seed=5)
    assert np.abs(expected - START).max() > 0.05
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


def test_the_default_network_and_plan_equal_pytorch_dense() -> None:
    from .oracle import torch_train

    network, plan = Network(), TrainingPlan(epochs=1, max_batches=3)
    rows = page_like_rows(3 * 64, 1000, words=60)
    labels, start = learnable_labels(rows, 6), network.initial(0)
    found = train(network, start, rows, labels, plan, seed=1)
    np.testing.assert_allclose(found, torch_train(network, start, rows, labels, plan, 1), atol=1e-5, rtol=0)


@examples(40, 12)
@given(
    layers=st.lists(st.integers(1, 9), max_size=3),
    batch_size=st.integers(1, 9),
    dropout=st.sampled_from([0.0, 0.5, 0.9]),
    momentum=st.sampled_from([0.0, 0.8]),
    seed=st.integers(0, 2**32 - 1),
)
def test_networks_and_plans_of_any_shape_equal_pytorch_dense(
    layers: list[int], batch_size: int, dropout: float, momentum: float, seed: int
) -> None:
    from .oracle import torch_train

    network = Network((7, *layers, 3))
    rows = page_like_rows(13, 7, words=4, seed=seed)
    labels, start = learnable_labels(rows, 3), network.initial(seed)
    plan = TrainingPlan(epochs=2, max_batches=4, batch_size=batch_size, dropout=dropout, momentum=momentum)
    found = train(network, start, rows, labels, plan, seed)
    np.testing.assert_allclose(found, torch_train(network, start, rows, labels, plan, seed), atol=1e-5, rtol=0)


def test_the_golden_file_is_what_the_code_computes() -> None:
    stored, computed = json.loads((DIRECTORY / "training.json").read_text()), training_cases()
    for case, fresh in zip(stored.pop("cases"), computed.pop("cases"), strict=True):
        for name in ("parameters", "losses"):
            np.testing.assert_allclose(fresh.pop(name), case.pop(name), atol=1e-6, rtol=0)
        assert fresh == case
    assert computed == stored


def test_the_golden_parameters_are_those_of_pytorch() -> None:
    from .oracle import torch_train

    stored = json.loads((DIRECTORY / "training.json").read_text())
    parts = stored["rows"]
    rows = SparseRows(
        np.array(parts["starts"], np.int64),
        np.array(parts["columns"], np.int32),
        np.array(parts["values"], np.float32),
        parts["width"],
    )
    network = Network(tuple(stored["layers"]))
    for case in stored["cases"]:
        start, plan = network.initial(case["seed"]), TrainingPlan(**case["plan"])
        found = torch_train(network, start, rows, stored["labels"], plan, case["seed"])
        np.testing.assert_allclose(found, case["parameters"], atol=1e-5, rtol=0)


def test_the_compiled_dropout_keeps_the_units_of_the_golden_file() -> None:
    for case in json.loads((DIRECTORY / "random.json").read_text())["dropout"]:
        plan = TrainingPlan(dropout=case["rate"])
        hidden = np.ones((case["samples"], case["width"]), np.float32)
        key = key_of(case["seed"], Stream.DROPOUT, case["step"], case["layer"])
        kernels.relu_and_dropout(hidden, key, plan.dropout_threshold, plan.dropout_scale)
        assert ["".join("01"[int(value > 0)] for value in row) for row in hidden] == case["kept"]
        assert set(hidden[hidden > 0]) == {np.float32(1 / (1 - case["rate"]))}


def test_a_unit_whose_word_is_the_threshold_itself_is_kept() -> None:
    for threshold, expected in ((draw(9, 0), 2.0), (draw(9, 0) + 1, 0.0)):
        hidden = np.ones((1, 1), np.float32)
        kernels.relu_and_dropout(hidden, 9, threshold, np.float32(2))
        assert hidden.item() == expected


def test_training_learns_what_the_words_say() -> None:
    plan = TrainingPlan(epochs=30, learning_rate=0.1, dropout=0.2, batch_size=16)
    before = loss_and_accuracy(NETWORK, START, ROWS, LABELS)
    after = loss_and_accuracy(NETWORK, train(NETWORK, START, ROWS, LABELS, plan, seed=1), ROWS, LABELS)
    assert after.accuracy > 0.95 > before.accuracy
    assert after.loss < before.loss / 3


def test_the_inputs_stay_as_they_are_even_when_read_only() -> None:
    vector, labels = START.copy(), LABELS.copy()
    for array in (vector, labels, ROWS.starts, ROWS.columns, ROWS.values):
        array.flags.writeable = False
    result = train(NETWORK, vector, ROWS, labels, TrainingPlan(epochs=1), seed=1)
    assert vector.tobytes() == START.tobytes()
    assert not np.shares_memory(result, vector)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    plan = TrainingPlan(epochs=2, batch_size=20)
    one, again, other = (train(NETWORK, START, ROWS, LABELS, plan, seed) for seed in (1, 1, 2))
    assert one.tobytes() == again.tobytes()
    assert one.tobytes() != other.tobytes()


def test_threads_do_not_disturb_each_other() -> None:
    plan = TrainingPlan(epochs=2, batch_size=20)
    expected = [train(NETWORK, START, ROWS, LABELS, plan, seed) for seed in range(4)]
    found: dict[int, np.ndarray] = {}

    def work(seed: int) -> None:
        found[seed] = train(NETWORK, START, ROWS, LABELS, plan, seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed].tobytes() for seed in range(4)] == [vector.tobytes() for vector in expected]


def test_an_epoch_ends_after_the_most_batches() -> None:
    plan = TrainingPlan(epochs=1, batch_size=10, max_batches=15)
    whole = train(NETWORK, START, ROWS, LABELS, plan, seed=1)
    assert train(NETWORK, START, ROWS, LABELS, replace(plan, max_batches=99), 1).tobytes() == whole.tobytes()
    assert train(NETWORK, START, ROWS, LABELS, replace(plan, max_batches=14), 1).tobytes() != whole.tobytes()


def test_words_of_no_batch_do_not_move_but_those_of_past_batches_go_on() -> None:
    network = Network((3, 2))
    rows = SparseRows(np.array([0, 1]), np.array([1], np.int32), np.ones(1, np.float32), 3)
    start = network.initial(0)
    once = train(network, start, rows, [0], ONE_STEP, seed=0)
    assert (once == start).tolist() == [True, True, False, False, True, True, False, False]
    pair = SparseRows(np.array([0, 1, 1]), np.array([1], np.int32), np.ones(1, np.float32), 3)
    for seed in range(20):
        twice = train(network, start, pair, [0, 0], replace(ONE_STEP, max_batches=2), seed)
        single = train(network, start, pair, [0, 0], ONE_STEP, seed)
        if (single[2:4] != start[2:4]).all():  # the row with the word came first
            break
    np.testing.assert_allclose(twice[2:4] - start[2:4], 1.8 * (single[2:4] - start[2:4]), rtol=1e-4)


def test_progress_reports_each_epoch_and_its_loss() -> None:
    heard: list[tuple[int, float]] = []
    plan = TrainingPlan(epochs=3, learning_rate=0.1)
    train(NETWORK, START, ROWS, LABELS, plan, 1, lambda epoch, loss: heard.append((epoch, loss)))
    assert [epoch for epoch, _ in heard] == [1, 2, 3]
    assert heard[0][1] == pytest.approx(np.log(6), abs=0.2)


def test_training_that_diverges_says_so() -> None:
    plan = TrainingPlan(epochs=5, learning_rate=1e30, dropout=0.0)
    with pytest.raises(InputError, match="diverged in epoch 1: try a smaller learning rate"):
        train(NETWORK, START, ROWS, LABELS, plan, seed=1)


def test_bad_examples_parameters_and_seeds_are_refused_before_any_step() -> None:
    plan = TrainingPlan()
    bad_rows = replace(ROWS, columns=ROWS.columns + np.int32(1000))
    cases: list[tuple[np.ndarray, SparseRows, ArrayLike, int]] = [
        (START[:-1], ROWS, LABELS, 1),
        (START, bad_rows, LABELS, 1),
        (START, ROWS, LABELS[:-1], 1),
        (START, ROWS, LABELS + 6, 1),
        (START, ROWS, LABELS, -1),
        (START, SparseRows.of([], width=60), [], 1),
    ]
    for vector, rows, labels, seed in cases:
        with pytest.raises(InputError):
            train(NETWORK, vector, rows, labels, plan, seed)


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 0},
        {"epochs": 2.5},
        {"epochs": True},
        {"max_batches": 0},
        {"batch_size": -1},
        {"learning_rate": -0.1},
        {"learning_rate": float("inf")},
        {"learning_rate": "0.1"},
        {"momentum": 1.0},
        {"momentum": float("nan")},
        {"dropout": 1.0},
        {"dropout": -0.1},
    ],
)
def test_an_impossible_plan_is_refused_by_name(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        TrainingPlan(**settings)  # type: ignore[arg-type]
