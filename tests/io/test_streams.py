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
