"""Backdoors of several attackers, and backdoors that last."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="attacks work on torch tensors; install eitr[lab]")

from eitr.attacks.backdoor import Backdoor  # noqa: E402
from eitr.attacks.dba import Dba  # noqa: E402
from eitr.attacks.interface import Batches, Twins  # noqa: E402
from eitr.attacks.neurotoxin import Neurotoxin  # noqa: E402
from eitr.datasets import load  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from tests.attacks.scenes import numbers, scene  # noqa: E402


@pytest.fixture(scope="module")
def examples():
    return load("builtin", size=300, words=60)


def batches(clients, size=8):
    rows = torch.arange(size).expand(clients, 1, size)
    return Batches(rows, torch.zeros_like(rows), torch.full((clients, 1), size), torch.zeros_like(rows))


@pytest.mark.parametrize(("words", "parts"), [(10, 3), (4, 4), (5, 1)])
def test_the_parts_of_a_distributed_trigger_are_the_trigger_divided(examples, words, parts):
    attack, size = Dba(words=words, parts=parts), len(examples.rows)
    made, pages = attack.made_rows(examples).dense(), examples.rows.dense()
    assert len(made) == (parts + 1) * size
    columns, values = attack.trigger(examples)
    assert np.array_equal(made[:size], Backdoor(words=words).made_rows(examples).dense())
    # Pages that had none of the trigger's words differ from themselves exactly where their part of it is.
    plain = np.flatnonzero((pages[:, columns] == 0).all(axis=1))
    assert len(plain)
    seen = []
    for part in range(parts):
        block = made[(part + 1) * size :][:size]
        (changed,) = np.nonzero((block != pages)[plain[0]])
        assert (block[:, changed] == values[np.isin(columns, changed)]).all()
        assert np.array_equal(np.delete(block, changed, axis=1), np.delete(pages, changed, axis=1))
        seen += changed.tolist()
    assert sorted(seen) == sorted(columns.tolist())


def test_parts_differ_in_length_by_one_at_most(examples):
    made = Dba(words=10, parts=3).made_rows(examples)
    size = len(examples.rows)
    pages = examples.rows.dense()
    changed = [int((made.dense()[block * size :][:size] != pages).any(axis=0).sum()) for block in range(4)]
    assert changed == [10, 4, 3, 3]


def test_attackers_take_turns_with_the_parts():
    attack, twins = Dba(parts=3, share=0.5), Twins(first=1000, pages=100)
    poisoned = attack.poison_batches(batches(5), twins)
    first = poisoned.rows[:, 0, 0]
    assert first.tolist() == [1100, 1200, 1300, 1100, 1200]  # the first block is the whole trigger
    assert (poisoned.rows >= 1000).sum(dim=-1).flatten().tolist() == [4] * 5
    assert poisoned.rows[:, 0, 4:].tolist() == [[4, 5, 6, 7]] * 5


def test_success_of_a_distributed_backdoor_is_that_of_the_whole_trigger(examples):
    probe, plain = Dba().probe(examples), Backdoor().probe(examples)
    assert np.array_equal(probe.rows, plain.rows)
    assert probe.rows.max() < 2 * len(examples.rows)  # the first block
    assert probe.target == plain.target


def test_a_trigger_of_fewer_words_than_parts_is_refused():
    with pytest.raises(InputError, match="4 trigger words cannot be divided into 5 parts"):
        Dba(words=4, parts=5)


@pytest.mark.parametrize("avoid", [0.0, 0.05, 0.5, 1.0])
def test_neurotoxin_leaves_alone_exactly_what_moved_most(avoid):
    given = scene(parameters=200)
    base, mine, previous = numbers(given.base, given.mine, given.previous)
    sent = numbers(Neurotoxin(avoid=avoid).craft(given))[0]
    fastest = np.argsort(-np.abs(base - previous))[: round(avoid * 200)]
    expected = mine.copy()
    expected[:, fastest] = base[fastest]
    assert np.array_equal(sent, expected)


def test_neurotoxin_in_the_first_round_is_a_backdoor():
    given = scene()._replace(previous=None)
    assert Neurotoxin().craft(given) is given.mine
    assert (
        Neurotoxin()
        .poison_batches(batches(2), Twins(100, 50))
        .rows.equal(Backdoor().poison_batches(batches(2), Twins(100, 50)).rows)
    )
