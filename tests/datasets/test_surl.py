import csv
import gzip

import pytest

from eitr.datasets import load, surl
from eitr.errors import InputError

NAMES = ("Health", "Politics", "Religion", "Sexual", "Ethnicity", "Clear")


def table(extra="", header="category\tcontent\n"):
    return (
        header
        + "".join(f"{NAMES[n % 6]}\tpage number {'abcdefghij'[n % 10]} of {NAMES[n % 6]}\n" for n in range(60))
        + extra
    )


def write(folder, text, name="surl.tsv"):
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def test_categories_become_our_classes_whatever_their_case(tmp_path):
    write(tmp_path, "category\tcontent\n" + "".join(f"{name.upper()} \tx\n{name.lower()}\ty\n" for name in NAMES))
    assert [labelled.label for labelled in surl.pages(tmp_path)] == [n // 2 for n in range(12)]


def test_examples_are_made_and_split(tmp_path):
    examples = load("surl", data_dir=write(tmp_path, table()))
    assert len(examples) == 60
    assert examples.test.sum() == 12


def test_columns_are_found_by_name_and_others_left_alone(tmp_path):
    write(tmp_path, "\ufeffurl\tContent\tCategory\nhttp://a\tprayer\tReligion\n\nhttp://b\tvote\tPolitics\n")
    found = list(surl.pages(tmp_path))
    assert [(labelled.page.text, labelled.label) for labelled in found] == [("prayer", 2), ("vote", 1)]
    assert all(labelled.test is None for labelled in found)


def test_quoted_contents_may_have_tabs_lines_and_quotes(tmp_path):
    write(tmp_path, 'category\tcontent\nHealth\t"one\ttwo\nthree ""four"""\n')
    assert next(surl.pages(tmp_path)).page.text == 'one\ttwo\nthree "four"'


def test_gzip_is_read_and_broken_characters_are_replaced(tmp_path):
    write(tmp_path, gzip.compress(b"category\tcontent\nHealth\tfever \xff cough\n"), "surl.tsv.gz")
    assert next(surl.pages(tmp_path)).page.text == "fever � cough"


def test_large_contents_are_read_and_the_limit_of_other_readers_is_left_alone(tmp_path):
    usual, before = csv.field_size_limit(131_072), 131_072
    write(tmp_path, "category\tcontent\nHealth\t" + "fever " * 100_000 + "\nClear\tsnow\n")
    lengths = []
    for labelled in surl.pages(tmp_path):
        assert csv.field_size_limit() == before
        lengths.append(len(labelled.page.text))
    csv.field_size_limit(usual)
    assert lengths == [600_000, 4]


def test_a_quote_that_is_never_closed_does_not_swallow_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(surl, "FIELD_LIMIT", 1000)
    write(tmp_path, 'category\tcontent\nHealth\t"open\n' + "Clear\tsnow\n" * 1000)
    with pytest.raises(InputError, match="cannot be read: field larger") as error:
        list(surl.pages(tmp_path))
    assert "\n" not in str(error.value)


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(surl, "FIELD_LIMIT", 1000)
    write(tmp_path, "category\tcontent\nHealth\t" + "x" * 5000)
    with pytest.raises(InputError, match="longer than 1000 bytes"):
        list(surl.pages(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must name the columns"),
        ("class\ttext\nHealth\tx\n", "must name the columns"),
        (table("Sport\tx\n"), "line 62: the category must be one of"),
        (table("\tx\n"), "line 62: the category must be one of"),
        (table("Health\n"), "line 62 lacks a category or a content"),
        ("category\tcontent\n", "hold no page"),
        (table().replace("Sexual\t", "Clear\t"), "no page of the class sexual-orientation"),
    ],
)
def test_a_table_with_something_wrong_is_an_error(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        load("surl", data_dir=write(tmp_path, text))


@pytest.mark.parametrize("keep", [5, 60, -9])
def test_a_gzip_that_is_cut_off_is_an_error(tmp_path, keep):
    write(tmp_path, gzip.compress(table().encode())[:keep], "surl.tsv.gz")
    with pytest.raises(InputError, match="damaged or cut off"):
        list(surl.pages(tmp_path))
