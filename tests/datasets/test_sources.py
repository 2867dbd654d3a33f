import gzip
import json

import numpy as np
import pytest

from eitr.datasets import SOURCES, load, save_examples
from eitr.datasets.cifar10 import load_images
from eitr.errors import InputError
from eitr.taxonomy import NAMES

from .softmax import accuracy

FILES = {"news-rows": "news_rows", "news-sections": "news_sections", "newsgroups": "newsgroups", "covid": "covid_pages"}


def rows(count=60, **changes):
    return [
        {"title": f"about {NAMES[number % 6]}", "text": "snow and sun", "label": NAMES[number % 6]}
        | {"split": "test" if number % 5 == 0 else "train"}
        | changes
        for number in range(count)
    ]


def write(folder, content, name="news_rows"):
    data = "".join(json.dumps(row) + "\n" for row in content).encode()
    (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(data))


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_says_what_it_is_in_one_line_each(name):
    source = SOURCES[name]
    assert source.name == name
    for text in (source.summary, source.licence, *([source.needs] if name != "builtin" else [])):
        assert text
        assert "\n" not in text


def test_rows_become_examples_with_the_split_of_the_file(tmp_path):
    write(tmp_path, rows())
    examples = load("news-rows", data_dir=tmp_path)
    assert len(examples) == 60
    assert examples.labels.tolist() == [number % 6 for number in range(60)]
    assert examples.test.tolist() == [number % 5 == 0 for number in range(60)]
    assert "snow" in examples.words


def test_rows_without_a_split_are_split_by_us(tmp_path):
    write(tmp_path, rows(split=None))
    assert load("news-rows", data_dir=tmp_path).test.sum() == 12


def test_the_data_folder_may_come_from_the_environment(tmp_path, monkeypatch):
    write(tmp_path, rows())
    monkeypatch.setenv("EITR_DATA", str(tmp_path))
    assert len(load("news-rows")) == 60


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "builtin"])
def test_without_a_data_folder_one_line_says_what_is_needed(name, monkeypatch):
    monkeypatch.delenv("EITR_DATA", raising=False)
    with pytest.raises(InputError, match=r"no data folder.*EITR_DATA") as error:
        load(name)
    assert SOURCES[name].needs in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "builtin"])
def test_an_empty_data_folder_is_an_error_that_says_what_to_get_and_where_to_put_it(name, tmp_path):
    with pytest.raises(InputError, match="is missing; needed: ") as error:
        load(name, data_dir=tmp_path)
    assert str(tmp_path) in str(error.value)
    assert SOURCES[name].needs in str(error.value)


def test_a_data_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match="gone is not there"):
        load("covid", data_dir=tmp_path / "gone")
    with pytest.raises(InputError, match="gone is not there"):
        load_images(tmp_path / "gone")


def test_an_unknown_name_is_an_error_that_lists_the_known(monkeypatch):
    with pytest.raises(InputError, match="no data set is called 'nonsense'") as error:
        load("nonsense")
    assert all(name in str(error.value) for name in SOURCES)
    with pytest.raises(InputError, match="images"):
        load("cifar10")


def test_a_damaged_gzip_is_an_error(tmp_path):
    write(tmp_path, rows())
    path = tmp_path / "news_rows.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="damaged or cut off"):
        load("news-rows", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"label": None}, "line 61: a row needs a label"),
        ({"label": "sport"}, "line 61: a row needs a label"),
        ({"label": ["health"]}, "line 61: a row needs a label"),
        ({"split": "dev"}, "line 61: split must be one of train, test"),
        ({"split": ["test"]}, "line 61: split must be one of train, test"),
        ({"title": 3}, "line 61: the field 'title'"),
    ],
)
def test_a_row_with_something_wrong_is_an_error_that_names_the_line(tmp_path, changes, said):
    write(tmp_path, rows() + rows(1, **changes))
    with pytest.raises(InputError, match=said):
        load("news-rows", data_dir=tmp_path)


def test_a_file_of_no_rows_and_one_that_lacks_a_class_are_errors(tmp_path):
    write(tmp_path, [])
    with pytest.raises(InputError, match="hold no page"):
        load("news-rows", data_dir=tmp_path)
    write(tmp_path, [row for row in rows() if row["label"] != "religion"])
    with pytest.raises(InputError, match="no page of the class religion"):
        load("news-rows", data_dir=tmp_path)


def test_a_prepared_file_is_loaded_by_its_path(tmp_path):
    whole = load("builtin", size=500, difficulty=0.2)
    save_examples(whole, tmp_path / "mine.npz")
    for path in (tmp_path / "mine.npz", str(tmp_path / "mine.npz")):
        np.testing.assert_array_equal(load(path).rows.dense(), whole.rows.dense())
    some = load(tmp_path / "mine.npz", size=100)
    assert len(some) == 100
    assert some.test.sum() == 20
    assert (some.labels == 5).sum() == 50


def test_only_the_built_in_pages_have_a_difficulty(tmp_path):
    write(tmp_path, rows())
    with pytest.raises(InputError, match="no difficulty"):
        load("news-rows", data_dir=tmp_path, difficulty=0.5)
    assert len(load("builtin", size=100)) == 100


@pytest.mark.parametrize(
    ("name", "size", "test"),
    [("news-rows", 14_584, 2917), ("newsgroups", 19_155, 3839), ("covid", 400, 100)],
)
def test_real_data_are_read_whole(shared_data, name, size, test):
    if not (shared_data / f"{FILES[name]}.jsonl.gz").is_file():
        pytest.skip(f"{name} is not in {shared_data}")
    marks = [labelled.test for labelled in SOURCES[name].pages(shared_data)]
    assert (len(marks), sum(marks)) == (size, test)


@pytest.mark.long
def test_real_news_score_as_their_baseline_says(shared_data):
    if not (shared_data / "news_sections.jsonl.gz").is_file():
        pytest.skip(f"news_sections is not in {shared_data}")
    examples = load("news-sections", data_dir=shared_data)
    assert examples.rows.width == 1000
    assert 0.84 < accuracy(examples) < 0.9
