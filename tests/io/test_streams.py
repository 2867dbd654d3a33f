import gzip

import pytest

from eitr.errors import InputError
from eitr.io.streams import opened


def test_what_cannot_be_opened_is_an_error_that_names_it(tmp_path):
    with pytest.raises(InputError, match="No such file"), opened(tmp_path / "gone"):
        pass
    with pytest.raises(InputError, match="Is a directory"), opened(tmp_path):
        pass


def test_a_stream_is_closed_after_its_with(tmp_path):
    (tmp_path / "a").write_bytes(b"one\ntwo")
    with opened(tmp_path / "a") as stream:
        assert list(stream.lines(10)) == [b"one\n", b"two"]
    with pytest.raises(ValueError, match="closed"):
        stream.read(1)


def test_a_file_can_be_limited_as_a_whole_unpacked(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x\n" * 50))
    with opened(tmp_path / "a.gz", 100) as stream:
        assert len(list(stream.lines(10))) == 50
    with (
        pytest.raises(InputError, match="holds more than 99 bytes unpacked: split the file"),
        opened(tmp_path / "a.gz", 99) as stream,
    ):
        list(stream.lines(10))
