"""`compare`: rules, attacks and federations of the reader's choice."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr import cli, plugins  # noqa: E402
from eitr.aggregation.registry import RULES  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from eitr.lab import compare, laboratory, open_lab  # noqa: E402
from eitr.lab.experiments.comparison_grid import Grid, ReferenceRun  # noqa: E402
from eitr.lab.results.metadata import COMPARE, LabMetadata, read_metadata  # noqa: E402
from tests.datasets.own_files import rows, write  # noqa: E402
from tests.lab.small import small_data  # noqa: E402

CHOSEN: Any = {"rules": "median,bulyan,trimmed-mean:beta=0.1", "attacks": "label-flip,ipm:epsilon=0.5,backdoor:words=3"}
SMALL: Any = {"attackers": [0.2, 0.4], "clients": [5], "rounds": 2, "steps": 2, "learning_rate": 0.1, "seeds": 1}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    data = str(small_data(folder))
    return compare(**CHOSEN, **SMALL, data=data, device="cpu", out=folder / "results")


def invoke(*arguments):
    return CliRunner().invoke(cli.app, list(map(str, arguments)), catch_exceptions=True)


def test_every_rule_meets_every_attack_and_is_run_without(finished):
    runs = [result.run for result in finished.results("compare")]
    assert len(runs) == len(set(runs))
    assert sum(isinstance(run, ReferenceRun) for run in runs) == 1
    assert {(run.rule.name, run.attackers) for run in runs if run.attack} == {
        ("median", 1), ("median", 2), ("trimmed-mean", 1), ("trimmed-mean", 2)
    }  # fmt: skip
    assert {run.rule.name for run in runs if not run.attack} == {"fedavg", "median", "bulyan", "trimmed-mean"}
    assert {getattr(run.rule, "beta", 0.1) for run in runs} == {0.1}
    assert {run.attack.epsilon for run in runs if run.attack and run.attack.name == "ipm"} == {0.5}


def test_the_table_has_every_cell_with_its_floor_and_says_where_a_rule_is_not_defined(finished):
    rows = {row[:3]: row[5:] for row in finished.table("compare").rows}
    assert len(rows) == 3 * (1 + 2 * 3)
    assert rows["bulyan", "label-flip", 0.4] == ("n/a", None, None, None, None, None)
    reference = next(one for one in finished.results("compare") if isinstance(one.run, ReferenceRun))
    for attack in ("label-flip", "backdoor:words=3"):
        assert rows["median", attack, 0.2][5] == reference[f"asr.{attack}"][-1]
    assert rows["median", "ipm:epsilon=0.5", 0.2][3:] == (None, None, None)
    assert rows["median", "none", 0.0][2] == 100 * (reference["accuracy"][-1] - rows["median", "none", 0.0][0])


def test_the_summary_names_the_worst_case_of_each_rule(finished):
    table = finished._experiment("compare").summary(finished.results("compare"))
    lost = {row[:3]: row[7] for row in finished.table("compare").rows if row[1] != "none"}
    for rule, worst, *_ in table.rows:
        mine = [value for (name, *_), value in lost.items() if name == rule and value is not None]
        assert worst == (pytest.approx(max(mine), abs=0.006) if mine else "n/a")
    # Bulyan is not defined for so many attackers, so its worst case was not seen: it must not look like a good rule.
    assert table.rows[-1][0] == "bulyan"
    assert table.rows[-1][2].endswith("n/a in 6 of 6 cases")


def test_a_report_and_a_resumption_need_nothing_but_the_folder(finished, monkeypatch):
    assert open_lab(finished.folder) == finished
    page = open_lab(finished.folder).report().read_text()
    assert "Comparison of rules under attack." in page
    assert "the paper says" not in page
    said = json.loads((finished.folder / "report.json").read_text())
    assert said["lab"]["local_work"].startswith("2 steps a round for every honest client")
    assert said["lab"]["local_work"].endswith(", 2 or 3 for attackers")
    assert said["lab"]["command"] == read_metadata(finished.folder).command_for("compare")
    assert said["lab"]["data_arguments"] == ["--data", "small.npz"]
    assert str(finished.folder.parent) not in json.dumps(said)
    assert said["experiments"][0]["verdicts"] == []
    monkeypatch.setattr(laboratory, "compute", lambda runs, *given: iter(runs))
    assert compare(out=finished.folder, resume=True, device="cpu") == finished
    assert compare("median,bulyan,trimmed-mean:beta=0.1", out=finished.folder, resume=True) == finished


def test_another_comparison_does_not_go_into_the_same_folder(finished):
    with pytest.raises(InputError, match="holds another comparison"):
        compare("median", out=finished.folder, resume=True)
    with pytest.raises(InputError, match="other settings"):
        compare(out=finished.folder, resume=True, seeds=2)


def test_results_of_a_plugin_that_changed_are_not_mixed(finished, monkeypatch):
    metadata = json.loads((finished.folder / "lab.json").read_text())
    changed = json.dumps({**metadata, "plugins": {"mine.py": "before", "2/mine.py": "same"}})
    monkeypatch.setattr(plugins, "_loaded", {Path("a/mine.py"): "after", Path("b/mine.py"): "same"})
    original = (finished.folder / "lab.json").read_text()
    (finished.folder / "lab.json").write_text(changed)
    with pytest.raises(InputError, match=r"computed with another mine\.py"):
        compare(out=finished.folder, resume=True)
    (finished.folder / "lab.json").write_text(original)


PLUGIN = """
from typing import ClassVar

from eitr.aggregation.median import Median


class Mine(Median):
    name: ClassVar[str] = "my-median"
    summary: ClassVar[str] = "a median of mine"
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Write a plugin with a rule; what is loaded in the test is forgotten after it."""
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(plugins, "_waiting", {})
    monkeypatch.setattr(RULES, "_entries", dict(RULES._entries))
    path = tmp_path / "my_rule.py"
    path.write_text(PLUGIN)
    return path


def test_a_rule_of_a_plugin_is_compared_on_own_data(plugin, tmp_path, monkeypatch):
    bad_line = {"title": "x", "body": "y", "topic": ""}
    own = [{"title": row["title"], "body": row["text"], "topic": row["label"].upper()} for row in rows(120)]
    own[0]["topic"] = "doctor, nurse"
    data = write(tmp_path / "pages.csv", [*own, bad_line])
    (tmp_path / "map.json").write_text('{"doctor, nurse": "health"}')
    columns = ["--text-column", "body", "--label-column", "topic"]
    files = [*columns, "--label-map", tmp_path / "map.json", "--skip-bad"]
    small = ["--clients", 5, "--attackers", 0.2, "--rounds", 2, "--steps", 2, "--seeds", 1, "--device", "cpu"]
    out = ["--out", tmp_path / "lab"]
    chosen = ["--rule", "median,my-median", "--attack", "shift", *small]
    done = invoke("lab", "compare", *chosen, "--data", data, *files, "--plugin", plugin, *out)
    assert done.exit_code == 0, (done.output, done.exception)
    accuracy = {row[:2]: row[5] for row in open_lab(tmp_path / "lab").table("compare").rows}
    assert accuracy["my-median", "shift"] == accuracy["median", "shift"] > 0
    told = json.loads((tmp_path / "lab" / "lab.json").read_text())
    assert told["data"].startswith("pages@")
    assert told["plugins"].keys() == {"my_rule.py"}
    shown = " ".join([*columns, "--label-map", """'{"doctor, nurse": "health"}'""", "--skip-bad"])
    assert f"--data pages.csv {shown} --seeds 1 --plugin my_rule.py --out results" in told["command"]
    assert str(tmp_path) not in (tmp_path / "lab" / "report.json").read_text()

    monkeypatch.setattr(laboratory, "compute", lambda runs, *given: iter(runs))
    resumed = invoke("lab", "compare", *out, "--resume", "--device", "cpu", "--plugin", plugin)
    assert resumed.exit_code == 0, (resumed.output, resumed.exception)
    assert json.loads((tmp_path / "lab" / "lab.json").read_text()) == told
    # Earlier versions wrote the name of a file that there was not: the options can be given again.
    stored = told["data_arguments"]
    stored[stored.index("--label-map") + 1] = "label-map.json"
    (tmp_path / "lab" / "lab.json").write_text(json.dumps(told))
    again = invoke("lab", "compare", *out, "--resume", "--device", "cpu", "--plugin", plugin, *files)
    assert again.exit_code == 0, (again.output, again.exception)
    write(data, own[:-1])
    refused = invoke("lab", "compare", *out, "--resume", "--plugin", plugin)
    assert "holds results of other settings" in str(refused.exception)
    write(data, [*own, bad_line])
    monkeypatch.setattr(plugins, "_loaded", {plugin.with_name("renamed.py"): "another digest"})
    with pytest.raises(InputError, match=r"computed with another my_rule\.py"):
        compare(out=tmp_path / "lab", resume=True)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rules": ()}, "at least one rule"),
        ({"attacks": ()}, "at least one attack"),
        ({"rules": ("median", "median")}, "each once"),
        ({"attackers": (0.0,)}, "shares of the clients"),
        ({"attackers": (0.01,)}, "0.01 of 10 clients is nobody"),
        ({"rules": ("nonsense",)}, "there is no rule 'nonsense'"),
        ({"rules": ("median:x=1",)}, "'median' has no setting 'x'"),
        ({"attacks": ("ipm:epsilon=x",)}, "epsilon must be a number"),
        ({"attacks": ("ipm:delta=1",)}, "'ipm' has no setting 'delta'"),
        ({"steps": 0}, "at least 1"),
        ({"alpha": (0.0,)}, "above 0"),
        ({"alpha": (float("inf"),)}, "finite and above 0"),
        ({"learning_rate": 10**400}, "finite and above 0"),
        ({"rounds": 10**7}, "at least 1 and at most 1000000"),
        ({"clients": (10**400,)}, "at least 1 and at most 1000000"),
        ({"participation": (0.5, 0.0)}, "the participation is a share of the clients, above 0, at most 1"),
        ({"participation": (1.5,)}, "the participation is a share of the clients"),
        ({"participation": (float("nan"),)}, "the participation is a share of the clients"),
    ],
)
def test_a_grid_that_makes_no_sense_is_one_line(changes, words):
    with pytest.raises(InputError, match=words):
        Grid(**{"rules": ("median",), "attacks": ("shift",), **changes})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rounds": "9"}, "rounds must be a whole number, not '9'"),
        ({"attackers": 0.3}, "attackers must be a list of numbers, not 0.3"),
        ({"rules": ["median", 3]}, "rules must be a list of texts"),
        ({"clients": [True]}, "clients must be a list of whole numbers"),
        ({"round": 9}, "a comparison has rules, .*, not round"),
    ],
)
def test_values_of_a_grid_of_another_type_are_one_line(change, words):
    good = Grid(rules=("median",), attacks=("shift",)).as_json()
    with pytest.raises(InputError, match=words):
        Grid.from_json(good | change)


def test_the_command_line_passes_everything_on_and_its_command_is_one_it_takes(monkeypatch):
    asked: dict[str, Any] = {}
    monkeypatch.setattr(
        "eitr.lab.laboratory.compare", lambda *rules, **more: asked.update(more, rules=rules) or exit(0)
    )
    settings: Any = {"clients": (10, 50), "rounds": 7, "participation": (0.1, 0.5)}
    grid = Grid(rules=("fused", "median"), attacks=("ipm:epsilon=0.5",), **settings).as_json()
    written = LabMetadata(experiments=[COMPARE], profile=COMPARE, data="builtin", seeds=2, grid=grid)
    words = written.command_for(COMPARE, resume=True).split()
    assert invoke(*words[1:]).exit_code == 0
    assert asked["rules"] == ("fused,median", "ipm:epsilon=0.5")
    told = [asked[name] for name in ("clients", "attackers", "alpha", "rounds", "steps", "seeds", "data", "resume")]
    assert told == [[10, 50], [0.3], [0.9], 7, 150, 2, "builtin", True]
    assert asked["participation"] == [0.1, 0.5]


def test_some_clients_take_part_and_the_table_says_which_share(tmp_path):
    chosen: Any = {"rules": "median,multi-krum,fedavg", "attacks": "label-flip", "clients": [10], "attackers": [0.4]}
    small = {**SMALL, **chosen, "participation": [0.5, 1.0]}
    done = compare(**small, data=str(small_data(tmp_path)), device="cpu", out=tmp_path / "results")
    table = done.table("compare")
    assert table.columns[4:7] == ("alpha", "participation", "accuracy")
    assert {(row[1], row[5]) for row in table.rows} == {(a, p) for a in ("none", "label-flip") for p in (0.5, 1.0)}
    assert len({row[:6] for row in table.rows}) == len(table.rows) == 12
    told = {run.participants: run.rule.attackers for run in _runs(done) if run.rule.name == "multi-krum" and run.attack}
    assert told == {}  # not defined for 2 attackers among 5 participants, nor for 4 among 10
    references = [run for run in _runs(done) if isinstance(run, ReferenceRun)]
    assert sorted(run.participants for run in references) == [5, 10]
    comparison: Any = done._experiment("compare")
    grid = comparison.grid
    assert grid.label("label-flip", grid.settings[0]) == "label-flip, 40 %, 5 a round"
    assert "50 % or 100 % of the clients, drawn anew, take part in a round." in comparison.note
    assert "told the number to expect in a round" in comparison.note
    resumed = compare(device="cpu", out=tmp_path / "results", resume=True)
    assert str(resumed.table("compare")) == str(table)


def test_rules_are_told_the_attackers_to_expect_among_those_who_take_part():
    grid = Grid(rules=("multi-krum",), attacks=("shift",), clients=(100,), participation=(0.1, 0.2))
    runs: list[Any] = [grid.run_of("multi-krum", "shift", setting, "builtin", 0) for setting in grid.settings]
    assert [(run.participants, run.attackers, run.rule.attackers) for run in runs] == [(10, 30, 3), (20, 30, 6)]


def test_a_comparison_in_which_everybody_takes_part_is_stored_as_before():
    grid = Grid(rules=("median",), attacks=("shift",))
    assert "participation" not in grid.as_json()
    assert Grid.from_json(grid.as_json()) == grid
    run = grid.run_of("median", "shift", grid.settings[0], "builtin", 0)
    assert "participation" not in run.describe()
    # The names of result files of earlier versions.
    assert (run.key, grid.reference(grid.settings[0], "builtin", 0).key) == (
        "abab3d5eb08be80601fe",
        "e7ec93d256977cc7844c",
    )


def _runs(lab):
    return [result.run for result in lab.results("compare")]


def test_numbers_that_are_none_name_the_option():
    refused = invoke("lab", "compare", "--rule", "median", "--attack", "shift", "--clients", "10,many")
    assert "--clients takes whole numbers, separated by commas, not '10,many'" in str(refused.exception)


def test_what_can_be_compared_is_listed_with_its_settings():
    listed = json.loads(invoke("lab", "compare", "--list", "--json").output)
    attacks = {one["name"]: one["settings"] for one in listed["attacks"]}
    assert attacks["ipm"].keys() == {"epsilon", "extra_epochs"}
    assert {one["name"] for one in listed["data"]} >= {"builtin", "covid"}
    training = {one["name"]: one["settings"] for one in listed["training"]}
    assert training["paper"] == {}
    assert training["private"].keys() >= {"layers", "noise", "own_pages", "expected_cover"}
    shown = invoke("lab", "compare", "--list").output
    assert all(one["name"] in shown for one in listed["rules"])


@pytest.mark.parametrize("command", [["run", "weights"], ["compare", "--rule", "median", "--attack", "shift"]])
def test_ctrl_c_says_how_to_go_on(command, tmp_path, monkeypatch):
    def interrupted(runs, *given):
        raise KeyboardInterrupt

    monkeypatch.setattr(laboratory, "compute", interrupted)
    monkeypatch.setattr(laboratory, "examples_for", lambda runs, *given: None)
    words = ["lab", *command, "--out", str(tmp_path / "my lab"), "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", ["eitr", *words])
    result = invoke(*words)
    assert result.exit_code == 130
    quoted = f"'{tmp_path / 'my lab'}'"
    expected = f"stopped; go on with: eitr lab {' '.join(command)} --out {quoted} --device cpu --resume"
    assert result.stderr.splitlines()[-1] == expected
