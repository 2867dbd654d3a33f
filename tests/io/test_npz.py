import zipfile

import numpy as np
import pytest

from eitr.errors import InputError
from eitr.io.npz import npz_bytes, read_npz, write_npz

ARRAYS = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "one": np.array(7, np.int64),
    "word": np.array("fever"),
    "none": np.empty((0, 3), np.float32),
    "marks": np.array([True, False]),
}


def same(found, wanted):
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)
        assert found[name].shape == array.shape


def test_arrays_come_back_as_they_were_with_their_shapes(tmp_path):
    write_npz(tmp_path / "a.npz", ARRAYS)
    same(read_npz(tmp_path / "a.npz"), ARRAYS)


def test_numpy_reads_the_file_too(tmp_path):
    write_npz(tmp_path / "a.npz", ARRAYS)
    with np.load(tmp_path / "a.npz") as archive:
        same({name: archive[name] for name in archive.files}, ARRAYS)


def test_bytes_depend_on_the_content_alone():
    by_columns = {**ARRAYS, "numbers": np.asfortranarray(ARRAYS["numbers"].astype(">f8"))}
    assert npz_bytes(ARRAYS) == npz_bytes(by_columns)
    assert npz_bytes(ARRAYS) != npz_bytes({**ARRAYS, "one": np.array(8, np.int64)})


def test_names_that_are_asked_for_must_be_there_and_no_others(tmp_path):
    write_npz(tmp_path / "a.npz", {"one": np.array(1)})
    with pytest.raises(InputError, match="exactly the arrays one, two"):
        read_npz(tmp_path / "a.npz", ("one", "two"))


@pytest.mark.parametrize("keep", [0, 1, 50, 200, -1])
def test_a_file_that_is_cut_off_is_one_line(tmp_path, keep):
    (tmp_path / "a.npz").write_bytes(npz_bytes(ARRAYS)[:keep])
    with pytest.raises(InputError, match=r"a\.npz: not an \.npz file, or a damaged one"):
        read_npz(tmp_path / "a.npz")


def test_a_member_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", b"nonsense")
    with pytest.raises(InputError, match="damaged"):
        read_npz(tmp_path / "a.npz")
