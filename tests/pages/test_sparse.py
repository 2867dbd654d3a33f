import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eitr.pages import SparseRows

DENSE = st.tuples(st.integers(0, 6), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=st.sampled_from([0.0, 0.0, 1.0, -2.5]))
)


def sparse(dense: np.ndarray) -> SparseRows:
    rows = [(np.flatnonzero(row).astype(np.int32), row[row != 0]) for row in dense]
    return SparseRows.of(rows, width=dense.shape[1])


@given(DENSE)
def test_the_dense_form_is_what_went_in(dense: np.ndarray) -> None:
    rows = sparse(dense)
    assert len(rows) == len(dense)
    np.testing.assert_array_equal(rows.dense(), dense)


@given(DENSE, st.data())
def test_taking_rows_is_indexing_the_dense_form(dense: np.ndarray, data: st.DataObject) -> None:
    numbers = st.integers(-len(dense), len(dense) - 1) if len(dense) else st.nothing()
    chosen = data.draw(st.lists(numbers))
    np.testing.assert_array_equal(sparse(dense).take(chosen).dense(), dense[np.array(chosen, np.int64)])


def test_the_arrays_have_the_types_that_the_kernels_expect() -> None:
    for rows in (sparse(np.eye(3, dtype=np.float32)), SparseRows.of([], width=3)):
        taken = rows.take([])
        for block in (rows, taken):
            kinds = [block.starts.dtype, block.columns.dtype, block.values.dtype]
            assert kinds == [np.dtype(kind) for kind in (np.int64, np.int32, np.float32)]
            assert block.starts[0] == 0
            assert block.starts[-1] == len(block.columns) == len(block.values)
