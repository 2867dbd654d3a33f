"""Rules, attacks, data sets and experiments of files and packages outside of EITR."""

import json
import os
import sys
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from eitr import cli, plugins
from eitr.aggregation import Round
from eitr.aggregation.registry import RULES, make_rule
from eitr.attacks.registry import ATTACKS, make_attack
from eitr.datasets.own.check import check
from eitr.datasets.own.options import FileOptions
from eitr.datasets.registry import SOURCES, load
from eitr.errors import InputError

RULE = """
from dataclasses import dataclass
from typing import ClassVar

from eitr.aggregation.interface import Result, Rule, uniform
from eitr.aggregation.median import Median
from eitr.settings import setting


@dataclass(frozen=True, kw_only=True)
class Mine(Rule):
    name: ClassVar[str] = "mine"
    summary: ClassVar[str] = "a mean of mine"

    scale: float = setting(1.0, "what the mean is multiplied by", above=0.0)

    def _aggregate(self, state, round):
        weights = self.ramped(state, round, uniform(round))
        mean = self.scale * weights[round.order] @ round.updates[round.order]
        return state, Result(mean.astype(round.updates.dtype), weights)
"""
OTHERS = """
from dataclasses import dataclass
from typing import ClassVar

from eitr.attacks.model_poisoning import ModelPoisoning
from eitr.datasets.builtin import SOURCE as GENERATED
from eitr.datasets.interface import Labelled, Source
from eitr.pages.page import Page
from eitr.taxonomy import NAMES


@dataclass(frozen=True, kw_only=True)
class Silence(ModelPoisoning):
    name: ClassVar[str] = "silence"
    summary: ClassVar[str] = "attackers send the global model back"

    def craft(self, scene):
        return scene.base.expand_as(scene.mine).clone()


def pages(folder):
    for number in range(60):
        label = number % len(NAMES)
        yield Labelled(Page(title=NAMES[label], text=f"page {number} about {NAMES[label]}"), label, number % 5 == 0)


SET = Source(name="my-pages", summary="pages of mine", needs="", licence="CC0", pages=pages)
"""


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    """Forget what a test loads."""
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(plugins, "_waiting", {})
    monkeypatch.setattr(plugins, "_packages", {})
    for registry in (RULES, ATTACKS, SOURCES):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
        monkeypatch.setattr(registry, "_installed", None)
    monkeypatch.delenv(plugins.VARIABLE, raising=False)


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    (folder / name).write_text(text)
    return folder / name


def install(monkeypatch, *points: EntryPoint) -> None:
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point for point in points if point.group == group])


def invoke(*arguments):
    return CliRunner().invoke(cli.app, list(map(str, arguments)), catch_exceptions=True)


def test_a_file_brings_everything_it_defines_and_nothing_it_imports(tmp_path):
    plugins.load_plugin(write(tmp_path, RULE))
    plugins.load_plugin(write(tmp_path, OTHERS, "others.py"))
    assert repr(make_rule("mine", scale=2.0)) == "Mine(ramp=0, scale=2.0)"
    assert make_attack("silence").extra_epochs == 0
    assert len(load("my-pages", words=20)) == 60
    assert [list(registry)[-1] for registry in (RULES, ATTACKS, SOURCES)] == ["mine", "silence", "my-pages"]
    assert plugins.loaded_files().keys() == {"mine.py", "others.py"}


def test_a_file_is_loaded_once_however_often_it_is_named(tmp_path):
    path = write(tmp_path, RULE)
    plugins.load_plugin(path)
    chosen = RULES["mine"]
    plugins.load_plugin(path)
    assert RULES["mine"] is chosen


def test_files_of_the_same_name_are_all_recorded(tmp_path):
    before = {"mine.py": "the digest of an earlier one"}
    for number, name in enumerate(("a", "b")):
        (tmp_path / name).mkdir()
        plugins.load_plugin(write(tmp_path / name, RULE.replace('"mine"', f'"mine-{number}"')))
    first, second = plugins._loaded.values()
    assert plugins.loaded_files() == {"mine.py": first, "2/mine.py": second}
    assert plugins.loaded_files(before) == {**before, "2/mine.py": first, "3/mine.py": second}
    assert plugins.loaded_files({"mine.py": second}) == {"mine.py": second, "2/mine.py": first}


def test_the_variable_names_files_that_are_loaded_when_a_name_is_not_known(tmp_path, monkeypatch):
    paths = (write(tmp_path, RULE), write(tmp_path, OTHERS, "others.py"))
    monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join(map(str, paths)))
    assert RULES["median"].name == "median"
    assert plugins.loaded_files() == {}
    assert RULES["mine"].name == "mine"
    assert "silence" in ATTACKS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1 / 0", r"cannot be loaded: ZeroDivisionError: division by zero \(line 1\)"),
        ("def broken(:", "cannot be loaded: SyntaxError"),
        ("import sys\nsys.exit(3)", r"cannot be loaded: SystemExit: 3 \(line 2\)"),
        ("x = 1", "defines no rule, attack, data set or experiment"),
        (RULE.replace("mine", "median"), "there is a rule 'median' already; give it another name"),
        (RULE.replace('"mine"', '"Mine!"'), "has a name of a-z, 0-9 and hyphens, not 'Mine!'"),
        (RULE.replace('    name: ClassVar[str] = "mine"\n', ""), "needs a class variable `name`"),
        (RULE.replace("def _aggregate", "def aggregate"), "does not implement _aggregate"),
        (RULE.replace("@dataclass(frozen=True, kw_only=True)\n", ""), "write @dataclass"),
        (RULE.replace('setting(1.0, "what the mean is multiplied by", above=0.0)', "1.0"), "declare 'scale' with"),
        (RULE.replace("setting(1.0,", "setting(-1.0,"), "cannot be made with its default settings"),
    ],
)
def test_a_file_that_does_not_fit_is_one_line_that_names_it(tmp_path, monkeypatch, text, words):
    path = write(tmp_path, text)
    monkeypatch.setenv(plugins.VARIABLE, str(path))
    with pytest.raises(InputError, match=words) as error:
        list(RULES)
    assert str(error.value).startswith(f"plugin {path}")
    assert "\n" not in str(error.value)


def test_a_file_that_is_missing_or_no_python_is_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        plugins.load_plugin(tmp_path / "absent.py")
    with pytest.raises(InputError, match=r"ends with \.py"):
        plugins.load_plugin(write(tmp_path, RULE, "mine.txt"))


def test_an_entry_point_is_imported_when_its_name_is_asked_for_and_not_before(tmp_path, monkeypatch):
    write(tmp_path, RULE, "installed_rules.py")
    write(tmp_path, "1 / 0", "broken_rules.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_rules-1.2.dist-info").mkdir()
    write(tmp_path / "my_rules-1.2.dist-info", "Name: my-rules\nVersion: 1.2\n", "METADATA")
    points = "[eitr.rules]\nmine = installed_rules:Mine\nbroken = broken_rules:Broken\n"
    write(tmp_path / "my_rules-1.2.dist-info", points, "entry_points.txt")
    (package,) = distributions(path=[str(tmp_path)])
    install(monkeypatch, *package.entry_points)
    assert make_rule("median").name == "median"
    assert "installed_rules" not in sys.modules
    assert plugins.loaded_packages() == {}
    assert make_rule("mine").name == "mine"
    assert plugins.loaded_packages() == {"my-rules": "1.2"}
    with pytest.raises(InputError, match=r"'broken' in eitr\.rules of the package my-rules cannot be loaded: Zero"):
        list(RULES)
    monkeypatch.delitem(sys.modules, "installed_rules")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("median", "eitr.aggregation.median:Median", "there is a rule 'median' already; uninstall one"),
        ("other", "eitr.aggregation.median:Median", "must have the name of its rule, 'median'"),
        ("pathlike", "pathlib:Path", "is no subclass of eitr.aggregation.interface.Rule"),
        ("absent", "eitr.aggregation.absent:Rule", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_an_entry_point_that_does_not_fit_is_one_line(monkeypatch, name, value, words):
    install(monkeypatch, EntryPoint(name, value, "eitr.rules"))
    with pytest.raises(InputError, match=words) as error:
        list(RULES)
    assert f"the entry point '{name}' in eitr.rules" in str(error.value)


def test_every_command_that_looks_something_up_takes_plugins(tmp_path):
    rule, others = write(tmp_path, RULE), write(tmp_path, OTHERS, "others.py")
    assert "a mean of mine" in invoke("rules", "mine", "--plugin", rule).output
    listed = json.loads(invoke("data", "list", "--json", "--plugin", rule, "--plugin", others).output)
    assert listed[-1]["name"] == "my-pages"
    assert "cannot be read" in str(invoke("lab", "list", "--plugin", tmp_path / "absent.py").exception)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("None", "returned None: it must return the state and a Result"),
        ("Result(mean)", "returned a Result: it must return the state and a Result"),
        ("state, None", "returned a tuple: it must return the state"),
        ("state, Result(None)", r"returned None as model: it must be of shape \(3,\)"),
        ("state, Result(mean[:1])", r"returned an array of shape \(1,\) as model: it must be of shape \(3,\)"),
        ("state, Result(mean, mean)", r"returned an array of shape \(3,\) as weights: it must be of shape \(2,\)"),
    ],
)
def test_a_rule_that_returns_something_else_is_one_line_that_names_it(tmp_path, returned, words):
    text = RULE.replace("return state, Result(mean.astype(round.updates.dtype), weights)", f"return {returned}")
    plugins.load_plugin(write(tmp_path, text))
    rule = make_rule("mine")
    with pytest.raises(InputError, match=f"the rule 'mine' {words}"):
        rule.update(rule.init(), Round(None, np.ones((2, 3)), ["ann", "bob"]))


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        ("None", " gives a NoneType: `pages` must be a generator"),
        ("[1]", r": page 1 must be Labelled\(page, label, test\)"),
        ("[('text', 0, None)]", ": page 1 must be .* with a Page"),
        ("[Labelled(Page(text='a'), np.int64(5), np.True_), Labelled(Page(text='a'), 77, None)]", ": page 2 must be"),
        ("[Labelled(Page(text='a'), 1.0, None)]", ": page 1 must be .* a label from 0 to 5"),
        ("[Labelled(Page(text='a'), 0, 'test')]", ": page 1 must be .* True, False or None"),
    ],
)
def test_a_data_set_of_something_else_is_one_line_that_names_it(tmp_path, pages, words):
    text = "import numpy as np" + OTHERS.replace("pages=pages", f"pages=lambda folder: {pages}")
    plugins.load_plugin(write(tmp_path, text))
    for read in (load, lambda name: check(name, FileOptions())):
        with pytest.raises(InputError, match=f"the data set 'my-pages'{words}"):
            read("my-pages")


def test_square_brackets_in_a_summary_are_shown_as_they_are(tmp_path):
    summary = "mean of [low, high] [/x]"
    texts = (RULE.replace("a mean of mine", summary).replace("what the mean", "[/x] what"),
             OTHERS.replace("pages of mine", summary))  # fmt: skip
    given = [word for number, text in enumerate(texts) for word in ("--plugin", write(tmp_path, text, f"{number}.py"))]
    for command in ("rules", "data list", "lab compare --list"):
        assert "[low, high]" in invoke(*command.split(), *given).output
    assert "[/x] what is multiplied" in " ".join(invoke("rules", "mine", *given).output.split())


def test_a_rule_of_a_file_aggregates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "updates.npy", np.array([[1.0], [3.0]], np.float32))
    words = ["--rule", "mine", "--set", "scale=2", "--updates", "updates.npy", "--out", "o.npy", "--report", "r.json"]
    assert invoke("aggregate", *words, "--plugin", write(tmp_path, RULE)).exit_code == 0
    assert np.load(tmp_path / "o.npy").tolist() == [4.0]
