import io
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eitr.datasets import Examples, read_examples, save_examples
from eitr.errors import InputError
from eitr.pages.sparse import SparseRows


def small(**changes):
    rows = SparseRows(
        np.array([0, 2, 2, 3]), np.array([0, 2, 1], np.int32), np.array([0.6, 0.8, 1.0], np.float32), width=3
    )
    parts: dict[str, Any] = {
        "name": "small",
        "rows": rows,
        "labels": np.array([0, 5, 1]),
        "test": np.array([False, False, True]),
        "words": ("fever", "vote", "snö"),
    }
    return Examples(**(parts | changes))


def arrays_of(path):
    with np.load(path) as content:
        return {name: content[name] for name in content.files}


def one_line(error):
    return "\n" not in str(error.value)


def test_examples_come_back_from_a_file_as_they_were(tmp_path):
    written = small()
    save_examples(written, tmp_path / "a.npz")
    read = read_examples(tmp_path / "a.npz")
    assert (read.name, read.words, read.classes) == (written.name, written.words, written.classes)
    for part in ("labels", "test"):
        np.testing.assert_array_equal(getattr(read, part), getattr(written, part), strict=True)
    for part in ("starts", "columns", "values"):
        np.testing.assert_array_equal(getattr(read.rows, part), getattr(written.rows, part), strict=True)


def test_equal_examples_give_equal_bytes_whenever_they_are_written(tmp_path, monkeypatch):
    save_examples(small(), tmp_path / "a.npz")
    monkeypatch.setattr("time.time", lambda: 1.9e9)
    save_examples(small(), tmp_path / "b.npz")
    save_examples(small(labels=np.array([0, 5, 2])), tmp_path / "c.npz")
    first = (tmp_path / "a.npz").read_bytes()
    assert first == (tmp_path / "b.npz").read_bytes()
    assert first != (tmp_path / "c.npz").read_bytes()


def test_numpy_itself_can_read_the_file(tmp_path):
    save_examples(small(), tmp_path / "a.npz")
    assert arrays_of(tmp_path / "a.npz")["words"].tolist() == ["fever", "vote", "snö"]


def test_a_written_file_can_be_changed_in_memory_once_read(tmp_path):
    save_examples(small(), tmp_path / "a.npz")
    read = read_examples(tmp_path / "a.npz")
    read.labels[0] = 3
    assert read.labels[0] == 3


def test_taking_rows_keeps_label_mark_and_vector_together():
    taken = small().take([2, 0])
    assert taken.labels.tolist() == [1, 0]
    assert taken.test.tolist() == [True, False]
    assert taken.rows.dense().tolist()[0] == [0.0, 1.0, 0.0]


BAD = {
    "labels of another type": {"labels": np.array([0, 5, 1], np.int32)},
    "too few labels": {"labels": np.array([0, 5])},
    "a label that is no class": {"labels": np.array([0, 6, 1])},
    "a negative label": {"labels": np.array([0, -1, 1])},
    "marks that are numbers": {"test": np.array([0, 0, 1])},
    "only test rows": {"test": np.array([True, True, True])},
    "starts that fall": {"starts": np.array([0, 3, 2, 3])},
    "starts that end too early": {"starts": np.array([0, 2, 2, 2])},
    "no rows": {"starts": np.array([0]), "columns": np.empty(0, np.int32), "values": np.empty(0, np.float32)},
    "a column beyond the words": {"columns": np.array([0, 3, 1], np.int32)},
    "a negative column": {"columns": np.array([-1, 2, 1], np.int32)},
    "columns that fall within a row": {"columns": np.array([2, 0, 1], np.int32)},
    "a column twice in a row": {"columns": np.array([2, 2, 1], np.int32)},
    "a value that is not finite": {"values": np.array([0.6, np.nan, 1.0], np.float32)},
    "values of another type": {"values": np.array([0.6, 0.8, 1.0])},
    "one value too few": {"values": np.array([0.6, 0.8], np.float32)},
    "a word twice": {"words": np.array(["fever", "vote", "vote"])},
    "an empty word": {"words": np.array(["fever", "vote", ""])},
    "words that are numbers": {"words": np.array([1, 2, 3])},
    "two names": {"name": np.array(["a", "b"])},
    "code points that do not exist": {"words": np.array([97, 98, 0x7FFFFFFF], np.uint32).view("<U1")},
    "halves of characters": {"words": np.array([97, 98, 0xD800], np.uint32).view("<U1")},
    "a part that does not belong": {"more": np.array([1])},
}


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD)
def test_a_file_with_something_wrong_is_refused_in_one_line_that_names_it(tmp_path, changes):
    save_examples(small(), tmp_path / "good.npz")
    path = tmp_path / "bad.npz"
    np.savez(path, **(arrays_of(tmp_path / "good.npz") | changes))
    with pytest.raises(InputError, match=r"bad\.npz: ") as error:
        read_examples(path)
    assert one_line(error)


def test_a_file_without_one_of_its_parts_is_refused(tmp_path):
    save_examples(small(), tmp_path / "good.npz")
    parts = arrays_of(tmp_path / "good.npz")
    del parts["labels"]
    np.savez(tmp_path / "bad.npz", **parts)
    with pytest.raises(InputError, match="must hold exactly the arrays"):
        read_examples(tmp_path / "bad.npz")


@pytest.mark.parametrize("length", [0, 10, 100, 700, -1])
def test_a_file_that_is_cut_off_is_refused(tmp_path, length):
    path = tmp_path / "a.npz"
    save_examples(small(), path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(InputError, match="damaged") as error:
        read_examples(path)
    assert one_line(error)


def test_a_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "a.npz"
    save_examples(small(), path)
    data = path.read_bytes()
    at = data.index(np.float32(0.8).tobytes())
    path.write_bytes(data[:at] + b"\x00" + data[at + 1 :])
    with pytest.raises(InputError, match="damaged"):
        read_examples(path)


@pytest.mark.parametrize("name", ["gone.npz", "."])
def test_a_path_that_is_no_file_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"No such file|not a regular file"):
        read_examples(tmp_path / name)


def with_labels(tmp_path, member):
    save_examples(small(), tmp_path / "good.npz")
    path = tmp_path / "bad.npz"
    with zipfile.ZipFile(tmp_path / "good.npz") as good, zipfile.ZipFile(path, "w") as bad:
        for name in good.namelist():
            bad.writestr(name, member if name == "labels.npy" else good.read(name))
    return path


def header(shape, kind="<i8", by_columns=False):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": by_columns, "shape": shape})
    return stream.getvalue()


def test_a_header_that_promises_terabytes_is_refused_without_reserving_them(tmp_path):
    with pytest.raises(InputError, match="labels is cut off"):
        read_examples(with_labels(tmp_path, header((10**12,)) + b"\0" * 24))


@pytest.mark.parametrize("shape", [(-3,), (-1, -3), (2,), (4,)])
def test_a_header_that_does_not_fit_its_data_is_refused(tmp_path, shape):
    with pytest.raises(InputError, match=r"labels is cut off|labels has a negative size"):
        read_examples(with_labels(tmp_path, header(shape) + b"\0" * 24))


@pytest.mark.parametrize("made", [header((3, 1), by_columns=True), header((3,), "<M8[s]"), b"\x93NUMPY\x03\x00"])
def test_an_array_of_a_kind_we_do_not_write_is_refused(tmp_path, made):
    with pytest.raises(InputError, match="labels"):
        read_examples(with_labels(tmp_path, made + b"\0" * 24))


@pytest.mark.parametrize("text", ["{[]: 1}", "{'descr': '<i8'}", "(" * 150, "open('x')", "\0"])
def test_a_header_that_is_none_is_refused(tmp_path, text):
    made = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    with pytest.raises(InputError, match="damaged"):
        read_examples(with_labels(tmp_path, made + b"\0" * 24))


def test_an_archive_that_claims_more_than_it_can_hold_is_refused(tmp_path, monkeypatch):
    save_examples(small(), tmp_path / "a.npz")
    monkeypatch.setattr("eitr.io.npz.LIMIT", 500)
    with pytest.raises(InputError, match="more than such a file can hold"):
        read_examples(tmp_path / "a.npz")


def test_an_array_of_pickled_objects_is_refused_unopened(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "executed"), "w"))

    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([Bomb()] * 3, object), allow_pickle=True)
    with pytest.raises(InputError, match="plain numbers"):
        read_examples(with_labels(tmp_path, stream.getvalue()))
    assert not (tmp_path / "executed").exists()


def test_a_part_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    save_examples(small(), path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("labels.npy", b"")
    with pytest.raises(InputError, match="same name"):
        read_examples(path)


def test_examples_that_do_not_fit_together_cannot_be_made():
    with pytest.raises(InputError, match="as many words"):
        replace(small(), words=("fever",))
    with pytest.raises(InputError, match="columns"):
        small(rows=SparseRows(np.array([0, 0]), np.empty(0, np.int32), np.empty(0, np.float32), width=0))


def test_a_digest_depends_on_every_part_but_the_name():
    rows = small().rows
    changes: list[dict[str, Any]] = [
        {"labels": np.array([0, 5, 2])},
        {"test": np.array([False, True, True])},
        {"words": ("fever", "vote", "snow")},
        {"classes": tuple("abcdef")},
        {"rows": replace(rows, values=np.array([0.6, 0.7, 1.0], np.float32))},
        {"rows": replace(rows, columns=np.array([0, 1, 1], np.int32))},
        {"rows": replace(rows, starts=np.array([0, 1, 2, 3]))},
    ]
    digests = [small(**change).digest() for change in changes]
    assert len({small().digest(), *digests}) == 1 + len(changes)
    assert small(name="other").digest() == small().digest()
