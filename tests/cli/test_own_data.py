"""The commands that read the user's own data."""

import json
import re
import sys

import pytest
from typer.testing import CliRunner

from eitr import cli
from eitr.datasets import read_examples
from tests.datasets.own_files import rows, write, write_folder

NAMES = {"health": "doctor", "politics": "politics", "non-sensitive": "news"}
MAP = "news=non-sensitive,doctor=health"


def invoke(*arguments):
    return CliRunner().invoke(cli.app, list(map(str, arguments)), catch_exceptions=True)


def own_rows(count=60):
    """Return rows with columns and labels of other names."""
    return [
        {"title": row["title"], "body": row["text"], "topic": NAMES.get(row["label"], row["label"])}
        for row in rows(count)
    ]


COLUMNS = ("--text-column", "body", "--label-column", "topic", "--label-map", MAP)


def test_a_check_says_what_it_found(tmp_path):
    path = write(tmp_path / "pages.csv", own_rows())
    result = invoke("data", "check", path, *COLUMNS)
    assert result.exit_code == 0, result.output
    assert "csv, 60 pages" in result.output
    assert re.search(r"health +8 +2\n", result.output)
    assert "split: drawn with seed 0" in result.output
    assert "The lab can use these data." in result.output


def test_a_check_for_machines(tmp_path):
    path = write(tmp_path / "pages.csv", own_rows())
    result = invoke("data", "check", path, *COLUMNS, "--json")
    told = json.loads(result.output)
    assert (told["usable"], told["pages"], told["classes"]["health"]) == (True, 60, {"train": 8, "test": 2})
    result = invoke("data", "check", path, "--json")
    told = json.loads(result.output)
    assert (result.exit_code, told["usable"]) == (2, False)
    assert "lacks the column 'label'; it has title, body, topic" in told["problems"][0]


def test_a_check_names_bad_lines_and_ends_with_status_2_unless_they_are_left_out(tmp_path):
    bad = [{"title": "x", "body": "y", "topic": ""}] * 23
    path = write(tmp_path / "pages.csv", own_rows() + bad)
    result = invoke("data", "check", path, *COLUMNS)
    assert result.exit_code == 2
    assert "bad line: " in result.output
    assert "line 62: the column 'topic' holds no label" in result.output
    assert "and 3 more bad lines" in result.output
    assert "bad lines: 23; correct them, or leave them out with --skip-bad" in result.output
    left_out = invoke("data", "check", path, *COLUMNS, "--skip-bad")
    assert left_out.exit_code == 0
    assert "left out: " in left_out.output


def test_a_title_in_a_message_cannot_steer_the_terminal(tmp_path):
    path = write(tmp_path / "pages.csv", [*own_rows(), {"title": "x", "body": "y", "topic": "\x1b[31mred"}])
    assert "\x1b" not in invoke("data", "check", path, *COLUMNS).output


def test_own_data_become_a_file_for_a_bare_machine(tmp_path):
    path = write(tmp_path / "pages.csv", [*own_rows(), {"title": "x", "body": "y", "topic": ""}])
    result = invoke("data", "prepare", path, *COLUMNS, "--skip-bad", "--out", tmp_path / "a.npz")
    assert result.exit_code == 0, result.output
    assert "48 pages to train on, 12 to test on" in result.stderr
    assert "line 62" in result.stderr
    assert result.stderr.splitlines()[-1] == "1 bad line was left out"
    assert read_examples(tmp_path / "a.npz").name.startswith("pages@")


def test_own_data_are_divided_among_clients(tmp_path):
    folder = write_folder(tmp_path / "saved-pages", rows(24))
    result = invoke("data", "partition", folder, "--clients", 3, "--out", tmp_path / "a.svg")
    assert result.exit_code == 0, result.output
    assert "3 clients with" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prepare", "pages.csv", "--out", "a.npz"], "lacks the column 'label'; it has title, body, topic"),
        (["prepare", "pages.csv", *COLUMNS[:4], "--out", "a.npz"], "'doctor' on line 2 and 9 more"),
        (["check", "builtin", "--label-map", "a=b"], "the label map gives 'a' the class 'b'"),
        (["check", "pages.csv", "--classes", "health,sprot"], "no class is called 'sprot'"),
        (["check", "pages.csv", "--label-map", "gone.json"], "gone.json: No such file"),
        (["check", "nonsense"], "no data set is called 'nonsense'"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(arguments, message, tmp_path, capsys, monkeypatch):
    write(tmp_path / "pages.csv", own_rows())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["eitr", "data", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert message in said
    assert len(said.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["pages.csv"]


def test_help_has_examples():
    assert "Example" in invoke("data", "check", "--help").output
