"""The user's own data: what is read, and the error for each thing that is wrong."""

import json
import os
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.datasets import load, read_examples, save_examples
from eitr.datasets.own import html_folder
from eitr.datasets.own.files import own_pages
from eitr.datasets.own.options import FileOptions, normal, options_of, parse_label_map
from eitr.errors import InputError
from eitr.pages import extract
from eitr.taxonomy import NAMES

from .own_files import rows, write, write_folder

FILES = ("pages.jsonl", "pages.csv", "pages.tsv", "pages.jsonl.gz", "pages.csv.gz", "pages.tsv.gz")


def leave_out(told):
    return FileOptions(on_bad_line=lambda error: told.append(str(error)))


def refused(path, message, **options):
    with pytest.raises(InputError, match=message) as error:
        load(path, options=FileOptions(**options))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", FILES)
def test_every_form_gives_the_same_examples(tmp_path, name):
    examples = load(write(tmp_path / name, rows()))
    expected = load(write(tmp_path / "expected.jsonl", rows()))
    np.testing.assert_array_equal(examples.rows.dense(), expected.rows.dense())
    np.testing.assert_array_equal(examples.labels, [number % 6 for number in range(60)])
    np.testing.assert_array_equal(examples.test, expected.test)
    assert examples.name == expected.name.replace("expected", "pages")


def test_a_folder_of_html_files_is_read_as_the_product_reads_pages(tmp_path):
    folder = write_folder(tmp_path / "saved-pages", rows())
    examples = load(folder)
    np.testing.assert_array_equal(examples.rows.dense(), load(write(tmp_path / "a.csv", rows())).rows.dense())
    assert examples.name.startswith("saved-pages@")
    assert "hidden" not in examples.words


def test_pages_without_a_split_get_a_seeded_one_of_every_class(tmp_path):
    path = write(tmp_path / "pages.csv", rows(120))
    first, again, other = load(path), load(path), load(path, seed=1)
    assert np.bincount(first.labels[first.test]).tolist() == [4] * 6
    np.testing.assert_array_equal(first.test, again.test)
    assert (first.test != other.test).any()


@pytest.mark.parametrize(
    ("column", "train", "test"),
    [("split", "train", "test"), ("test", "0", "1"), ("test", False, True), ("part", "no", "YES")],
)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_split_of_the_file_is_kept(tmp_path, form, column, train, test):
    content = [row | {column: test if number % 12 < 6 else train} for number, row in enumerate(rows())]
    options = FileOptions(columns={"split": "part"} if column == "part" else {})
    examples = load(write(tmp_path / f"pages.{form}", content), options=options)
    assert examples.test.tolist() == [number % 12 < 6 for number in range(60)]


def test_columns_of_other_names_are_named(tmp_path):
    own = [{"headline": row["title"], "body": row["text"], "topic": row["label"], "text": "x"} for row in rows()]
    options = FileOptions(columns={"title": "headline", "text": "body", "label": "topic"})
    examples = load(write(tmp_path / "pages.csv", own), options=options)
    assert examples.digest() == load(write(tmp_path / "plain.csv", rows())).digest()


def test_labels_are_mapped_and_small_differences_of_spelling_do_not_matter(tmp_path):
    spelled = {"health": "Doctor", "sexual-orientation": "Sexual Orientation", "non-sensitive": "NON_SENSITIVE"}
    own = [row | {"label": spelled.get(row["label"], row["label"])} for row in rows()]
    examples = load(write(tmp_path / "a.csv", own), options=FileOptions(label_map={"doctor": "health"}))
    assert examples.labels.tolist() == [number % 6 for number in range(60)]


def test_labels_can_be_numbers(tmp_path):
    own = [row | {"label": NAMES.index(row["label"])} for row in rows()]
    mapped = {str(number): name for number, name in enumerate(NAMES)}
    for form in ("csv", "jsonl"):
        examples = load(write(tmp_path / f"a.{form}", own), options=FileOptions(label_map=mapped))
        assert examples.labels.tolist() == [number % 6 for number in range(60)]


def test_data_of_fewer_classes_say_so(tmp_path):
    two = ("health", "non-sensitive")
    path = write(tmp_path / "two.csv", rows(classes=two))
    refused(path, r"no page of the class politics, .*--classes health,non-sensitive\)$")
    one = write(tmp_path / "one.csv", rows(classes=("health",)))
    refused(one, r"no page of the class politics, .*non-sensitive: add some, or map a label to it \(--label-map\)$")
    assert set(load(path, options=FileOptions(classes=two)).labels.tolist()) == {0, 5}
    refused(path, "the label is none of health, politics: 'non-sensitive'", classes=("health", "politics"))


def test_a_size_takes_a_part_and_reports_a_bad_line_once(tmp_path):
    told: list[str] = []
    path = write(tmp_path / "a.jsonl", [*rows(), {"text": "no label"}])
    assert len(load(path, size=24, options=leave_out(told))) == 24
    assert told == [f"{path}: line 61: the column 'label' holds no label: give the page one"]


def test_a_name_holds_what_is_in_the_file_not_only_what_it_is_called(tmp_path):
    first = write(tmp_path / "pages.csv", rows())
    before = load(first).name
    assert before == load(first).name
    assert before.partition("@")[0] == "pages"
    for other in (load(first, words=5), load(first, seed=1), load(write(first, rows(66)))):
        assert other.name != before
        assert other.name.partition("@")[0] == "pages"


def test_a_name_is_plain_whatever_the_file_is_called(tmp_path):
    path = write(tmp_path / "my pages;\nrm -rf.csv", rows())
    assert load(path).name.partition("@")[0] == "my_pages_rm_-rf"


def test_a_prepared_file_of_own_data_keeps_the_name(tmp_path):
    examples = load(write(tmp_path / "pages.csv", rows()))
    save_examples(examples, tmp_path / "pages.npz")
    read = read_examples(tmp_path / "pages.npz")
    assert (read.name, read.digest()) == (examples.name, examples.digest())


LABELS = {
    "one": (
        {"label": "helth"},
        r"'helth' \(did you mean 'health'\?\) on line 62; say what they mean, .*--label-map .helth=health",
    ),
    "far": ({"label": "zzz"}, r"none of health, .*non-sensitive: 'zzz' on line 62; .*zzz=non-sensitive"),
}


@pytest.mark.parametrize(("change", "message"), LABELS.values(), ids=LABELS)
def test_an_unknown_label_is_named_with_the_nearest_class(tmp_path, change, message):
    refused(write(tmp_path / "a.csv", rows() + rows(1, **change)), message)


def test_all_unknown_labels_are_named_at_once_and_never_left_out(tmp_path):
    more = rows(2, label="sport") + rows(1, label="relgion")
    path = write(tmp_path / "a.csv", rows() + more)
    told: list[str] = []
    with pytest.raises(
        InputError, match=r"'sport' on line 62 and 1 more, 'relgion' \(did you mean 'religion'\?\) on line 64"
    ):
        load(path, options=leave_out(told))
    assert told == []


def test_many_unknown_labels_are_the_wrong_column(tmp_path, monkeypatch):
    monkeypatch.setattr("eitr.datasets.own.labels.MOST_UNKNOWN", 20)
    path = write(tmp_path / "a.csv", rows())
    refused(
        path, "the column 'title' holds more than 20 different labels: .*--label-column", columns={"label": "title"}
    )
    folder = write_folder(tmp_path / "folder", rows())
    refused(folder, "more than 20 different labels", columns={"label": "file"})


def test_of_many_unknown_labels_ten_are_named(tmp_path):
    content = rows() + [row | {"label": f"own-{number}"} for number, row in enumerate(rows(12))]
    assert "'own-9' on line 70, and 2 more labels;" in refused(write(tmp_path / "a.jsonl", content), "own-0")


COLUMNS = {
    "label": ({"label": "topic"}, r"lacks the column 'topic'; it has title, text, label: name .* --label-column"),
    "title": ({"title": "name"}, r"lacks the column 'name'; it has title, text, label: name .* --title-column"),
    "split": ({"split": "fold"}, r"lacks the column 'fold'; .* --split-column"),
}


@pytest.mark.parametrize(("columns", "message"), COLUMNS.values(), ids=COLUMNS)
def test_a_missing_column_is_an_error_that_names_those_there_are(tmp_path, columns, message):
    refused(write(tmp_path / "a.csv", rows()), message, columns=columns)


def test_a_file_without_text_is_an_error(tmp_path):
    content = [{"body": row["text"], "label": row["label"]} for row in rows()]
    refused(
        write(tmp_path / "a.csv", content), "lacks all of the columns title, .*; it has body, label: .*--text-column"
    )


def test_a_column_that_no_json_line_has_is_an_error_but_some_may_lack_it(tmp_path):
    content = rows(59) + [row | {"summary": "snow"} for row in rows(60)[59:]]
    path = write(tmp_path / "a.jsonl", content)
    *_, last = own_pages(path, FileOptions(columns={"description": "summary"}))
    assert last.page.description == "snow"
    refused(path, "no line has the column 'sumary': .*--description-column", columns={"description": "sumary"})


def test_other_separators_are_recognised(tmp_path):
    (tmp_path / "a.csv").write_text("title;text;label\nfever;clinic;health\n")
    refused(tmp_path / "a.csv", "lacks the column 'label'; it has title;text;label: separate the columns by commas")


BAD_LINES = {
    "no label": ({"label": ""}, "the column 'label' holds no label"),
    "a list as label": ({"label": ["health"]}, "the column 'label' holds no label"),
    "a truth value as label": ({"label": True}, "the column 'label' holds no label"),
    "another split": ({"split": "dev"}, "the column 'split' must hold train or test, or nothing, not 'dev'"),
    "a list as split": ({"split": ["test"]}, "the column 'split' must hold train or test"),
    "a number as title": ({"title": 3}, "the field 'title' of a row must be a string"),
}


@pytest.mark.parametrize(("change", "message"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_an_error_with_its_number_or_is_left_out(tmp_path, change, message):
    path = write(tmp_path / "a.jsonl", rows(30) + rows(1, **change) + rows(30))
    refused(path, f"a.jsonl: line 31: {message}")
    told: list[str] = []
    assert len(load(path, options=leave_out(told))) == 60
    assert len(told) == 1


def test_lines_that_are_no_rows_are_left_out_too(tmp_path):
    path = write(tmp_path / "a.jsonl", rows())
    path.write_bytes(path.read_bytes() + b"{broken\ncaf\xe9\n[]\n")
    refused(path, "line 61 is not JSON")
    told: list[str] = []
    assert len(load(path, options=leave_out(told))) == 60
    assert [message.partition(" line ")[2][:18] for message in told] == [
        "61 is not JSON",
        "62 is not text in ",
        "63 is not a JSON o",
    ]


def test_too_few_pages_of_a_class_are_an_error(tmp_path):
    refused(
        write(tmp_path / "a.csv", rows(11)),
        r"the class non-sensitive has too few pages \(1 to train on, 0 to test on\)",
    )
    marked = [row | {"split": "train" if row["label"] == "religion" else "test"} for row in rows(12)]
    refused(write(tmp_path / "b.csv", marked), r"the class health has too few pages \(0 to train on, 2 to test on\)")


def test_a_file_without_pages_is_an_error(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n")
    refused(tmp_path / "a.jsonl", r"a\.jsonl: the data hold no page")
    (tmp_path / "a.csv").write_text("text,label\n")
    refused(tmp_path / "a.csv", r"a\.csv: the data hold no page")


def test_files_that_are_too_large_are_errors(tmp_path, monkeypatch):
    path = write(tmp_path / "a.csv.gz", rows())
    monkeypatch.setattr("eitr.datasets.own.rows.MAX_BYTES", 1000)
    refused(path, "more than 1000 bytes unpacked")
    monkeypatch.undo()
    monkeypatch.setattr("eitr.datasets.own.rows.MAX_PAGES", 50)
    refused(path, "more than 50 pages")
    monkeypatch.setattr("eitr.datasets.own.html_folder.MAX_PAGES", 50)
    refused(write_folder(tmp_path / "folder", rows()), "more than 50 files")


def test_what_is_no_file_of_a_known_form_is_an_error(tmp_path):
    refused(tmp_path / "gone.csv", "No such file")
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04 something")
    refused(tmp_path / "a.xlsx", r"a\.xlsx: the format of the data is not known; give a file \.jsonl")
    os.mkfifo(tmp_path / "pipe.csv")
    refused(tmp_path / "pipe.csv", "not a regular file")


def test_a_prepared_file_needs_no_ending(tmp_path):
    examples = load("builtin", size=100, words=20)
    save_examples(examples, tmp_path / "prepared")
    assert load(tmp_path / "prepared").digest() == examples.digest()


def test_options_that_would_be_ignored_are_refused(tmp_path):
    options = FileOptions(label_map={"a": "health"})
    with pytest.raises(InputError, match="builtin has its own columns and labels: leave out --label-map"):
        load("builtin", options=options)
    save_examples(load("builtin", size=100, words=20), tmp_path / "a.npz")
    refused(tmp_path / "a.npz", "has its own columns", label_map={"a": "health"})


# A folder of HTML files


def listed(folder, *entries, header="file,label"):
    (folder / "labels.csv").write_text("\n".join([header, *entries]) + "\n")


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "pages", rows(12))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.html", "the file 'gone.html' cannot be read: No such file"),
        ("../secret.html", r"the file '../secret.html' is not inside the folder"),
        ("saved/../../secret.html", "is not inside the folder"),
        ("ABSOLUTE", "is not inside the folder: name it relative to the folder"),
        ("", "the column 'file' names no file"),
        ("nul\0.html", "the column 'file' names no file"),
        ("saved", "'saved' is not a regular file"),
        ("link.html", "the file 'link.html' is reached by a symbolic link: copy the file itself"),
        ("inside.html", "the file 'inside.html' is reached by a symbolic link"),
        ("linked/secret.html", "is reached by a symbolic link"),
        ("saved/./0.html", "the file 'saved/0.html' is listed twice, first on line 2: remove one"),
        ("x" * 300, "xxxx' cannot be read: File name too long"),
        ("empty.html", "the file 'empty.html' is not a page: there is nothing in it"),
        ("picture.html", "the file 'picture.html' is not a page: this is an image"),
        ("large.html", "the file 'large.html' is larger than 8388608 bytes: leave it out"),
    ],
)
def test_a_file_that_is_none_or_not_inside_the_folder_is_an_error(folder, name, message):
    (folder.parent / "secret.html").write_text("<p>secret")
    (folder / "link.html").symlink_to("../secret.html")
    (folder / "inside.html").symlink_to("saved/0.html")
    (folder / "linked").symlink_to("..")
    (folder / "empty.html").write_text("")
    (folder / "picture.html").write_bytes(b"\x89PNG\r\n")
    with (folder / "large.html").open("wb") as large:
        large.truncate(8 * 2**20 + 1)
    if name == "ABSOLUTE":
        name = str(folder.parent / "secret.html")
    with (folder / "labels.csv").open("a") as stream:
        stream.write(f"{name},health\n")
    refused(folder, f"labels.csv: line 14: .*{message}")
    told: list[str] = []
    assert len(list(own_pages(folder, leave_out(told)))) == 12
    assert len(told) == 1


def test_a_folder_can_be_reached_by_a_link_and_named_by_a_dot(folder, monkeypatch):
    (folder.parent / "link").symlink_to(folder)
    assert len(load(folder.parent / "link")) == 12
    monkeypatch.chdir(folder)
    assert load(".").name.startswith("pages@")


def test_a_folder_without_labels_or_their_columns_is_an_error(folder):
    listed(folder, "saved/0.html,health", header="page,label")
    refused(folder, "labels.csv: lacks the column 'file'; it has page, label: give it one")
    listed(folder, "saved/0.html,health", header="file,topic")
    refused(folder, "labels.csv: lacks the column 'label'; it has file, topic: .*--label-column")
    refused(folder, "HTML files have no columns: leave out --text-column", columns={"text": "body"})
    (folder / "labels.csv").rename(folder / "others.csv")
    (folder / "labels.csv").symlink_to("others.csv")
    refused(folder, "labels.csv: is a symbolic link: copy the file itself")
    (folder / "labels.csv").unlink()
    refused(folder, "there is no labels.csv in it: write one with the columns file and label")


def test_without_a_parser_one_line_says_where_to_read_the_folder(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "eitr.pages.extract", None)
    refused(folder, "HTML files need the Python package .*: prepare the folder on another machine")


def test_an_html_file_can_be_as_large_as_the_extraction_reads():
    assert html_folder.LARGEST == extract.MAX_BYTES


# Label maps


def test_a_label_map_is_pairs_or_a_json_file(tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"a, b": "health", "c=d": "politics"}))
    assert parse_label_map(str(path)) == {"a, b": "health", "c=d": "politics"}
    assert parse_label_map("x=y=health") == {"x=y": "health"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("doctor", "needs LABEL=CLASS, not 'doctor'"),
        ("a=health,", "needs LABEL=CLASS, not ''"),
        ("=health", "needs LABEL=CLASS"),
        ("a=health,a=politics", "gives 'a' two classes: health and politics"),
        ("gone.json", "gone.json: No such file"),
        ('{"a": "health", "a": "politics"}', "--label-map: the label map has 'a' twice: remove one"),
        ("{a=health}", "--label-map: a label map is a JSON object like"),
    ],
)
def test_a_label_map_that_is_none_is_an_error(text, message):
    with pytest.raises(InputError, match=message):
        parse_label_map(text)


@pytest.mark.parametrize("content", ["[]", "{", '{"a": 1}', "[" * 10_000, '{"a": "' + "x" * (1 << 20) + '"}'])
def test_a_file_with_another_content_is_no_label_map(tmp_path, content):
    (tmp_path / "map.json").write_text(content)
    with pytest.raises(InputError, match="a label map is a JSON object like"):
        parse_label_map(str(tmp_path / "map.json"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_map": {"a": "helth"}}, r"'a' the class 'helth' \(did you mean 'health'\?\); use health, politics"),
        ({"label_map": {"a b": "health", "A_B": "politics"}}, "'A_B' two classes: health and politics"),
        ({"classes": ("health", "sport")}, "no class is called 'sport'"),
        ({"classes": ("health",)}, "at least two classes"),
        ({"columns": {"author": "by"}}, "no column is called 'author'"),
    ],
)
def test_options_that_cannot_be_are_errors(options, message):
    with pytest.raises(InputError, match=message):
        FileOptions(**options)


def test_options_become_words_of_a_command():
    options = FileOptions(
        columns={"text": "body"}, label_map={"a": "health"}, classes=("health", "politics"), on_bad_line=print
    )
    assert options.arguments() == [
        *("--text-column", "body", "--label-map", "a=health", "--classes", "health,politics", "--skip-bad")
    ]
    assert FileOptions().arguments() == []


@pytest.mark.parametrize("label", ["a,b=c", "a=b", "{", '{"a', " a ", "", "é\n,"])
def test_options_are_read_back_from_their_words_whatever_the_labels(label):
    options = FileOptions(label_map={label: "health", "x": "politics"})
    assert options_of(options.arguments()) == options


@given(st.text("aÉß _-\t", max_size=9))
def test_a_normal_label_is_normal(label):
    assert normal(normal(label)) == normal(label)


VALUES = st.none() | st.booleans() | st.integers() | st.text("ab é", max_size=5) | st.sampled_from(NAMES)
KEYS = st.sampled_from(["text", "label", "split"])


@given(st.recursive(VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner), max_leaves=6))
def test_any_json_line_is_a_page_or_an_error_of_one_line(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(json.dumps(value) + "\n")
    try:
        pages = list(own_pages(path, FileOptions()))
        assert all(0 <= page.label < 6 and isinstance(page.page.text, str) for page in pages)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017
