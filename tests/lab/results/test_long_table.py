import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as parquet
import pytest

from eitr.attacks.label_flip import LabelFlip
from eitr.errors import InputError
from eitr.lab.results import long_table
from eitr.lab.results.long_table import write_long_table
from eitr.lab.results.store import Result
from eitr.lab.runs.convex import ConvexRun
from eitr.lab.runs.federated import FederatedRun, paper_rule
from eitr.lab.runs.synthetic import SyntheticRun
from tests.lab.experiments.generated_results import generated_result

ATTACKED = FederatedRun(
    data="builtin", rule=paper_rule("reputation"), rounds=3, clients=4, attack=LabelFlip(share=0.5), attackers=1
)
CLEAN = FederatedRun(data="builtin", rule=paper_rule("fedavg"), rounds=3, clients=4, seed=7)


def rows_of(tmp_path, *results):
    path = tmp_path / "rounds.parquet"
    assert write_long_table(path, results) == parquet.read_metadata(path).num_rows
    return parquet.read_table(path).to_pylist()


def test_every_number_is_a_row_that_says_what_it_is(tmp_path):
    result = generated_result(ATTACKED)
    rows = rows_of(tmp_path, result)
    found = {(row["quantity"], row["round"], row["client"]): row for row in rows}
    assert len(found) == len(rows) == 3 * (3 + 6 + 1) + 3 * 3 * 4 + 4 + 2
    assert found["accuracy", 2, None]["value"] == result["accuracy"][1]
    assert found["weights", 3, 1]["value"] == result["weights"][2, 1]
    assert found["class_accuracy.religion", 1, None]["value"] == result["class_accuracy"][0, 2]
    assert found["counts", None, 3]["value"] == result["counts"][3]
    assert found["parameters", None, None]["value"] == result["parameters"]


def test_a_row_says_which_run_it_belongs_to(tmp_path):
    row = rows_of(tmp_path, generated_result(ATTACKED))[0]
    assert row["run"] == ATTACKED.key
    assert [row[name] for name in ("kind", "data", "rule", "attack")] == [
        "federated",
        "builtin",
        "reputation",
        "label-flip",
    ]
    assert [row[name] for name in ("attackers", "clients", "alpha", "seed")] == [1, 4, 0.9, 0]
    settings = json.loads(row["settings"])
    assert settings["rule"]["kappa"] == 0.3
    assert settings["attack"]["share"] == 0.5
    assert settings["rounds"] == 3


def test_rows_of_a_client_say_whether_it_attacks(tmp_path):
    result = generated_result(ATTACKED)
    for row in rows_of(tmp_path, result):
        expected = None if row["client"] is None else bool(result["attacker"][row["client"]])
        assert row["attacker"] is expected


def test_a_run_without_attack_has_nulls(tmp_path):
    rows = rows_of(tmp_path, generated_result(ATTACKED), generated_result(CLEAN))
    mine = [row for row in rows if row["run"] == CLEAN.key]
    assert {row["attack"] for row in mine} == {None}
    assert {row["seed"] for row in mine} == {7}
    assert {"asr.label-flip", "asr.backdoor"} <= {row["quantity"] for row in mine}


def test_as_many_rounds_as_clients_confuse_nobody(tmp_path):
    run = FederatedRun(data="x", rule=paper_rule("fedavg"), rounds=6, clients=6)
    found = {row["quantity"]: (row["round"], row["client"]) for row in rows_of(tmp_path, generated_result(run))}
    assert found["accuracy"] == (6, None)
    assert found["counts"] == (None, 5)
    assert found["weights"] == (6, 5)
    assert found["class_accuracy.health"] == (6, None)


def test_weights_are_those_of_the_clients_who_took_part(tmp_path):
    run = replace(ATTACKED, participation=0.5)
    who = np.array([[0, 2], [1, 3], [0, 3]], np.int32)
    result = Result(run, {"participants": who, "weights": np.arange(6.0).reshape(3, 2), "attacker": np.arange(4) == 3})
    rows = rows_of(tmp_path, result)
    assert [(row["round"], row["client"], row["attacker"], row["value"]) for row in rows] == [
        (1, 0, False, 0.0),
        (1, 2, False, 1.0),
        (2, 1, False, 2.0),
        (2, 3, True, 3.0),
        (3, 0, False, 4.0),
        (3, 3, True, 5.0),
    ]


def test_other_kinds_of_runs_have_rows_too(tmp_path):
    drawn = SyntheticRun(rule=paper_rule("reputation"), parameters=5, clients=3, rounds=2)
    numbered = np.array([-1, 0, -1])
    convex = ConvexRun(rule=paper_rule("median"), rounds=2)
    rows = rows_of(
        tmp_path,
        Result(drawn, {"reputation": np.ones((2, 3), np.float32), "attacker": numbered, "words": np.array(["a"])}),
        Result(
            convex, {"distance": np.arange(3.0), "bound": np.arange(2.0), "corners": np.eye(7)[:, :1], "big": np.eye(4)}
        ),
    )
    first = [row for row in rows if row["kind"] == "synthetic"]
    assert {row["client"] for row in first if row["attacker"]} == {1}
    assert {row["quantity"] for row in first} == {"reputation", "attacker"}
    second = {(row["quantity"], row["round"]): row["value"] for row in rows if row["kind"] == "convex"}
    assert second["distance", 0] == 0.0  # recorded from the start on
    assert second["bound", 1] == 0.0
    assert second["corners.0.0", None] == 1.0
    assert second["big.3.3", None] == 1.0


def test_the_same_results_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_long_table(tmp_path / name, [generated_result(ATTACKED), generated_result(CLEAN)])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_many_runs_are_written_group_by_group_and_read_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(long_table, "GROUP_ROWS", 100)
    alive = []

    def results():
        for seed in range(12):
            alive.append(seed)
            yield generated_result(FederatedRun(data="x", rule=paper_rule("fedavg"), rounds=5, clients=4, seed=seed))

    rows = write_long_table(tmp_path / "t", results())
    metadata = parquet.read_metadata(tmp_path / "t")
    assert metadata.num_row_groups == 12 * (rows // 12) // (2 * (rows // 12)) == 6
    assert {row["seed"] for row in parquet.read_table(tmp_path / "t").to_pylist()} == set(alive)


def test_a_failure_leaves_the_old_table_and_no_rubbish(tmp_path):
    path = tmp_path / "rounds.parquet"
    write_long_table(path, [generated_result(CLEAN)])
    before = path.read_bytes()

    def broken():
        yield generated_result(CLEAN)
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError):
        write_long_table(path, broken())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_way_is_one_line(tmp_path):
    (tmp_path / "t").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write_long_table(tmp_path / "t", [generated_result(CLEAN)])


def test_no_results_make_an_empty_table(tmp_path):
    assert rows_of(tmp_path) == []
