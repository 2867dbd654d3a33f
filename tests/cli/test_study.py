"""`eitr study`: from nothing to a study that people take part in."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eitr.cli import app
from eitr.errors import InputError
from eitr.server.domain.study.tasks import TaskEvent
from tests.server.study.world import World, page_list


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    World(tmp_path / "server").close()
    return tmp_path / "server"


def run(folder: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["study", *arguments, "--folder", str(folder)])
    if isinstance(done.exception, InputError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_study_is_created_filled_opened_and_closed(folder: Path, tmp_path: Path) -> None:
    run(
        folder,
        "create",
        "covid",
        "Pages about COVID-19",
        "--seed",
        "5",
        "--set",
        "reward=true",
        "--set",
        "languages=de",
    )
    run(folder, "pages", "covid", str(page_list(tmp_path / "pages.csv", 30)))
    (tmp_path / "bad.csv").write_text("url\nhttps://a.example/\nnonsense\n")
    with pytest.raises(InputError, match="line 3 has the url"):
        run(folder, "pages", "covid", str(tmp_path / "bad.csv"))
    run(folder, "open", "covid")
    codes = run(folder, "invite", "covid", "2").split()
    [link] = run(folder, "invite", "covid", "1", "--links").split()
    assert "/study/covid/start#code=" in link
    assert len({*codes, link}) == 3
    rater = run(folder, "raters", "covid", "Ada", "Grace")
    assert rater.count("/study/covid/rate#token=") == 2
    assert run(folder, "raters", "covid").split() == ["Ada", "0", "Grace", "0"]
    world = World(folder)
    study = world.studies.register.get("covid")
    assert (study.seed, study.settings.reward, study.settings.languages) == (5, True, ("de",))
    person = world.begun(codes[0], slug="covid")
    for task in world.studies.tasks.all(person.id):
        world.studies.tasks.note(person.id, task.id, TaskEvent.SKIPPED)
    code = str(world.studies.people.progress(person.id).completion_code)
    world.close()
    assert run(folder, "codes", "covid", code.lower(), "0123") == f"{code}\tvalid\n0123\tnot valid\n"
    assert run(folder, "codes", "covid", "0123", code, code.lower()).splitlines()[1] == f"{code}\tvalid, given 2 times"
    [listed] = json.loads(run(folder, "list", "--json"))
    assert (listed["study"], listed["status"], listed["invited"], listed["consented"]) == ("covid", "open", 3, 1)
    assert "covid" in run(folder, "list")
    run(folder, "close", "covid")
    with pytest.raises(InputError, match="closed"):
        run(folder, "invite", "covid", "1")


def test_mistakes_are_one_line_that_says_what_to_do(folder: Path) -> None:
    mistakes = {
        ("create", "Covid 19", "x"): "short name",
        ("create", "covid", " "): "title",
        ("create", "covid", "x", "--set", "pages_per_person=0"): "pages_per_person",
        ("create", "covid", "x", "--set", "colour=red"): "colour",
        ("create", "covid", "x", "--set", "reward"): "name=value",
        ("create", "covid", "x", "--seed", "-1"): "seed",
        ("open", "nothing"): "no study",
        ("raters", "nothing"): "no study",
        ("pages", "nothing", "nowhere.csv"): "nowhere.csv",
    }
    for arguments, told in mistakes.items():
        with pytest.raises(InputError, match=told):
            run(folder, *arguments)


def test_a_short_name_is_given_once_and_a_study_without_pages_does_not_open(folder: Path) -> None:
    run(folder, "create", "covid", "x")
    with pytest.raises(InputError, match="already"):
        run(folder, "create", "covid", "y")
    with pytest.raises(InputError, match="no page"):
        run(folder, "open", "covid")


@pytest.mark.parametrize("columns", ["20", "80", "300"])
def test_the_list_shows_whole_short_names(folder: Path, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    longest = "a-study-whose-short-name-has-40-letters-"
    run(folder, "create", longest, "Pages")
    heading, row = run(folder, "list").splitlines()
    assert row.split()[:3] == [longest, "draft", "0"]
    assert heading.split()[-2:] == ["withdrawn", "minutes"]
