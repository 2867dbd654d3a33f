"""Two Ray nodes on loopback: the same bits as one process, also when one of them dies.

`make test-ray` runs these tests, in an environment of its own; elsewhere they are skipped.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eitr.aggregation import Round, make_rule
from eitr.aggregation.ray_blocks import RayBlocks, on_cluster
from eitr.cluster import ray_cluster
from eitr.cluster.ray_cluster import Cluster, connected
from eitr.errors import EngineError
from eitr.robust.column_blocks import BLOCK_STEP
from tests.cluster import functions

pytest.importorskip("ray", reason="Ray is not installed: `make test-ray` installs it")
pytestmark = pytest.mark.long

CLIENTS, PARAMETERS = 24, 16 * BLOCK_STEP + 100


def round_of(**changed):
    generator = np.random.default_rng(5)
    base = generator.normal(size=PARAMETERS).astype(np.float32)
    updates = base + generator.normal(scale=0.1, size=(CLIENTS, PARAMETERS)).astype(np.float32)
    updates[17:] += 0.4
    ids = [f"client{number:02}" for number in range(CLIENTS)]
    return Round(base, updates, ids, **changed)


def assert_same(found, expected):
    for field in ("model", "weights", "positive", "negative", "reputation"):
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field


def aggregated(name, **changed):
    rule = make_rule(name)
    return rule.update(rule.init(), round_of(**changed))[1]


@pytest.fixture(scope="module")
def nodes():
    from benchmarks.ray_nodes import started

    with started(2) as running:
        yield running


@pytest.fixture(scope="module")
def cluster(nodes):
    with connected(nodes.address) as connection:
        nodes.wait(2)
        yield connection


def test_two_nodes_share_the_work_and_give_the_same_bits_as_one_process(cluster):
    assert cluster.nodes == cluster.processors == 2
    for name in ("reputation", "fused", "residual", "median", "trimmed-mean"):
        assert_same(aggregated(name, engine=on_cluster(cluster)), aggregated(name))
    blocks = round_of(engine=on_cluster(cluster)).blocks
    assert isinstance(blocks, RayBlocks)
    assert set(blocks.run(functions.threads)) == {"1"}


def test_an_error_in_a_task_is_one_line(cluster):
    with pytest.raises(EngineError, match=r"^a task on the Ray cluster failed: broken on purpose$"):
        round_of(engine=on_cluster(cluster)).blocks.run(functions.failing)


def test_nodes_with_another_version_are_refused(cluster, monkeypatch):
    monkeypatch.setattr(cluster, "_stamp", "0.0-other")
    with pytest.raises(EngineError, match="install the same version on all nodes"):
        aggregated("median", engine=on_cluster(cluster))


def test_the_command_line_writes_the_same_files(nodes, cluster, tmp_path):
    sent = round_of()
    np.save(tmp_path / "updates.npy", sent.updates)
    np.save(tmp_path / "base.npy", sent.base)
    models = []
    for engine in ("local", f"ray:{nodes.address}", "ray"):
        command = [sys.executable, "-m", "eitr", "aggregate", "--rule", "fused", "--engine", engine]
        for option, name in (("updates", "updates"), ("global", "base"), ("out", "out"), ("report", "report")):
            command += [f"--{option}", str(tmp_path / f"{name}.{'json' if option == 'report' else 'npy'}")]
        done = subprocess.run(
            command, env=os.environ | {"RAY_ADDRESS": nodes.address}, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        models.append(np.load(tmp_path / "out.npy"))
    assert np.array_equal(models[0], models[1])
    assert np.array_equal(models[0], models[2])


def test_experiments_spread_over_nodes_have_the_results_of_one_machine(cluster, tmp_path):
    from eitr.lab import compare

    grid: dict[str, Any] = {"rules": "fused,median", "attacks": "label-flip", "rounds": 2, "steps": 3, "seeds": 1}
    here = compare(out=tmp_path / "here", **grid).folder / "runs"
    there = compare(out=tmp_path / "there", engine="ray", checkpoint_seconds=0.0, **grid).folder / "runs"
    names = sorted(path.name for path in here.iterdir())
    assert sorted(path.name for path in there.iterdir()) == names
    for name in names:
        one, other = np.load(here / name), np.load(there / name)
        assert all(np.array_equal(one[key], other[key], equal_nan=one[key].dtype.kind == "f") for key in one)


class Doomed(Cluster):
    """A connection to a cluster of which a node is killed: in the middle of its first task, or after some tasks."""

    def __init__(self, ray, nodes, number, folder, step):
        super().__init__(ray)
        self.kill, self.folder, self.step, self.steps = lambda: nodes.kill(number), folder, step, []
        (self.node,) = (one["NodeID"] for one in ray.nodes() if one["NodeManagerAddress"] == f"127.0.0.{number + 1}")

    def submit(self, function, *arguments, settings=None, returns=1):
        if function not in self.steps:
            self.steps.append(function)
            if len(self.steps) == self.step == 2:
                self.kill()  # with what its tasks of step one have left there
        if len(self.steps) == 2:
            return super().submit(function, *arguments, settings=settings, returns=returns)
        waiting = (self.folder, self.node, self.step == 1, function)
        return super().submit(functions.after_a_node_began, *waiting, *arguments, settings=settings, returns=returns)

    def results(self, references):
        if len(self.steps) == self.step == 1:
            functions.wait_for(self.folder / self.node)
            self.kill()
        return super().results(references)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("name", ["reputation", "residual"])
def test_a_node_that_dies_in_the_middle_costs_time_but_no_bit(nodes, cluster, tmp_path, name, step):
    number = nodes.add()
    nodes.wait(3)
    connection = Doomed(sys.modules["ray"], nodes, number, tmp_path, step)
    found = aggregated(name, engine=on_cluster(connection))
    assert_same(found, aggregated(name))
    assert (tmp_path / connection.node).exists()
    nodes.wait(2)


def test_a_worker_computes_on_the_cluster(nodes, cluster, caplog):
    from eitr.cluster.engine import Engine
    from eitr.server.domain.round_engine import RoundEngine

    rule = make_rule("fused")
    caplog.set_level("INFO", logger="eitr.worker")
    _, found = RoundEngine(Engine.parse(f"ray:{nodes.address}")).update(
        rule, rule.init(), round_of(scorer=functions.losses)
    )
    assert_same(found, aggregated("fused", scorer=functions.losses))
    assert [one.getMessage() for one in caplog.records] == ["the Ray cluster computed the round"]


def test_what_is_not_a_cluster_is_refused_in_one_line():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code = f"from eitr.cluster.ray_cluster import connected\nwith connected('127.0.0.1:{port}'): pass"
        root = Path(__file__).parents[2]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
        )
    assert "EngineError: cannot connect to the Ray cluster" in done.stderr


def test_a_lab_whose_node_dies_goes_on_from_its_checkpoints(nodes, cluster, tmp_path, monkeypatch):
    from eitr.lab import compare

    nodes.wait(2)
    grid: dict[str, Any] = {"rules": "fused", "attacks": "label-flip", "rounds": 12, "steps": 3, "seeds": 3}
    here = compare(out=tmp_path / "here", **grid).folder / "runs"
    at_work: set[Any] = set()
    lost, usual = [], Cluster.next_event

    def next_event(self, streams):
        stream, told = usual(self, streams)
        at_work.intersection_update(streams)
        if told is ray_cluster.StreamEvent.LOST:
            lost.append(stream)
        elif told is ray_cluster.StreamEvent.ENDED:
            at_work.discard(stream)
        elif told[0] == "checkpoint":
            at_work.add(stream)
            if len(at_work) == 2:  # each node has one processor, so both are at work
                nodes.kill(1)
        return stream, told

    monkeypatch.setattr(Cluster, "next_event", next_event)
    there = compare(out=tmp_path / "there", engine="ray", checkpoint_seconds=0.0, **grid).folder / "runs"
    assert lost
    for path in here.iterdir():
        one, other = np.load(path), np.load(there / path.name)
        assert all(np.array_equal(one[key], other[key], equal_nan=one[key].dtype.kind == "f") for key in one)
