"""What `eitr data check` finds: counts, duplicates, bad lines, problems."""

from dataclasses import replace

import pytest

from eitr.datasets import load, save_examples
from eitr.datasets.own import check as module
from eitr.datasets.own.check import check
from eitr.datasets.own.options import FileOptions
from eitr.errors import InputError
from eitr.taxonomy import NAMES

from .own_files import rows, write, write_folder

SKIP = FileOptions(on_bad_line=lambda error: None)


def found(path, content, options=None):
    return check(str(write(path, content)), options or FileOptions())


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "csv.gz"])
def test_good_data_are_counted_by_class_and_split_as_the_lab_divides_them(tmp_path, form):
    findings = found(tmp_path / f"pages.{form}", rows())
    assert (findings.usable, findings.format, findings.pages) == (True, form.removesuffix(".gz"), 60)
    assert findings.classes == {name: {"train": 8, "test": 2} for name in NAMES}
    assert findings.split == "drawn with seed 0"
    assert (findings.words, findings.words_per_page) == (96, 6.0)
    assert (findings.empty_pages, findings.duplicates, findings.bad_lines) == (0, 0, 0)
    examples = load(tmp_path / f"pages.{form}")
    assert findings.classes["health"]["test"] == int((examples.test & (examples.labels == 0)).sum())


def test_a_folder_is_checked(tmp_path):
    findings = check(str(write_folder(tmp_path / "folder", rows())), FileOptions())
    assert (findings.usable, findings.format, findings.pages) == (True, "folder", 60)


def test_the_split_of_the_data_is_told_from_ours(tmp_path):
    marked = [row | {"split": "test" if number % 12 < 6 else "train"} for number, row in enumerate(rows())]
    assert found(tmp_path / "a.jsonl", marked).split == "in the data"
    assert found(tmp_path / "b.jsonl", marked + rows()).split == "partly in the data"


def test_pages_that_occur_twice_are_counted(tmp_path):
    first = [row | {"split": "train"} for row in rows()]
    again = [row | {"split": "test"} for row in rows(6)] + [first[0]]
    other = [row | {"split": "train", "label": "politics"} for row in rows(1)]
    findings = found(tmp_path / "a.csv", first + again + other)
    assert findings.duplicates == 8
    assert findings.test_pages_seen_in_training == 6
    assert findings.duplicates_of_other_class == 1
    assert findings.usable


def test_pages_without_words_are_counted_and_are_no_duplicates(tmp_path):
    findings = found(tmp_path / "a.csv", rows() + rows(3, title="", text="1 2 3"))
    assert (findings.empty_pages, findings.duplicates, findings.usable) == (3, 0, True)


def test_pages_to_train_on_without_words_are_a_problem_as_they_are_for_the_lab(tmp_path):
    marked = [row | {"text": "1 2", "split": "train"} | {"title": ""} for row in rows(6)]
    path = write(tmp_path / "a.csv", marked + [row | {"split": "test"} for row in rows(6)])
    with pytest.raises(InputError) as refused:
        load(path)
    assert check(str(path), FileOptions()).problems == [str(refused.value)]
    assert "have no words: add pages with text" in str(refused.value)


def test_bad_lines_are_named_and_make_data_unusable_unless_they_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_NAMED", 2)
    path = tmp_path / "a.csv"
    content = rows() + rows(3, label="")
    findings = found(path, content)
    assert (findings.pages, findings.bad_lines, findings.usable) == (60, 3, False)
    assert findings.named_bad_lines == [
        f"{path}: line {line}: the column 'label' holds no label: give the page one" for line in (62, 63)
    ]
    assert found(path, content, SKIP).usable


def test_unknown_labels_are_a_problem_even_where_bad_lines_are_left_out(tmp_path):
    findings = found(tmp_path / "a.csv", rows() + rows(2, label="sport"), SKIP)
    assert (findings.pages, findings.usable) == (60, False)
    (problem,) = findings.problems
    assert "'sport' on line 62 and 1 more" in problem


def test_classes_with_too_few_pages_are_problems(tmp_path):
    findings = found(tmp_path / "a.csv", rows(12, classes=NAMES[:5])[:6])
    assert not findings.usable
    assert "no page of the class non-sensitive" in findings.problems[0]
    assert "the class politics has too few pages (1 to train on, 0 to test on)" in findings.problems[1]


@pytest.mark.parametrize("name", ["gone.csv", "."])
def test_what_cannot_be_read_is_a_problem(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    findings = check(name, FileOptions())
    assert (findings.pages, findings.usable, len(findings.problems)) == (0, False, 1)


def test_prepared_files_and_data_sets_are_checked_too(tmp_path):
    write(tmp_path / "news_rows.jsonl", rows())
    named = check("news-rows", FileOptions(), data_dir=tmp_path)
    assert (named.format, named.pages, named.usable) == ("data set", 60, True)
    save_examples(load("news-rows", data_dir=tmp_path), tmp_path / "a.npz")
    prepared = check(str(tmp_path / "a.npz"), FileOptions())
    assert (prepared.format, prepared.usable, prepared.classes) == ("npz", True, named.classes)
    assert (prepared.words, prepared.split) == (96 - 12, "in the data")
    with pytest.raises(InputError, match="no data set is called"):
        check("nonsense", FileOptions())
    for name in ("news-rows", str(tmp_path / "a.npz")):
        with pytest.raises(InputError, match="has its own columns and labels: leave out --label-map"):
            check(name, FileOptions(label_map={"a": "health"}), data_dir=tmp_path)


def test_a_prepared_file_of_other_classes_is_refused_as_the_lab_does(tmp_path):
    examples = replace(load("builtin", size=100, words=20), classes=tuple("abcdef"))
    save_examples(examples, tmp_path / "a.npz")
    with pytest.raises(InputError, match="has the classes a, b, c, d, e, f, not health"):
        check(str(tmp_path / "a.npz"), FileOptions())
