import gzip
import io
import sys
from pathlib import Path

import pytest

from eitr.errors import InputError
from eitr.io import json_lines as rows
from eitr.io.json_lines import read_rows


def test_rows_are_read_with_the_numbers_of_their_lines(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"title": "a"}\n\n  \n{"title": "b"}')
    assert list(read_rows(path)) == [(1, {"title": "a"}), (4, {"title": "b"})]


def test_gzip_is_known_by_its_content_not_its_name(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(gzip.compress(b'{"title": "a"}\n'))
    assert list(read_rows(path)) == [(1, {"title": "a"})]


def test_standard_input_is_a_dash(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'{"title": "a"}\n'))))
    assert list(read_rows(Path("-"))) == [(1, {"title": "a"})]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"title": "a"}\n{broken\n', "line 2 is not JSON"),
        (b'{"title": "caf\xe9"}\n', "line 1 is not text in UTF-8: convert the file, .*iconv -f latin1"),
        (b"caf\xe9\n", "line 1 is not text in UTF-8: convert the file, .*iconv -f latin1"),
        ('{"n": 1}\n'.encode("utf-16"), "is text in UTF-16, not in UTF-8: convert the file, .*iconv -f utf-16"),
        ('{"title": "a"}\n'.encode("utf-16-le"), "is text in UTF-16"),
        ('{"title": "a"}\n'.encode("utf-16-be"), "is text in UTF-16"),
        (b"%PDF-1.7\n%\xe2\xe3", "this is a PDF document, not JSON lines"),
        (b"\x89PNG\r\n\x1a\n", "this is an image, not JSON lines"),
        (b"[1]\n", "line 1 is not a JSON object"),
        (b'{"n": NaN}\n', "line 1 is not JSON"),
        (b'{"n": -1e999}\n', "line 1 has a number that is too large"),
        (b"[" * 100_000, "line 1 is not JSON"),
        (gzip.compress(b'{"title": "a"}\n' * 10_000)[:-40], "damaged or cut off"),
        (b"\x1f\x8bnonsense", "damaged or cut off"),
    ],
)
def test_a_bad_file_is_refused_with_the_line(tmp_path, content, message):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_rows(path))


@pytest.mark.parametrize("content", [b"neither gzip nor JSON\n", b'{"title": "plain"}\n'])
def test_a_file_that_is_called_gzip_but_is_not_is_told_apart_from_bad_lines(tmp_path, content):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(content)
    reported: list[InputError] = []
    with pytest.raises(InputError, match=r"ends in \.gz, but the file is not gzip"):
        list(read_rows(path, reported.append))
    assert reported == []


def test_a_line_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "LINE_LIMIT", 1000)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n" + b"x" * 5000)
    with pytest.raises(InputError, match="line 2 is longer than 1000 bytes: shorten or remove it"):
        list(read_rows(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"absent\.jsonl: No such file"):
        list(read_rows(tmp_path / "absent.jsonl"))
