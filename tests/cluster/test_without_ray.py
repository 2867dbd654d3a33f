"""What surrounds Ray, tested without it: names of engines, blocks, spread runs, and what happens without a cluster."""

import pickle
import socket
import sys
import types
from collections.abc import Mapping

import numpy as np
import pytest
import torch

from eitr.aggregation import Round, make_rule
from eitr.aggregation.ray_blocks import BLOCKS_PER_PROCESSOR, RayBlocks, on_cluster
from eitr.cluster import ray_cluster
from eitr.cluster.engine import Engine
from eitr.cluster.ray_cluster import Cluster, StreamEvent, connected, writable
from eitr.errors import EngineError, InputError
from eitr.lab.results.store import Computed, Store
from eitr.lab.runs.synthetic import SyntheticRun
from eitr.lab.simulation import spread as spreading
from eitr.lab.simulation.compute import compute
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.spread import MOST_LOSSES, Message, grouped, pick_device_on, spread
from eitr.robust.column_blocks import BLOCK_STEP, LocalBlocks
from eitr.server.domain.round_engine import RoundEngine

PARAMETERS = 3 * BLOCK_STEP + 100


class Here(Cluster):
    """A cluster of this process: tasks run at once, their arrays read-only as Ray's are."""

    processors, gpus, nodes = 1, 0, 1

    def __init__(self):
        self.placed, self.called = 0, []

    def place(self, value):
        self.placed += 1
        return value

    def submit(self, function, *arguments, settings: Mapping | None = None, returns=1):
        self.called.append(function.__name__)
        for one in arguments:
            if isinstance(one, np.ndarray):
                one.flags.writeable = False
        found = ray_cluster._in_task(ray_cluster.stamp(), function, settings or {}, *arguments)
        return [found] if returns == 1 else list(found)

    def results(self, references):
        return list(references)


@pytest.fixture(autouse=True)
def usual_threads(monkeypatch):
    monkeypatch.setenv("EITR_THREADS", "2")  # a task changes it


def round_of(parameters=PARAMETERS, **changed):
    generator = np.random.default_rng(3)
    base = generator.normal(size=parameters).astype(np.float32)
    updates = base + generator.normal(scale=0.1, size=(8, parameters)).astype(np.float32)
    return Round(base, updates, list("abcdefgh"), **changed)


@pytest.mark.parametrize(
    "name", ["", "Ray", "ray:", "ray:host", "ray:host:0", "ray:host:99999", "ray:a b:1", "ray:ray://head:1", "spark:1"]
)
def test_other_names_of_engines_are_refused(name):
    with pytest.raises(InputError, match="the engine is local, ray or ray:HOST:PORT"):
        Engine.parse(name)


def test_names_of_engines():
    addresses = {name: Engine.parse(name).address for name in ("local", "ray", "ray:head-1:6379", "ray:[::1]:1")}
    assert addresses == {
        "local": "",
        "ray": "auto",
        "ray:head-1:6379": "head-1:6379",
        "ray:[::1]:1": "[::1]:1",
    }


def test_updates_are_placed_once_and_judged_and_averaged_in_the_same_blocks():
    cluster, rule = Here(), make_rule("reputation")
    (_, expected), (_, found) = (
        rule.update(rule.init(), round_of(engine=one)) for one in (LocalBlocks, on_cluster(cluster))
    )
    assert np.array_equal(found.model, expected.model)
    assert np.array_equal(found.reputation, expected.reputation)
    assert cluster.placed == BLOCKS_PER_PROCESSOR
    assert cluster.called == ["judged"] * BLOCKS_PER_PROCESSOR + ["combine"] * BLOCKS_PER_PROCESSOR


def test_a_round_of_one_block_stays_in_this_process():
    assert isinstance(round_of(BLOCK_STEP, engine=on_cluster(Here())).blocks, LocalBlocks)
    assert isinstance(round_of(2 * BLOCK_STEP, engine=on_cluster(Here())).blocks, RayBlocks)


def test_another_engine_takes_the_same_round():
    sent = round_of()
    other = sent.computed_by(on_cluster(Here()))
    assert isinstance(other.blocks, RayBlocks)
    assert isinstance(sent.blocks, LocalBlocks)
    assert other.updates is sent.updates


def test_tasks_get_arrays_that_can_be_written():
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    assert writable(read_only).flags.writeable
    mine = np.zeros(3)
    assert writable(mine) is mine


def test_a_node_with_other_sources_is_refused():
    with pytest.raises(EngineError, match="install the same version on all nodes"):
        ray_cluster._in_task("0.0-other", len, {}, "text")


def test_without_ray_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r"pip install 'eitr\[ray\]'"), connected("auto"):
        pass


def test_an_address_where_nobody_listens_is_refused_at_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(is_initialized=lambda: False))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with (
        pytest.raises(EngineError, match=f"cannot reach the Ray cluster {address}: Connection refused"),
        connected(address),
    ):
        pass


def test_a_worker_without_its_cluster_computes_the_round_itself_and_says_so(caplog):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    rule = make_rule("median")
    engine = RoundEngine(Engine.parse(f"ray:127.0.0.1:{port}"))
    _, found = engine.update(rule, rule.init(), round_of())
    assert np.array_equal(found.model, rule.update(rule.init(), round_of())[1].model)
    (told,) = (one.getMessage() for one in caplog.records)
    assert told.startswith("the engine failed, and the worker computes the round itself: ")
    assert "cannot reach the Ray cluster" in told or "eitr[ray]" in told  # without a cluster, or without Ray


def test_a_worker_sends_no_small_round_away(caplog):
    rule = make_rule("median")
    RoundEngine(Engine.parse("ray:127.0.0.1:1")).update(rule, rule.init(), round_of(BLOCK_STEP))
    assert not caplog.records


class Streams(Here):
    """Streams of this process, one value at a time; the first `losses` streams are lost after two values."""

    def __init__(self, losses=0):
        super().__init__()
        self.losses, self.tasks = losses, []

    def stream(self, function, *arguments, gpus=0):
        self.tasks.append(arguments[0])
        return iter(self._values(function(*arguments), lost=len(self.tasks) <= self.losses))

    def _values(self, values, *, lost):
        for number, value in enumerate(values):
            if lost and number == 2:
                yield StreamEvent.LOST
            yield value

    def next_event(self, streams):
        return streams[0], next(streams[0], StreamEvent.ENDED)


RUNS = [SyntheticRun(seed=seed, rule=make_rule("reputation"), clients=5, rounds=2) for seed in (0, 1)]


def test_spread_runs_have_the_results_of_this_process(tmp_path):
    context, rounds = Context(device=torch.device("cpu"), store=Store(tmp_path)), []
    context.on_progress = lambda run, done, of, accuracy: rounds.append((run.seed, done))
    found = {one.run: one.arrays for one in spread(RUNS, Streams(), context, None, None)}
    expected = {one.run: one.arrays for one in compute(RUNS, Context(device=torch.device("cpu")), None)}
    assert rounds == [(0, 1), (0, 2), (1, 1), (1, 2)]
    for run in RUNS:
        assert all(np.array_equal(found[run][name], expected[run][name]) for name in expected[run])


def counting(runs, context, examples, start):
    """Compute runs that count to four: a checkpoint and a round for each number."""
    for run in runs:
        kept = context.load_checkpoint(run)
        first = 0 if kept is None else int(kept["count"])
        for number in range(first + 1, 5):
            assert context.checkpoint_due()
            context.save_checkpoint(run, {"count": np.array(number)})
            context.on_progress(run, number, 4, 0.5)
        yield Computed(run, {"began_at": np.array(first)}, 0.1)


def context_in(folder):
    (folder / "runs").mkdir(parents=True)
    return Context(device=torch.device("cpu"), store=Store(folder), checkpoint_seconds=0.0)


def test_a_group_whose_node_died_goes_on_from_its_last_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "compute", counting)
    cluster = Streams(losses=2)
    found = {
        one.run.seed: int(one.arrays["began_at"]) for one in spread(RUNS, cluster, context_in(tmp_path), None, None)
    }
    assert found == {0: 1, 1: 1}
    assert [len(task.checkpoints) for task in cluster.tasks] == [0, 0, 1, 1]


def test_what_was_told_before_a_kill_is_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "compute", counting)
    context = context_in(tmp_path)

    def stop(run, done, of, accuracy):
        raise KeyboardInterrupt

    context.on_progress = stop
    with pytest.raises(KeyboardInterrupt):
        list(spread(RUNS[:1], Streams(), context, None, None))
    assert int(context.load_checkpoint(RUNS[0])["count"]) == 1


def test_a_group_that_is_lost_every_time_ends_the_lab(tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "compute", lambda *_: iter(()))
    cluster = Streams()
    with pytest.raises(EngineError, match=f"lost {MOST_LOSSES + 1} times"):
        list(spread(RUNS[:1], cluster, context_in(tmp_path), None, None))
    assert len(cluster.tasks) == MOST_LOSSES + 1


def test_an_error_of_a_run_ends_the_lab_with_its_message(tmp_path, monkeypatch):
    def failing(*_):
        raise InputError("too few pages")

    monkeypatch.setattr(spreading, "compute", failing)
    with pytest.raises(InputError, match="InputError: too few pages"):
        list(spread(RUNS[:1], Streams(), context_in(tmp_path), None, None))


def test_a_task_loads_the_plugins_of_its_runs_first():
    told = list(
        spreading.computed_on_node(
            spreading.Task(pickle.dumps([]), {}, {"/none.py": ""}, "cpu", None, 1.0), (None, None)
        )
    )
    assert told == [Message("failure", "", "InputError: plugin /none.py: cannot be read: No such file or directory")]


def test_on_processors_a_run_is_a_group_and_on_gpus_federations_share_some():
    from eitr.lab.runs.federated import FederatedRun

    federations = [FederatedRun(seed=seed, rule=make_rule("median"), data="builtin") for seed in range(8)]
    assert [len(group) for group in grouped([*RUNS, *federations], workers=2, by_run=True)] == [1] * 10
    assert [len(group) for group in grouped([*RUNS, *federations], workers=2, by_run=False)] == [1, 1, 2, 2, 2, 2]


def test_a_cluster_with_gpus_computes_on_them_unless_told_otherwise():
    cluster = Here()
    assert pick_device_on(cluster, "auto").type == "cpu"
    with pytest.raises(InputError, match="the Ray cluster has no GPU"):
        pick_device_on(cluster, "cuda")
    with pytest.raises(InputError, match="auto, cpu or cuda"):
        pick_device_on(cluster, "tpu")
    cluster.gpus = 2
    assert pick_device_on(cluster, "auto").type == "cuda"
    assert pick_device_on(cluster, "cpu").type == "cpu"
