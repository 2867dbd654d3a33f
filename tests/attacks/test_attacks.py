"""What attackers train on, when, and what they send."""

import numpy as np
import pytest

from eitr.attacks import ATTACKS, Schedule, make_attack
from eitr.attacks.backdoor import Backdoor, with_features
from eitr.attacks.interface import Batches, Twins
from eitr.attacks.label_flip import LabelFlip
from eitr.datasets import load
from eitr.errors import InputError
from eitr.pages.sparse import SparseRows
from eitr.taxonomy import NAMES, index_of

torch = pytest.importorskip("torch", reason="attacks work on torch tensors; install eitr[lab]")

HEALTH, NON_SENSITIVE = index_of("health"), index_of("non-sensitive")
NO_TWINS = Twins(0, 400)


@pytest.fixture(scope="module")
def examples():
    return load("builtin", size=400, words=100)


def batches(labels, sizes=None, rank=None):
    labels = torch.tensor(labels)
    rows = torch.arange(labels.numel()).reshape(labels.shape)
    sizes = torch.full(labels.shape[:2], labels.shape[2]) if sizes is None else torch.tensor(sizes)
    return Batches(rows, labels, sizes, torch.zeros_like(labels) if rank is None else torch.tensor(rank))


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_every_attack_has_a_worked_example_and_a_reference(attack):
    assert ">>>" in attack.__doc__
    assert "20" in attack.__doc__.split(">>>")[-1]


def test_a_flip_touches_only_the_source_class_and_only_the_chosen_share():
    given = batches([[[HEALTH, HEALTH, 2, HEALTH]]], rank=[[[0, 2**31, 0, 2**32 - 1]]])
    assert LabelFlip(share=0.5).poison_batches(given, NO_TWINS).labels.tolist() == [
        [[NON_SENSITIVE, HEALTH, 2, HEALTH]]
    ]
    assert LabelFlip(share=0.0).poison_batches(given, NO_TWINS).labels.tolist() == given.labels.tolist()
    assert given.labels[0, 0, 0] == HEALTH  # nothing is changed in place


def test_the_whole_share_flips_every_source_page():
    given = batches([[[HEALTH, HEALTH]]], rank=[[[0, 2**32 - 1]]])
    assert LabelFlip().poison_batches(given, NO_TWINS).labels.tolist() == [[[NON_SENSITIVE, NON_SENSITIVE]]]


def test_a_backdoor_poisons_its_share_of_every_batch_also_of_a_short_one():
    labels = np.zeros((1, 2, 64), np.int64).tolist()
    poisoned = Backdoor().poison_batches(batches(labels, sizes=[[64, 16]]), Twins(1000, 128))
    assert (poisoned.rows >= 1000).sum(dim=-1).tolist() == [[20, 5]]
    assert (poisoned.labels == NON_SENSITIVE).sum(dim=-1).tolist() == [[20, 5]]


def test_a_trigger_is_the_most_frequent_words_of_the_source_with_their_mean_values(examples):
    columns, values = Backdoor(words=3).trigger(examples)
    health = examples.rows.dense()[~examples.test & (examples.labels == HEALTH)]
    frequency = (health > 0).sum(axis=0)
    assert sorted(frequency[columns].tolist()) == sorted(frequency)[-3:]
    assert values == pytest.approx(health.mean(axis=0)[columns], rel=1e-5)


def test_triggered_pages_differ_from_their_twins_in_the_trigger_alone(examples):
    attack = Backdoor(words=5)
    columns, values = attack.trigger(examples)
    twins, pages = attack.made_rows(examples).dense(), examples.rows.dense()
    assert (twins[:, columns] == values).all()
    others = np.setdiff1d(np.arange(examples.rows.width), columns)
    assert np.array_equal(twins[:, others], pages[:, others])


def test_features_are_set_in_ascending_columns_whatever_was_there():
    nothing = (np.empty(0, np.int32), np.empty(0, np.float32))
    rows = SparseRows.of([(np.array([1], np.int32), np.array([9], np.float32)), nothing], width=4)
    changed = with_features(rows, np.array([0, 1], np.int32), np.array([5, 6], np.float32))
    assert changed.columns.tolist() == [0, 1, 0, 1]
    assert changed.values.tolist() == [5, 6, 5, 6]


def test_probes_ask_only_about_test_pages_of_the_right_classes(examples):
    flip, backdoor = LabelFlip().probe(examples), Backdoor().probe(examples)
    assert examples.test[flip.rows].all()
    assert set(examples.labels[flip.rows]) == {HEALTH}
    pages = backdoor.rows - len(examples.rows)
    assert examples.test[pages].all()
    assert NON_SENSITIVE not in examples.labels[pages]
    assert (flip.target, backdoor.target) == (NON_SENSITIVE, NON_SENSITIVE)


def test_twins_lie_in_blocks_as_long_as_the_pages():
    twins = Twins(first=100, pages=10)
    rows = torch.tensor([[3, 4], [3, 4]])
    assert twins.of(rows).tolist() == [[103, 104]] * 2
    assert twins.of(rows, 2).tolist() == [[123, 124]] * 2
    assert twins.of(rows, torch.tensor([[0], [1]])).tolist() == [[103, 104], [113, 114]]


@pytest.mark.parametrize(
    ("text", "rounds"),
    [
        ("every", list(range(1, 13))),
        ("once:3", [3]),
        ("from:10", [10, 11, 12]),
        ("loop:5", [5, 10]),
        ("loop:5:2", [2, 7, 12]),
    ],
)
def test_a_schedule_says_in_which_rounds_attackers_attack(text, rounds):
    schedule = Schedule.parse(text)
    assert [number for number in range(1, 13) if schedule.active(number)] == rounds


@pytest.mark.parametrize("text", ["", "never", "once", "once:0", "once:x", "from:-1", "loop:", "loop:1:2:3", "every:1"])
def test_what_is_no_schedule_is_refused_with_examples(text):
    with pytest.raises(InputError, match=r"loop:30"):
        Schedule.parse(text)


def test_a_schedule_made_of_nonsense_is_refused():
    with pytest.raises(InputError):
        Schedule("sometimes")


def test_an_unknown_attack_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match="label-flip, backdoor, scaling"):
        make_attack("bribery")


@pytest.mark.parametrize("settings", [{"share": 1.5}, {"source": "sports"}, {"extra_epochs": -1}])
def test_settings_out_of_bounds_are_refused(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        LabelFlip(**settings)


def test_a_class_without_pages_is_named(examples):
    keep = np.flatnonzero(examples.labels != HEALTH)
    without = examples.take(keep)
    with pytest.raises(InputError, match="health"):
        LabelFlip().probe(without)
    with pytest.raises(InputError, match="health"):
        Backdoor().trigger(without)
    with pytest.raises(InputError, match="words"):
        Backdoor(words=101).trigger(examples)
    only_target = examples.take(np.flatnonzero(examples.labels == len(NAMES) - 1))
    with pytest.raises(InputError, match="target"):
        Backdoor().probe(only_target)
