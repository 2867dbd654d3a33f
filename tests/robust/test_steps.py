"""Lengths, projections and sums of steps, against the same in plain numpy."""

import numpy as np
import pytest

from eitr.robust.steps import base_and_steps, folded_steps, lengths_of_steps

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SIZES = pytest.mark.parametrize("parameters", [1, 7, 4095, 4096, 4097, 9000])


def table(parameters, dtype, clients=5):
    rng = np.random.default_rng(parameters)
    base = rng.normal(size=parameters).astype(dtype)
    updates = (base + rng.normal(0, 0.1, (clients, parameters))).astype(dtype)
    return base, updates, rng.permutation(clients)


@DTYPES
@SIZES
def test_lengths_are_those_of_the_differences_in_the_order_asked_for(parameters, dtype):
    base, updates, order = table(parameters, dtype)
    plain = np.linalg.norm(np.asarray(updates, np.float64) - np.asarray(base, np.float64), axis=1)
    np.testing.assert_allclose(lengths_of_steps(updates, base, order), plain[order], rtol=1e-12)


@DTYPES
@SIZES
@pytest.mark.parametrize("start", [1, 4096, 5000])
def test_lengths_of_a_part_leave_out_what_comes_before(parameters, dtype, start):
    base, updates, order = table(parameters, dtype)
    plain = np.linalg.norm(np.asarray(updates[:, start:], np.float64) - np.asarray(base[start:], np.float64), axis=1)
    np.testing.assert_allclose(lengths_of_steps(updates, base, order, start), plain[order], rtol=1e-12)


@DTYPES
@SIZES
@pytest.mark.parametrize("dimensions", [1, 16, 4096])
def test_a_fold_adds_up_bounded_and_signed_numbers_that_are_so_far_apart(parameters, dtype, dimensions):
    base, updates, order = table(parameters, dtype)
    signs = np.random.default_rng(1).choice(np.array([-1, 1], np.float32), parameters)
    signed = signs * np.clip(np.asarray(updates, np.float64) - np.asarray(base, np.float64), -0.125, 0.125)
    padded = np.zeros((len(updates), -(-parameters // dimensions) * dimensions))
    padded[:, :parameters] = signed
    plain = padded.reshape(len(updates), -1, dimensions).sum(axis=1)
    found = folded_steps(updates, base, order, limit=0.125, signs=signs, dimensions=dimensions)
    np.testing.assert_allclose(found, plain[order], rtol=0, atol=1e-10)


@DTYPES
@SIZES
def test_the_model_is_the_base_and_the_steps_as_the_coefficients_say(parameters, dtype):
    base, updates, order = table(parameters, dtype)
    coefficients = np.array([0.5, 0.0, -2.0, 0.25, 1e-3])
    plain = (
        np.asarray(base, np.float64)
        + coefficients @ (np.asarray(updates, np.float64) - np.asarray(base, np.float64))[order]
    )
    found = base_and_steps(updates, base, order, coefficients)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, plain, rtol=1e-6 if dtype == np.float32 else 1e-12, atol=1e-7)


def test_without_coefficients_the_base_comes_back_to_the_bit():
    base, updates, order = table(5000, np.float32)
    assert np.array_equal(base_and_steps(updates, base, order, np.zeros(5)), base)


def test_a_base_may_be_of_another_precision_than_the_updates():
    base, updates, order = table(50, np.float64)
    narrow = updates.astype(np.float32)
    plain = np.linalg.norm(np.asarray(narrow, np.float64) - base, axis=1)
    np.testing.assert_allclose(lengths_of_steps(narrow, base, order), plain[order], rtol=1e-12)
    assert base_and_steps(narrow, base, order, np.full(5, 0.2)).dtype == np.float32


@DTYPES
def test_neither_threads_nor_the_order_of_arrival_change_a_bit(dtype, monkeypatch):
    base, updates, order = table(20_000, dtype, clients=7)
    signs, coefficients = np.ones(20_000, np.float32), np.linspace(0, 1, 7)
    found = []
    for threads, arrival in (("1", np.arange(7)), ("3", np.arange(7)), ("2", np.array([3, 1, 6, 0, 2, 5, 4]))):
        monkeypatch.setenv("EITR_THREADS", threads)
        sent, place = updates[arrival], np.argsort(arrival)[order]  # the same clients in the same order
        folded = folded_steps(sent, base, place, limit=0.2, signs=signs, dimensions=64)
        lengths = lengths_of_steps(sent, base, place)
        model = base_and_steps(sent, base, place, coefficients)
        found.append((folded.tobytes(), lengths.tobytes(), model.tobytes()))
    assert found[0] == found[1] == found[2]


def test_nothing_is_changed_in_place():
    base, updates, order = table(30, np.float32)
    before = [array.copy() for array in (base, updates, order)]
    lengths_of_steps(updates, base, order)
    folded_steps(updates, base, order, limit=1.0, signs=np.ones(30, np.float32), dimensions=8)
    base_and_steps(updates, base, order, np.ones(5))
    assert all(np.array_equal(*pair) for pair in zip((base, updates, order), before, strict=True))
