"""Rounds in which only some of the clients take part: both engines agree, remember who was away, and go on."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.aggregation import RULES, make_rule  # noqa: E402
from eitr.attacks import make_attack  # noqa: E402
from eitr.attacks.label_flip import LabelFlip  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from eitr.lab.runs.federated import expected_attackers, paper_rule  # noqa: E402
from eitr.lab.simulation import batched_engine, sparse_engine  # noqa: E402
from eitr.lab.simulation.batches import Trainees  # noqa: E402
from eitr.lab.simulation.compute import check_runs, slower_rules  # noqa: E402
from eitr.lab.simulation.population import participants, population  # noqa: E402
from eitr.lab.simulation.row_table import row_table  # noqa: E402
from tests.lab.simulation.test_engines import OF_A_ROUND, SIMULATED, agree, make, results, same, stopped  # noqa: E402

ENGINES = [sparse_engine, batched_engine]
CPU = torch.device("cpu")


def some(rule="fedavg", attack=None, attackers=0, clients=12, participation=0.5, **more):
    """A run in which some clients take part; rules that ask are told the expected number of attackers."""
    chosen = rule
    if isinstance(rule, str):
        count = max(1, int(participation * clients + 0.5))
        chosen = paper_rule(rule, expected_attackers(attackers, clients, count), count)
    return make(chosen, attack, attackers, clients=clients, participation=participation, **more)


def attackers_present(arrays):
    """How many attackers take part in each round."""
    return arrays["attacker"][arrays["participants"]].sum(axis=1)


@pytest.mark.parametrize("rule", RULES)
def test_the_engines_agree_on_every_rule_while_clients_come_and_go(rule, examples, network):
    attack = make_attack("whitewash", of="label-flip", period=3)
    runs = [some(make_rule(rule), attack, 4, rounds=6, seed=seed) for seed in (0, 1)]
    sparse = results(sparse_engine, runs, examples, network)
    batched = results(batched_engine, runs, examples, network)
    for run, one, other in zip(runs, sparse, batched, strict=True):
        agree(run, one, other)
        assert np.array_equal(one["participants"], other["participants"])
        assert len(set(attackers_present(one))) > 1  # chance decides how many there are


@pytest.mark.parametrize("name", SIMULATED)
def test_the_engines_agree_on_every_attack_with_none_one_or_only_attackers(name, examples, network):
    attack = make_attack(name, **OF_A_ROUND.get(name, {}))
    runs = [some(rule, attack, 3, clients=6, participation=1 / 3, rounds=6) for rule in ("fused", "median")]
    sparse = results(sparse_engine, runs, examples, network)
    batched = results(batched_engine, runs, examples, network)
    for run, one, other in zip(runs, sparse, batched, strict=True):
        agree(run, one, other)
        assert np.isfinite(one["loss"]).all()
        assert set(attackers_present(one)) == {0, 1, 2}


def test_who_takes_part_depends_on_the_seed_and_the_round_alone():
    plain, attacked = some(), some("fused", LabelFlip(), 3, alpha=0.2)
    drawn = [tuple(participants(plain, number)) for number in range(1, 30)]
    assert drawn == [tuple(participants(attacked, number)) for number in range(1, 30)]
    assert len(set(drawn)) > 20
    assert all(len(set(one)) == 6 and list(one) == sorted(one) for one in drawn)
    assert {client for one in drawn for client in one} == set(range(12))
    assert drawn != [tuple(participants(some(seed=1), number)) for number in range(1, 30)]


def test_everybody_is_drawn_about_as_often():
    run = make(clients=50, participation=0.2)
    counts = np.bincount(np.concatenate([participants(run, number) for number in range(1, 501)]))
    assert counts.min() > 60  # 100 on average, standard deviation 9
    assert counts.max() < 140


@pytest.mark.parametrize(("participation", "count"), [(1.0, 12), (0.99, 12), (0.5, 6), (0.1, 1), (0.001, 1)])
def test_so_many_take_part(participation, count):
    run = some(participation=participation)
    assert run.participants == count == len(participants(run, 1))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_recorded_is_of_those_who_took_part(engine, examples, network):
    run = some("fused", LabelFlip(), 3)
    found = results(engine, [run], examples, network)[0]
    assert found["participants"].shape == found["weights"].shape == found["reputation"].shape == (3, 6)
    assert np.array_equal(found["participants"], [participants(run, number) for number in (1, 2, 3)])
    assert found["weights"].sum(axis=1) == pytest.approx(1)
    assert found["attacker"].shape == found["counts"].shape == (12,)


@pytest.mark.parametrize("engine", ENGINES)
def test_where_everybody_takes_part_nothing_else_is_recorded(engine, examples, network):
    whole, almost = (make("reputation", participation=share) for share in (1.0, 0.99))
    one, other = results(engine, [whole, almost], examples, network)
    assert "participants" not in one
    same(one, other)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_run_twice_gives_the_same_numbers(engine, examples, network):
    run = some("fused", LabelFlip(), 3)
    first, second = (results(engine, [run], examples, network)[0] for _ in range(2))
    same(first, second)
    other = results(engine, [replace(run, seed=1)], examples, network)[0]
    assert not np.array_equal(first["participants"], other["participants"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", ["fused", "reputation", "foolsgold", "fldetector", "fltrust"])
def test_a_run_taken_up_again_knows_who_was_away(engine, rule, examples, network, tmp_path):
    run = some(rule, make_attack("whitewash", period=2), 4, rounds=6)
    whole = results(engine, [run], examples, network)[0]
    store = stopped(engine, [run], examples, network, tmp_path, after=4)
    assert store.checkpoint_path(run).is_file()
    same(whole, results(engine, [run], examples, network, store=store)[0])


def test_only_those_who_take_part_have_batches_and_those_of_a_full_round(examples):
    everybody, few = make(clients=12), some()
    table = row_table(examples, [])
    whole, part = (
        Trainees(population(examples, run), torch.from_numpy(examples.labels), run, table.twins(None)).draw(2)
        for run in (everybody, few)
    )
    who = participants(few, 2)
    assert len(part.rows) == len(part.steps) == 7
    for place, client in enumerate(who):
        steps = part.steps[place]
        assert steps == whole.steps[client]
        assert part.dropout_keys[place] == whole.dropout_keys[client]
        assert torch.equal(part.rows[place, :steps], whole.rows[client, :steps])


def test_runs_that_fit_are_counted_by_those_who_take_part_and_what_is_remembered_of_all(network, monkeypatch):
    monkeypatch.setattr(batched_engine, "CPU_BYTES", 1 << 30)
    fit = {
        (rule, share): batched_engine._runs_that_fit(network, [make(rule, clients=1000, participation=share)], CPU)
        for rule in ("fedavg", "fused", "foolsgold")
        for share in (1.0, 0.02)
    }
    assert fit["fedavg", 1.0] == fit["fused", 1.0] == fit["foolsgold", 1.0]
    assert fit["fedavg", 0.02] > 40 * fit["fedavg", 1.0]
    assert fit["fedavg", 0.02] > fit["foolsgold", 0.02] > fit["foolsgold", 1.0]
    assert fit["fedavg", 0.02] > fit["fused", 0.02]


def test_a_rule_must_be_defined_for_those_who_take_part():
    run = some(make_rule("multi-krum", attackers=3), LabelFlip(), 3)
    with pytest.raises(InputError, match=r"'multi-krum' needs at least .* and the round has 6"):
        check_runs([run], CPU)
    check_runs([make(make_rule("multi-krum", attackers=3), LabelFlip(), 3, clients=12)], CPU)


def test_a_rule_that_needs_everybody_runs_one_by_one_where_clients_come_and_go():
    cuda = torch.device("cuda")
    assert slower_rules([make("fldetector"), make("fused")], cuda) == []
    assert slower_rules([some("fldetector"), some("fused")], cuda) == ["fldetector"]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5, float("nan")])
def test_a_participation_that_is_no_share_is_refused(share):
    with pytest.raises(InputError, match="the participation is a share"):
        make(participation=share)
