"""Federations that train the private way: one clipped step with noise, in the last layers, on own and cover pages."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.attacks import make_attack  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from eitr.lab.results.store import Store  # noqa: E402
from eitr.lab.runs.private_training import PrivateTraining  # noqa: E402
from eitr.lab.simulation import sparse_engine  # noqa: E402
from eitr.lab.simulation.compute import check_runs  # noqa: E402
from eitr.lab.simulation.context import Context  # noqa: E402
from eitr.lab.simulation.population import population  # noqa: E402
from eitr.lab.simulation.private_clients import PrivateClients, upper_federation  # noqa: E402
from eitr.lab.simulation.row_table import row_table  # noqa: E402
from eitr.model.private import PrivatePlan, gradient_lengths, private_step, trained_from  # noqa: E402
from eitr.pages.pool import Pool  # noqa: E402
from tests.lab.simulation.test_engines import make, same  # noqa: E402

CPU = torch.device("cpu")
QUIET = PrivateTraining(layers=2, cover_pages=30, clip=0.5, learning_rate=0.01, noise=0.0, own_pages=0)


@pytest.fixture(scope="module")
def pool(examples):
    """Some test pages: nobody trains on them."""
    chosen = np.flatnonzero(examples.test)[:40]
    return Pool.of(examples.rows.take(chosen), examples.labels[chosen], bytes(32))


@pytest.fixture(scope="module")
def vector(network):
    return network.initial(5)


def private(training=QUIET, rule="fedavg", attack=None, attackers=0, **more):
    return make(rule, attack, attackers, start="mine@0123456789ab", training=training, **more)


@pytest.fixture
def train(examples, network, vector, pool):
    """Return a function that gives a run's clients, their federation and what they send in a round."""

    def trained(run, number=1, attack=None):
        table = row_table(examples, [*run.probes.values()])
        upper = upper_federation(run.training, network, vector, table, pool)
        clients = PrivateClients(run, run.training, population(examples, run), upper)
        with ThreadPoolExecutor(2) as threads:
            return clients, upper, *clients.train(number, upper.initial, attack, threads)

    return trained


@pytest.fixture
def simulate(examples, network, vector, pool):
    def simulated(run, **context):
        (done,) = sparse_engine.run_all([run], examples, network, Context(device=CPU, **context), vector, pool)
        return done.arrays

    return simulated


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_client_takes_the_step_of_the_specification_on_the_whole_network(
    layers, train, examples, network, vector, pool
):
    clip = np.median(gradient_lengths(network, vector, pool.rows, pool.labels, layers=layers))
    run = private(replace(QUIET, layers=layers, cover_pages=len(pool), clip=float(clip)))
    _, upper, updates, root = train(run)
    start = trained_from(network, layers)
    assert upper.network.size == updates.shape[1] == network.size - start
    plan = PrivatePlan(
        layers=layers, cover_pages=len(pool), own_weight=4.0, clip=float(clip), learning_rate=0.01, noise=0.0
    )
    people = population(examples, run)
    for pages, sent in zip([*people.pages, people.root], [*updates, root], strict=True):
        own = (examples.rows.take(pages), examples.labels[pages])
        expected = private_step(network, vector, own, (pool.rows, pool.labels), plan)
        np.testing.assert_allclose(sent, expected[start:], atol=2e-6)
        assert np.abs(sent - upper.initial).max() > 1e-3


def test_noise_is_as_large_as_the_plan_says_and_the_servers_own_step_has_none(train):
    quiet, loud = (train(private(replace(QUIET, noise=noise))) for noise in (0.0, 2.0))
    reach = 0.01 * 4.0 * 0.5
    assert (loud[2] - quiet[2]).std() == pytest.approx(2.0 * reach, rel=0.1)
    assert np.array_equal(loud[3], quiet[3])


def test_clients_use_all_their_pages_or_a_few_drawn_anew_each_round(train, simulate, monkeypatch):
    used = []
    own = PrivateClients._own

    def noted(self, random, client):
        used.append(own(self, random, client))
        return used[-1]

    monkeypatch.setattr(PrivateClients, "_own", noted)
    train(private())
    counts = simulate(private())["counts"]
    assert [len(pages.rows) for pages in used[:5]] == counts.tolist()
    used.clear()
    run = private(replace(QUIET, own_pages=4))
    train(run, 1)
    train(run, 2)
    assert [len(pages.rows) for pages in used] == np.minimum(counts, 4).tolist() * 2
    assert set(used[0].rows) != set(used[5].rows)
    # FedAvg weighs clients by the pages they used.
    weights = simulate(run)["weights"][0]
    np.testing.assert_allclose(weights, np.minimum(counts, 4) / np.minimum(counts, 4).sum(), rtol=1e-6)


def test_the_expected_step_of_the_cover_pages_is_the_mean_over_draws(train, pool):
    clients, upper, *_ = train(private())
    expected = clients.expected_cover(upper.initial)
    with_cover, without = (
        np.mean([train(private(replace(QUIET, cover_pages=count, own_pages=1), seed=seed))[2] for seed in range(20)], 0)
        for count in (30, 0)
    )
    step = (with_cover - without).mean(axis=0)
    assert np.linalg.norm(step - expected) < 0.1 * np.linalg.norm(expected)


def test_the_expected_step_is_hidden_from_the_rule_or_left_out(simulate, train, pool):
    kept, hidden, dropped = (
        simulate(private(replace(QUIET, expected_cover=what), rounds=1)) for what in ("keep", "subtract", "drop")
    )
    # A mean does not mind: the step is taken off and added again.
    assert hidden["loss"][0] == pytest.approx(kept["loss"][0], abs=1e-6)
    assert abs(dropped["loss"][0] - kept["loss"][0]) > 1e-3
    rule = {"rule": "fused", "rounds": 3, "clients": 6}
    first, second = (simulate(private(replace(QUIET, expected_cover=what), **rule)) for what in ("keep", "subtract"))
    # It does not let long steps count for more than usual ones, and which are long depends on what it sees.
    assert np.abs(first["loss"] - second["loss"]).max() > 1e-5


@pytest.mark.parametrize("name", ["label-flip", "backdoor", "dba"])
def test_attackers_poison_their_own_pages_and_nobody_elses(name, train, examples):
    attack = make_attack(name)
    run = private(attack=attack, attackers=2)
    clean, attacked = train(run)[2], train(run, attack=attack)[2]
    changed = (clean != attacked).any(axis=1)
    assert changed.tolist() == population(examples, run).attacker.tolist()


@pytest.mark.parametrize(
    "name", ["ipm", "sign-flip", "mimic", "min-max", pytest.param("inside", marks=pytest.mark.long)]
)
def test_attackers_write_vectors_of_trained_parameters(name, simulate, network):
    run = private(rule="fused", attack=make_attack(name), attackers=2, clients=6, rounds=2)
    found = simulate(run)
    assert np.isfinite(found["loss"]).all()
    assert found["parameters"] == network.size - trained_from(network, 2)
    assert not np.array_equal(found["loss"], simulate(private(rule="fused", clients=6, rounds=2))["loss"])


def test_a_run_repeats_itself_and_goes_on_where_it_stopped(simulate, tmp_path):
    run = private(PrivateTraining(layers=1, cover_pages=10), rule="fused", clients=6, rounds=4)
    whole = simulate(run)
    same(simulate(run), whole)
    assert not np.array_equal(simulate(replace(run, seed=1))["loss"], whole["loss"])

    def stop(run, done, rounds, accuracy):
        if done == 3:
            raise KeyboardInterrupt

    (tmp_path / "runs").mkdir()
    with pytest.raises(KeyboardInterrupt):
        simulate(run, store=Store(tmp_path), on_progress=stop, checkpoint_seconds=0.0)
    assert Store(tmp_path).checkpoint_path(run).exists()
    same(simulate(run, store=Store(tmp_path)), whole)


def test_what_cannot_be_computed_is_said_before_anything_is(train, pool, examples, network):
    with pytest.raises(InputError, match="engine for processors alone: take --device cpu"):
        check_runs([private()], torch.device("cuda"))
    with pytest.raises(InputError, match=f"the pool has {len(pool)} pages"):
        train(private(replace(QUIET, cover_pages=len(pool) + 1)))
    with pytest.raises(InputError, match="the network has 3 layers; 4 of them"):
        train(private(replace(QUIET, layers=4)))
    with pytest.raises(InputError, match="private training needs a model to start from"):
        next(sparse_engine.run_all([private()], examples, network, Context(device=CPU)))
