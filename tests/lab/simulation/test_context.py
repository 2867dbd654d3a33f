import numpy as np
import pytest

from eitr.errors import InputError
from eitr.lab.results.store import Store
from eitr.lab.runs.federated import FederatedRun, paper_rule
from eitr.lab.simulation.context import Context

RUN = FederatedRun(data="builtin", rule=paper_rule("fedavg"))


@pytest.fixture
def now(monkeypatch):
    time = [100.0]
    monkeypatch.setattr("eitr.lab.simulation.context.time.monotonic", lambda: time[0])
    return time


@pytest.fixture
def store(tmp_path):
    (tmp_path / "runs").mkdir()
    return Store(tmp_path)


def test_a_checkpoint_is_due_when_so_many_seconds_of_work_are_at_stake(now, store):
    context = Context(device=None, store=store, checkpoint_seconds=30, _last=now[0])
    found = []
    for _ in range(10):
        now[0] += 10
        found.append(context.checkpoint_due())
    assert found == [False, False, True] * 3 + [False]


def test_without_a_store_nothing_is_kept(now):
    context = Context(device=None, checkpoint_seconds=0)
    now[0] += 1000
    assert not context.checkpoint_due()
    context.save_checkpoint(RUN, {"a": np.array(1)})
    assert context.load_checkpoint(RUN) is None


def test_what_is_kept_comes_back(store):
    context = Context(device=None, store=store)
    assert context.load_checkpoint(RUN) is None
    context.save_checkpoint(RUN, {"a": np.array([1.0, 2.0]), "engine": np.array("sparse")})
    kept = context.load_checkpoint(RUN)
    assert kept["a"].tolist() == [1, 2]
    assert str(kept["engine"]) == "sparse"
    assert not store.has(RUN)


def test_a_damaged_checkpoint_says_what_to_do(store):
    store.checkpoint_path(RUN).write_bytes(b"nonsense")
    with pytest.raises(InputError, match="delete it and run again"):
        Context(device=None, store=store).load_checkpoint(RUN)
