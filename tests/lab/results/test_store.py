import numpy as np
import pytest

from eitr.attacks.label_flip import LabelFlip
from eitr.errors import InputError
from eitr.lab.results.store import Result, Results, Store
from eitr.lab.runs.federated import FederatedRun, paper_rule

ARRAYS = {"accuracy": np.array([0.5, 0.75]), "attacker": np.array([True, False]), "failed": np.array(0)}


def make(rule="fedavg", **more):
    return FederatedRun(data="builtin", rule=paper_rule(rule), **more)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "runs").mkdir()
    return Store(tmp_path)


def test_what_is_saved_is_loaded_and_readable_with_numpy_alone(store):
    run = make()
    assert not store.has(run)
    store.save(run, ARRAYS)
    assert store.has(run)
    found = store.load(run)
    assert found.run == run
    assert found.arrays.keys() == ARRAYS.keys()
    assert all(np.array_equal(found[name], array) for name, array in ARRAYS.items())
    with np.load(store.path(run)) as archive:
        assert '"rule": {"is": "fedavg"' in str(archive["run"])


def test_the_same_result_gives_the_same_bytes(store, tmp_path_factory):
    other = Store(tmp_path_factory.mktemp("other"))
    (other.folder / "runs").mkdir()
    for one in (store, other):
        one.save(make(), ARRAYS)
    assert store.path(make()).read_bytes() == other.path(make()).read_bytes()


def test_a_finished_run_needs_no_checkpoint(store):
    run = make()
    store.checkpoint_path(run).write_bytes(b"anything")
    store.save(run, ARRAYS)
    assert [path.name for path in (store.folder / "runs").iterdir()] == [f"{run.key}.npz"]


def test_a_damaged_result_says_what_to_do(store):
    store.save(make(), ARRAYS)
    path = store.path(make())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="damaged one; delete it and run again") as error:
        store.load(make())
    assert str(path) in str(error.value)


def test_a_missing_result_says_how_to_go_on(store):
    with pytest.raises(InputError, match="go on with `eitr lab run"):
        store.load(make())


def test_results_are_chosen_by_the_values_of_their_runs():
    runs = [make(seed=1), make("median"), make(attack=LabelFlip(), attackers=3), make(attack=LabelFlip(), attackers=5)]
    found = Results(Result(run, {"accuracy": np.array([run.seed, 1])}) for run in runs)

    def chosen(**wanted):
        return [result.run for result in found.where(**wanted)]

    assert chosen(rule="median") == [runs[1]]
    assert chosen(rule=runs[1].rule) == [runs[1]]
    assert chosen(attack=None, rule="fedavg") == [runs[0]]
    assert chosen(attack="label-flip") == runs[2:]
    assert chosen(attack=LabelFlip(), attackers=5) == [runs[3]]
    assert chosen(attack=LabelFlip(share=0.5)) == []
    assert len(found.where()) == 4
    assert found.stacked("accuracy").tolist() == [[1, 1], [0, 1], [0, 1], [0, 1]]


def test_a_result_of_another_run_is_not_taken_for_this_one(store):
    store.save(make("median"), ARRAYS)
    store.path(make("median")).rename(store.path(make("fedavg")))
    with pytest.raises(InputError, match="not the result of the run"):
        store.load(make("fedavg"))
