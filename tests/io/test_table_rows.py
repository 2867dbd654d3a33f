import csv
import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.errors import InputError
from eitr.io.table_rows import read_table

TEXT = st.text('ab,;"\t\n é\u2028', max_size=8)


def read(path, content, delimiter=",", **more):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_table(path, delimiter, **more))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.csv"


def test_fields_come_by_the_names_of_the_first_line_with_the_line_each_row_begins_on(path):
    content = '\ufeff"title", text\n"one, two","three\nlines ""here"""\n\nlast,row'
    assert read(path, content) == [
        (2, {"title": "one, two", "text": 'three\nlines "here"'}),
        (5, {"title": "last", "text": "row"}),
    ]


def test_tabs_and_gzip_and_windows_line_ends_are_read(path):
    assert read(path, gzip.compress(b"a\tb\r\n1\t2,3\r\n"), "\t") == [(2, {"a": "1", "b": "2,3"})]


@pytest.mark.parametrize("delimiter", [",", "\t"])
@given(rows=st.lists(st.lists(TEXT, min_size=3, max_size=3), max_size=5))
def test_whatever_python_writes_is_read_as_it_was(tmp_path_factory, delimiter, rows):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([["a", "b", "c"], *rows])
    found = read(tmp_path_factory.getbasetemp() / "any.csv", text.getvalue(), delimiter)
    assert [list(row.values()) for _, row in found] == rows


@given(st.binary(max_size=60))
def test_any_bytes_are_rows_or_an_error_of_one_line(tmp_path_factory, content):
    try:
        found = [
            value for _, row in read(tmp_path_factory.getbasetemp() / "any.csv", content) for value in row.values()
        ]
        assert all(isinstance(value, str) for value in found)
    except InputError as error:
        message = str(error)
        assert "\n" not in message


BAD = {
    "a field too many": (b"a,b\n1,2\n1,2,3\n4,5\n", "line 3 has 3 fields instead of 2: quote fields"),
    "a field too few": (b"a,b\n1,2\n1\n4,5\n", "line 3 has 1 fields instead of 2"),
    "Latin-1": (b"a,b\n1,2\ncaf\xe9,2\n4,5\n", "line 3 is not text in UTF-8: convert the file"),
    "text after a quote": (b'a,b\n1,2\n"x"y,2\n4,5\n', "line 3 cannot be read: .*double the quotes"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_a_bad_row_is_an_error_that_names_its_line_or_is_left_out(path, content, message):
    with pytest.raises(InputError, match=message):
        read(path, content)
    told: list[InputError] = []
    assert [line for line, _ in read(path, content, on_bad_line=told.append)] == [2, 4]
    assert len(told) == 1


FATAL = {
    "nothing": (b"", "the first line must name the columns"),
    "a blank header": (b",,\n1,2,3\n", "the first line must name the columns"),
    "a column twice": (b"a,b,a\n1,2,3\n", "names the column 'a' twice: rename one"),
    "a header in UTF-16": ("a,b\n".encode("utf-16"), "is text in UTF-16, not in UTF-8: convert .* iconv -f utf-16 "),
    "a quote that stays open": (b'a,b\n1,2\n"open,2\n3,4\n', "line 3: a quote is opened here and never closed"),
    "damaged gzip": (gzip.compress(b"a,b\n1,2\n" * 9)[:-9], "damaged or cut off"),
}


@pytest.mark.parametrize(("content", "message"), FATAL.values(), ids=FATAL)
def test_what_spoils_the_whole_file_is_an_error_even_where_bad_rows_are_left_out(path, content, message):
    with pytest.raises(InputError, match=message):
        read(path, content, on_bad_line=lambda error: None)


def test_a_field_that_never_ends_is_not_kept_in_memory(path, monkeypatch):
    monkeypatch.setattr("eitr.io.table_rows.FIELD_LIMIT", 50)
    with pytest.raises(InputError, match="line 2: a quote is opened here and never closed"):
        read(path, b'a\n"' + b"x\n" * 100)


def test_a_file_that_is_too_large_is_refused(path):
    with pytest.raises(InputError, match="more than 20 bytes"):
        read(path, b"a\n" + b"12345\n" * 10, most=20)
