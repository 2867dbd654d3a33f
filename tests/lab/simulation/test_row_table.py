import numpy as np
import pytest

from eitr.attacks.backdoor import Backdoor
from eitr.attacks.label_flip import LabelFlip
from eitr.attacks.scaling import Scaling
from eitr.datasets import load
from eitr.lab.simulation.row_table import row_table
from eitr.pages.sparse import SparseRows, joined


@pytest.fixture(scope="module")
def examples():
    return load("builtin", size=120, words=40)


def test_rows_come_first_and_each_attack_has_a_block_of_twins_behind_them(examples):
    few, many = Backdoor(words=2), Backdoor(words=5)
    table = row_table(examples, [few, LabelFlip(), many, Backdoor(words=2)])
    size = len(examples)
    assert len(table.rows) == 3 * size  # equal attacks share their block
    assert (table.twins(few).first, table.twins(many).first) == (size, 2 * size)
    assert table.twins(LabelFlip()) == table.twins(None) == (0, size)
    dense = table.rows.dense()
    assert np.array_equal(dense[:size], examples.rows.dense())
    for attack in (few, many):
        columns, values = attack.trigger(examples)
        twins = dense[table.twins(attack).first :][:size]
        assert np.array_equal(twins[:, columns], np.tile(values, (size, 1)))
        others = np.setdiff1d(np.arange(40), columns)
        assert np.array_equal(twins[:, others], dense[:size][:, others])


def test_probes_name_rows_of_the_table(examples):
    table = row_table(examples, [Backdoor(words=2), Backdoor(words=5)])
    probe = table.probe(Backdoor(words=5))
    tested = np.flatnonzero(examples.test & (examples.labels != 5))
    assert probe.rows.tolist() == (tested + 2 * len(examples)).tolist()
    health = table.probe(LabelFlip())
    assert health.rows.tolist() == np.flatnonzero(examples.test & (examples.labels == 0)).tolist()
    assert (probe.target, health.target) == (5, 5)


def test_attacks_without_rows_of_their_own_leave_the_table_as_it_is(examples):
    assert row_table(examples, [LabelFlip(), Scaling()]).rows is examples.rows


def test_blocks_of_rows_are_joined_with_their_values():
    def block(*rows):
        return SparseRows.of(
            [(np.array(columns, np.int32), np.array(columns, np.float32) + 1) for columns in rows], width=3
        )

    together = joined([block([0], []), block([]), block([1, 2])])
    assert together.dense().tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 2, 3]]
