from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from eitr.errors import InputError
from eitr.io.safetensors_file import pack, read_limited, unpack
from tests.examples import examples

DTYPES: list[np.dtype[Any]] = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)]
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
tables: st.SearchStrategy[Any] = arrays.arrays(
    st.sampled_from(DTYPES),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5).filter(lambda name: name != "__metadata__")


@examples(200, 200)
@given(st.dictionaries(names, values, max_size=4), st.dictionaries(names, tables, max_size=3))
def test_what_is_packed_is_unpacked_bit_by_bit(description, contents):
    found, unpacked = unpack(pack(description, contents))
    assert found == description
    assert set(unpacked) == set(contents)
    for name, array in contents.items():
        assert unpacked[name].dtype == array.dtype
        assert unpacked[name].shape == array.shape
        assert unpacked[name].tobytes() == array.tobytes()
        assert unpacked[name].flags.writeable


def test_the_same_content_always_has_the_same_bytes():
    content = {"b": np.arange(3.0), "a": np.ones((2, 2), dtype=np.float32)}
    assert pack({"x": 1, "y": [2]}, content) == pack({"x": 1, "y": [2]}, {k: v.copy() for k, v in content.items()})


def test_the_library_reads_what_we_write():
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    loaded = safetensors.numpy.load(pack({"format": "test"}, {"table": table}))
    np.testing.assert_array_equal(loaded["table"], table)


def test_we_read_what_the_library_writes():
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    description, loaded = unpack(safetensors.numpy.save({"table": table}, metadata={"note": '"hello"'}))
    assert description == {"note": "hello"}
    np.testing.assert_array_equal(loaded["table"], table)


def test_rows_of_a_column_major_array_are_kept():
    table = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(unpack(pack({}, {"table": table}))[1]["table"], table)


def test_data_begins_on_an_eight_byte_boundary():
    for length in range(1, 12):
        data = pack({"x": "y" * length}, {"a": np.zeros(1)})
        assert int.from_bytes(data[:8], "little") % 8 == 0


def test_a_type_that_we_do_not_write_is_refused_by_name():
    with pytest.raises(InputError, match="flags has the type BOOL"):
        unpack(safetensors.numpy.save({"flags": np.zeros(2, dtype=bool)}))


@examples(300, 300)
@given(st.binary(max_size=200))
def test_any_bytes_are_unpacked_or_refused(data):
    try:
        description, contents = unpack(data)
    except InputError:
        return
    assert isinstance(description, dict)
    assert isinstance(contents, dict)


@examples(300, 300)
@given(st.data())
def test_changed_bytes_are_unpacked_or_refused(data):
    content = bytearray(pack({"format": "x", "clients": ["a", "b"]}, {"rounds": np.array([1, 2])}))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        description, contents = unpack(bytes(content))
    except InputError:
        return
    assert set(map(type, description)) <= {str}
    assert all(isinstance(array, np.ndarray) for array in contents.values())


def test_a_file_of_just_the_limit_is_read_and_one_byte_more_is_not(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_limited(path, 5) == b"12345"
    with pytest.raises(InputError, match="larger than 4 bytes"):
        read_limited(path, 4)


def test_only_regular_files_are_read(tmp_path):
    with pytest.raises(InputError, match="not a regular file"):
        read_limited(tmp_path, 5)
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        read_limited(tmp_path / "nothing", 5)
    with pytest.raises(InputError, match="cannot be read"):
        read_limited(tmp_path / ("x" * 300), 5)


def test_a_link_to_a_file_is_followed(tmp_path):
    (tmp_path / "file").write_bytes(b"123")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_limited(tmp_path / "link", 5) == b"123"
