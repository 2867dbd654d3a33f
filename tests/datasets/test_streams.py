import pytest

from eitr.datasets.streams import Stream
from eitr.errors import InputError


def test_what_cannot_be_opened_is_an_error_that_names_it(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        Stream(tmp_path / "gone")
    with pytest.raises(InputError, match="Is a directory"):
        Stream(tmp_path)


def test_a_stream_is_closed_after_its_with(tmp_path):
    (tmp_path / "a").write_text("one\ntwo")
    with Stream(tmp_path / "a") as stream:
        assert list(stream.lines(10)) == ["one\n", "two"]
    with pytest.raises(ValueError, match="closed"):
        stream.read(1)
