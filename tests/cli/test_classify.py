import gzip
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eitr import __version__, cli
from eitr.cli import commands
from eitr.cli.classify import LANGUAGE_NAMES, _Classified, _print_line, _print_prediction
from eitr.errors import InputError
from eitr.model.answer import NOT_ENGLISH, CannotTell
from eitr.model.classifier import Prediction
from eitr.taxonomy import NAMES

EITR = Path(sys.executable).with_name("eitr")
SAMPLE = str(files("eitr").joinpath("assets", "sample.html"))


def run(*arguments, given=b""):
    return subprocess.run([EITR, *arguments], input=given, capture_output=True, check=False, timeout=120)


def invoke(*arguments):
    return CliRunner().invoke(cli.app, list(arguments), catch_exceptions=True)


def test_the_sample_page_is_about_health_and_says_why():
    result = invoke("classify", SAMPLE)
    assert result.exit_code == 0
    assert "Health" in result.output
    assert "diabetes" in result.output
    assert "carburettor" not in result.output  # stands in a hidden element


def test_json_has_the_label_six_probabilities_and_as_many_words_as_asked_for():
    verdict = json.loads(invoke("classify", SAMPLE, "--json", "--words", "3").output)
    assert verdict["label"] == "health"
    assert list(verdict["probabilities"]) == list(NAMES)
    assert sum(verdict["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert [word["weight"] for word in verdict["words"]] == sorted(
        (word["weight"] for word in verdict["words"]), reverse=True
    )
    assert len(verdict["words"]) == 3
    assert (verdict["shown"], verdict["cannot_tell"], verdict["language"]) == ("health", None, "en")
    assert verdict["known_words"] > 3


def test_a_page_of_which_the_model_cannot_tell_is_never_called_harmless(tmp_path):
    dutch = "De kliniek heeft een nieuwe arts, en die is er ook voor wie niet verzekerd is of dat niet wil."
    (tmp_path / "a.html").write_text(dutch)
    (tmp_path / "b.html").write_text("<p>xyzzy")
    output = invoke("classify", str(tmp_path / "a.html")).output
    assert "Cannot tell: the page is in a language the model does not know." in output
    assert "Words that led to it" not in output
    first, second = invoke("classify", str(tmp_path)).output.splitlines()
    assert first.startswith("cannot tell  ")
    assert first.endswith("a.html  (the page is in a language the model does not know)")
    assert second.endswith("b.html  (the model knows no word of the page)")
    rows = [json.loads(line) for line in invoke("classify", str(tmp_path), "--json").output.splitlines()]
    assert [(row["shown"], row["cannot_tell"]) for row in rows] == [(None, "language"), (None, "words")]


def unclear(label: str, chance: float, why: CannotTell, known_words: int, language: str) -> _Classified:
    chances = dict.fromkeys(NAMES, 0.1) | {label: chance}
    return _Classified("a.html", "", Prediction(label, chances, None, why, known_words, language), [])


def test_an_answer_that_is_not_sure_enough_says_how_sure(capsys):
    found = unclear("health", 0.4499, "close", 5, "en")
    _print_prediction(found, words=8)
    _print_line(found, words=8)
    output = " ".join(capsys.readouterr().out.split())
    assert "Cannot tell: most probably health, but only 44 % sure, where 45 % are needed." in output
    assert "(a page without a title)" in output
    assert output.endswith("a.html (most probably health, but only 44 % sure, where 45 % are needed)")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (
            unclear("politics", 0.55, "close", 5, "de"),
            "most probably politics, but only 55 % sure, where 60 % are needed",
        ),
        (
            unclear("non-sensitive", 0.45, "close", 5, "en"),
            "most probably not sensitive, but only 45 % sure, where 50 % are needed",
        ),
        (unclear("politics", 0.7, "words", 1, "en"), "the model knows only one word of the page"),
        (
            unclear("non-sensitive", 0.99, "words", 17, "de"),
            "it seems not to be sensitive, but the model knows too little German to be sure",
        ),
    ],
)
def test_the_reason_why_the_model_cannot_tell_is_the_true_one(found, reason):
    assert found.why_not() == reason


def test_every_language_that_is_no_reason_by_itself_has_a_name():
    assert set(LANGUAGE_NAMES) == NOT_ENGLISH


def test_no_words_are_claimed_to_be_missing_when_none_are_asked_for():
    output = invoke("classify", SAMPLE, "--words", "0").output
    assert "Health" in output
    assert "words" not in output.lower()


def test_at_most_eight_words_are_named_and_all_spoke_for_the_label():
    result = run("classify", SAMPLE, "--json", "--words", "50")
    found = json.loads(result.stdout)["words"]
    assert 1 <= len(found) <= 8
    assert all(word["weight"] > 0 for word in found)
    assert result.stderr.decode() == "--words 50: no more than 8 words are printed\n"


def test_several_files_and_folders_get_a_line_each(tmp_path):
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "a.html").write_text("<title>Vote</title><p>The senate and the president debate the election")
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"insulin and blood sugar"))
    (folder / "notes.csv").write_text("not a page")
    lines = invoke("classify", SAMPLE, str(folder)).output.splitlines()
    assert [line.split()[0] for line in lines] == ["health", "politics", "health"]
    assert f"{folder}/a.html" in lines[1]
    assert "senate" in lines[1]
    objects = [json.loads(line) for line in invoke("classify", SAMPLE, str(folder), "--json").output.splitlines()]
    assert [(one["file"], one["label"]) for one in objects] == [
        (SAMPLE, "health"),
        (f"{folder}/a.html", "politics"),
        (f"{folder}/b.txt.gz", "health"),
    ]


def test_bad_files_are_left_out_and_named_unless_the_job_is_strict(tmp_path):
    bad = {
        "a.html": (b"%PDF-1.7", "not a page: this is a PDF document"),
        "b.html": (b"\x89PNG\r\n\x1a\n", "not a page: this is an image"),
        "c.html.gz": (b"<p>insulin", "the name ends in .gz, but the file is not gzip: rename it"),
        "d.html": (b"", "not a page: there is nothing in it"),
    }
    for name, (content, _) in bad.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "e.html").write_text("<p>insulin for diabetes patients", "utf-16")
    result = run("classify", str(tmp_path))
    assert result.returncode == 2
    assert result.stdout.decode().split()[0] == "health"
    *left_out, total = result.stderr.decode().splitlines()
    assert left_out == [f"left out: {tmp_path}/{name}: {message}" for name, (_, message) in bad.items()]
    assert total == "error: 4 of 5 files were left out"
    strict = run("classify", str(tmp_path), "--strict")
    assert (strict.returncode, strict.stdout) == (2, b"")
    assert strict.stderr.decode() == f"error: {tmp_path}/a.html: not a page: this is a PDF document\n"


def test_a_source_that_has_no_page_does_not_end_the_job(tmp_path):
    for name in ("empty", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "a.html").write_text("<p>insulin for diabetes patients")
    (tmp_path / "circle.html").symlink_to("circle.html")
    sources = [str(tmp_path / name) for name in ("empty", "circle.html", "x" * 300, "full")]
    result = run("classify", *sources)
    assert result.returncode == 2
    assert result.stdout.decode().split()[0] == "health"
    *left_out, total = result.stderr.decode().splitlines()
    assert sorted(left_out) == [
        f"left out: {sources[1]}: Too many levels of symbolic links",
        f"left out: {sources[0]}: the folder has no file that ends in .html, .htm, .xhtml, .txt or these and .gz",
        f"left out: {sources[2]}: File name too long",
    ]
    assert total == "error: 3 of 4 files were left out"
    strict = run("classify", *sources, "--strict")
    assert (strict.returncode, strict.stdout) == (2, b"")
    alone = run("classify", sources[1])
    assert alone.stderr.decode() == f"error: {sources[1]}: Too many levels of symbolic links\n"


def test_a_page_comes_in_by_standard_input():
    result = run("classify", "-", "--json", given=Path(SAMPLE).read_bytes())
    assert (result.returncode, json.loads(result.stdout)["label"]) == (0, "health")


def test_many_rows_give_a_line_each(tmp_path):
    rows = tmp_path / "rows.jsonl.gz"
    rows.write_bytes(
        gzip.compress(b'{"title": "Election: parliament votes", "id": 1}\n{"text": "insulin dose", "id": 2}\n')
    )
    result = run("classify", "--jsonl", str(rows))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["id"], row["label"]) for row in found] == [(1, "politics"), (2, "health")]


def test_bad_lines_are_left_out_reported_and_counted_in_the_exit_status(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "insulin"}\n' + "nonsense\n" * 30 + '{"text": "insulin"}\n')
    result = run("classify", "--jsonl", str(rows))
    assert result.returncode == 2
    assert [json.loads(line)["line"] for line in result.stdout.splitlines()] == [1, 32]
    reported = result.stderr.decode().splitlines()
    assert reported[0] == f"left out: {rows}: line 2 is not JSON"
    assert reported[-1] == f"error: {rows}: 30 bad lines were left out"
    assert len(reported) == 21


def test_a_strict_job_ends_at_the_first_bad_line(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "insulin"}\nnonsense\n{"text": "insulin"}\n')
    result = run("classify", "--jsonl", str(rows), "--strict")
    assert result.returncode == 2
    assert [json.loads(line)["line"] for line in result.stdout.splitlines()] == [1]
    assert result.stderr.decode() == f"error: {rows}: line 2 is not JSON\n"


def test_a_reader_that_has_seen_enough_ends_it_quietly(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "insulin"}\n' * 20_000)
    command = f'"{EITR}" classify --jsonl "{rows}" | head -n 1'
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["classify"], "give pages"),
        (["classify", "a.html", "--jsonl", "b.jsonl"], "give pages"),
        (["classify", "absent.html"], "absent.html: No such file"),
        (["classify", "--jsonl", "absent.jsonl"], "absent.jsonl: No such file"),
        (["vocabulary", "absent.jsonl", "--out", "v.json"], "absent.jsonl: No such file"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(arguments, message, tmp_path):
    result = subprocess.run([EITR, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_picture_is_not_a_page(tmp_path):
    (tmp_path / "page.html").write_bytes(b"\x89PNG\r\n\x1a\n")
    result = invoke("classify", str(tmp_path / "page.html"))
    assert isinstance(result.exception, InputError)
    assert "an image" in str(result.exception)


def test_a_vocabulary_is_chosen_centrally_or_by_clients(tmp_path):
    paths = [tmp_path / f"{name}.jsonl" for name in ("ann", "bob", "eve")]
    for path in paths:
        path.write_text(json.dumps({"text": f"fever cough {path.stem}only"}) + "\n")
    for extra in ([], ["--federated"]):
        out = tmp_path / "vocabulary.json"
        assert invoke("vocabulary", *map(str, paths), "--out", str(out), "--size", "2", *extra).exit_code == 0
        assert set(json.loads(out.read_text())["words"]) == {"cough", "fever"}


def test_version_and_help_are_there():
    assert invoke("--version").output.strip() == __version__
    for command in ("classify", "aggregate", "rules", "vocabulary"):
        assert "Example" in invoke(command, "--help").output


def test_errors_reach_people_as_one_line(monkeypatch, capsys):
    def broken():
        raise InputError("a message\nof two lines")

    monkeypatch.setattr(commands, "app", broken)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: a message of two lines\n"


def test_an_output_that_cannot_be_written_is_one_line(monkeypatch, capsys):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(commands, "app", full)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: cannot write the output: No space left on device\n"


def test_a_title_cannot_steer_the_terminal(tmp_path):
    page = tmp_path / "page.html"
    page.write_bytes("<title>a\x1b]0;pwn\x07b&#27;[2Jc\u202ed</title><p>insulin".encode())
    output = invoke("classify", str(page)).output
    assert "a]0;pwnb[2Jcd" in output
    assert "\x1b" not in output


def test_rows_come_through_a_pipe_and_as_gzip_through_standard_input(tmp_path):
    rows = b'{"text": "insulin", "odd": "\\ud800"}\n'
    piped = subprocess.run(
        ["bash", "-c", f'"{EITR}" classify --jsonl <(cat)'], input=rows, capture_output=True, check=False
    )
    packed = run("classify", "--jsonl", "-", given=gzip.compress(rows))
    for result in (piped, packed):
        assert json.loads(result.stdout)["label"] == "health"
        assert result.stderr == b""
