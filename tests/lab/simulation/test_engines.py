"""The two engines: they agree, repeat themselves to the byte, and go on where they were."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.aggregation import make_rule  # noqa: E402
from eitr.attacks import ATTACKS, make_attack  # noqa: E402
from eitr.attacks.backdoor import Backdoor  # noqa: E402
from eitr.attacks.label_flip import LabelFlip  # noqa: E402
from eitr.attacks.scaling import Scaling  # noqa: E402
from eitr.attacks.schedule import Schedule  # noqa: E402
from eitr.datasets import load  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from eitr.lab.experiments.registry import experiment  # noqa: E402
from eitr.lab.results.store import Store  # noqa: E402
from eitr.lab.runs.federated import FederatedRun, attackers_of, paper_rule  # noqa: E402
from eitr.lab.runs.profile import make_profile  # noqa: E402
from eitr.lab.simulation import batched_engine, sparse_engine  # noqa: E402
from eitr.lab.simulation.compute import check_runs, compute  # noqa: E402
from eitr.lab.simulation.context import Context  # noqa: E402
from eitr.model.network import Network  # noqa: E402
from eitr.model.plan import TrainingPlan  # noqa: E402
from tests.lab.small import small_data  # noqa: E402

RULES = (
    *("reputation", "fedavg", "median", "trimmed-mean", "foolsgold", "residual", "fltrust", "fused"),
    "published-code",
)
PLAN = TrainingPlan(epochs=2, max_batches=3, batch_size=16, learning_rate=0.1)
CPU = torch.device("cpu")


def make(rule="fedavg", attack=None, attackers=0, clients=5, rounds=3, **more):
    chosen = paper_rule(rule, attackers, clients) if isinstance(rule, str) else rule
    return FederatedRun(
        data="builtin",
        rule=chosen,
        attack=attack,
        attackers=attackers,
        clients=clients,
        rounds=rounds,
        **{"plan": PLAN, **more},
    )


def results(engine, runs, examples, network, **context):
    return [
        done.arrays
        for done in sorted_like(runs, engine.run_all(runs, examples, network, Context(device=CPU, **context)))
    ]


def sorted_like(runs, computed):
    found = {done.run: done for done in computed}
    return [found[run] for run in runs]


def stopped(engine, runs, examples, network, folder, *, after):
    """Begin runs, break off as one of them ends that round, and return where their checkpoints are."""

    def stop(run, done, rounds, accuracy):
        if done == after:
            raise KeyboardInterrupt

    (folder / "runs").mkdir()
    with pytest.raises(KeyboardInterrupt):
        results(engine, runs, examples, network, store=Store(folder), on_progress=stop, checkpoint_seconds=0.0)
    return Store(folder)


def same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        assert np.array_equal(first[name], second[name], equal_nan=True), name


@pytest.mark.parametrize("attack", [None, LabelFlip(share=0.5), Backdoor(words=3), Scaling(factor=2.0)], ids=str)
def test_the_engines_agree_on_every_rule(attack, examples, network):
    runs = [make(rule, attack, 2 if attack else 0, seed=seed) for rule in RULES for seed in (0, 1)]
    sparse = results(sparse_engine, runs, examples, network)
    batched = results(batched_engine, runs, examples, network)
    for run, one, other in zip(runs, sparse, batched, strict=True):
        agree(run, one, other)


def agree(run, one, other):
    assert one.keys() == other.keys(), run.title
    for name in ("loss", "train_loss", "weights"):
        assert one[name] == pytest.approx(other[name], abs=2e-3), (run.title, name)
    for name in (name for name in one if name.startswith("asr.") or name == "accuracy"):
        assert one[name] == pytest.approx(other[name], abs=0.02), (run.title, name)
    if rule_has_reputation := "reputation" in one:
        assert one["reputation"] == pytest.approx(other["reputation"], abs=5e-3), run.title
    assert rule_has_reputation == run.rule.has_reputation


OF_A_ROUND = {"whitewash": {"period": 2}, "on-off": {"rest": 1, "strike": 1}, "dba": {"parts": 2, "words": 4}}
"""Settings with which attacks do within four rounds whatever they do."""
SIMULATED = [name for name in ATTACKS if name != "inside"]  # which only the engine for processors rehearses


@pytest.mark.parametrize("name", SIMULATED)
def test_the_engines_agree_on_every_attack(name, examples, network):
    attack = make_attack(name, **OF_A_ROUND.get(name, {}))
    runs = [make(rule, attack, 2, clients=6, rounds=4) for rule in ("fused", "reputation", "median")]
    sparse = results(sparse_engine, runs, examples, network)
    batched = results(batched_engine, runs, examples, network)
    for run, one, other in zip(runs, sparse, batched, strict=True):
        agree(run, one, other)
        assert np.isfinite(one["loss"]).all()
        probe = attack.probe(examples)
        assert [key for key in one if key.startswith("asr.")] == ([] if probe is None else [f"asr.{name}"])


def test_some_attacks_have_nothing_but_the_accuracy_to_be_measured_by(examples):
    blind = [name for name in SIMULATED if make_attack(name).probe(examples) is None]
    assert {"sign-flip", "noise", "slander"} <= set(blind)
    assert "backdoor" not in blind


def test_attackers_that_rehearse_run_on_processors_and_are_refused_elsewhere_before_the_run(examples, network):
    run = make("fused", make_attack("inside", candidates=4), 2, clients=6, rounds=2)
    found = results(sparse_engine, [run], examples, network)[0]
    assert np.isfinite(found["loss"]).all()
    with pytest.raises(InputError, match=r"'inside' tries updates on the rule .* take --device cpu"):
        check_runs([run], torch.device("cuda"))
    check_runs([run], CPU)


def test_a_rule_that_is_not_defined_for_a_run_is_refused_before_it(examples):
    run = make(make_rule("bulyan", attackers=2), LabelFlip(), 2, clients=6)
    with pytest.raises(InputError, match="'bulyan' needs at least 11 clients"):
        next(compute([run], Context(device=CPU), examples))


@pytest.mark.parametrize("change", [{"steps": 5}, {"trusted": 0}, {"trusted": 9}, {"exclusive": "religion"}], ids=str)
def test_the_engines_agree_on_counted_steps_trusted_pages_and_a_new_topic(change, examples, network):
    rules = ("fused", "fedavg") if change.get("trusted") == 0 else ("fused", "fltrust", "fedavg")
    runs = [make(rule, LabelFlip(), 2, clients=7, **change) for rule in rules]
    sparse = results(sparse_engine, runs, examples, network)
    batched = results(batched_engine, runs, examples, network)
    for run, one, other in zip(runs, sparse, batched, strict=True):
        agree(run, one, other)


@pytest.mark.parametrize("engine", [sparse_engine, batched_engine])
def test_a_rule_that_needs_trusted_pages_is_refused_where_there_are_none(engine, examples, network):
    with pytest.raises(InputError, match="'fltrust' needs trusted pages"):
        results(engine, [make("fltrust", trusted=0)], examples, network)


def test_runs_with_other_numbers_of_steps_do_not_change_each_other(examples, network):
    runs = [make("fused", LabelFlip(), 2, steps=steps) for steps in (0, 2, 9)]
    together = results(batched_engine, runs, examples, network)
    for run, found in zip(runs, together, strict=True):
        alone = results(batched_engine, [run], examples, network)[0]
        assert found["loss"] == pytest.approx(alone["loss"], abs=1e-5)
    assert not np.allclose(together[1]["loss"], together[2]["loss"])


def test_attackers_under_new_names_start_anew_in_both_engines(examples, network):
    settings = {"clients": 8, "rounds": 7}
    kept, renewed = (
        make("fused", make_attack("whitewash", of="scaling", period=period), 2, **settings) for period in (100, 3)
    )
    for engine in (sparse_engine, batched_engine):
        one, other = results(engine, [kept, renewed], examples, network)
        who = one["attacker"]
        assert np.array_equal(one["reputation"][:3], other["reputation"][:3])
        assert not np.array_equal(one["reputation"][3, who], other["reputation"][3, who])
        # The ramp begins anew: in the first round under a new name others have three rounds behind them.
        assert other["weights"][3, who].max() < 0.5 * other["weights"][3, ~who].max()


@pytest.mark.parametrize("engine", [sparse_engine, batched_engine])
def test_the_same_run_twice_gives_the_same_numbers_and_another_seed_others(engine, examples, network):
    run = make("reputation", LabelFlip(), 1)
    first, second = (results(engine, [run], examples, network)[0] for _ in range(2))
    same(first, second)
    other = results(engine, [make("reputation", LabelFlip(), 1, seed=1)], examples, network)[0]
    assert not np.array_equal(first["loss"], other["loss"])


def test_runs_beside_each_other_do_not_change_each_other(examples, network):
    runs = [make(rule, LabelFlip(), 2) for rule in RULES] + [make(), make(clients=3), make(rounds=2)]
    together = results(batched_engine, runs, examples, network)
    for run, found in zip(runs, together, strict=True):
        alone = results(batched_engine, [run], examples, network)[0]
        assert found["loss"] == pytest.approx(alone["loss"], abs=1e-5)


def test_small_memory_only_makes_more_batches(examples, network, monkeypatch):
    runs = [make("median", seed=seed) for seed in range(4)]
    whole = results(batched_engine, runs, examples, network)
    monkeypatch.setattr(batched_engine, "CPU_BYTES", 1)
    monkeypatch.setattr(batched_engine, "ANSWER_BYTES", 1)
    for one, other in zip(whole, results(batched_engine, runs, examples, network), strict=True):
        assert one["loss"] == pytest.approx(other["loss"], abs=1e-5)


@pytest.fixture(scope="module")
def learnable():
    """Enough pages, and easy enough ones, that a few rounds teach something."""
    examples = load("builtin", size=2000, words=300, difficulty=0.2)
    plan = TrainingPlan(epochs=5, batch_size=16, learning_rate=0.1, dropout=0.0)
    return examples, Network((examples.rows.width, 32, 16, 6)), {"rounds": 8, "plan": plan}


def test_learning_learns(learnable):
    examples, network, settings = learnable
    accuracy = results(sparse_engine, [make("fedavg", **settings)], examples, network)[0]["accuracy"]
    assert accuracy[0] < 0.6
    assert accuracy[-1] > 0.8


def test_attackers_get_their_way_with_the_mean(learnable):
    examples, network, settings = learnable
    runs = [make("fedavg", **settings), make("fedavg", LabelFlip(), 4, **settings)]
    floor, success = results(sparse_engine, runs, examples, network)
    assert floor["asr.label-flip"][-1] < 0.1
    assert success["asr.label-flip"][-1] > 0.5
    assert success["attacker"].sum() == 4
    assert floor["attacker"].sum() == 0


def test_before_an_attack_begins_attackers_are_honest(examples, network):
    waiting = make("fedavg", LabelFlip(), 2, schedule=Schedule.parse("from:3"))
    honest = make("fedavg")
    for engine in (sparse_engine, batched_engine):
        one, other = results(engine, [waiting, honest], examples, network)
        assert one["loss"][:2] == pytest.approx(other["loss"][:2], abs=1e-6)
        assert one["loss"][2] != pytest.approx(other["loss"][2], abs=1e-6)


@pytest.mark.parametrize("engine", [sparse_engine, batched_engine])
@pytest.mark.parametrize("rule", RULES)
def test_one_client_is_a_federation_too(engine, rule, examples, network):
    found = results(engine, [make(rule, clients=1)], examples, network)[0]
    assert np.isfinite(found["accuracy"]).all()
    assert found["counts"].shape == (1,)


@pytest.mark.parametrize("engine", [sparse_engine, batched_engine])
@pytest.mark.parametrize("name", ["neurotoxin", "alie", "min-max", "fang", "slander", "noise", "sybil", "mimic"])
def test_attackers_that_look_at_training_that_diverges_do_not_make_it_fail(engine, name, examples, network):
    plan = TrainingPlan(epochs=2, batch_size=16, learning_rate=1e6)
    wild, fine = make("fused", make_attack(name), 2, plan=plan), make("fused", make_attack(name), 2)
    diverged, other = results(engine, [wild, fine], examples, network)
    assert (diverged["failed"], other["failed"]) == (1, 0)
    assert np.isnan(diverged["weights"]).all()


@pytest.mark.parametrize("engine", [sparse_engine, batched_engine])
def test_training_that_diverges_ends_the_run_and_is_recorded(engine, examples, network):
    wild = make("fedavg", plan=TrainingPlan(epochs=2, batch_size=16, learning_rate=1e6))
    fine = make("median")
    diverged, other = results(engine, [wild, fine], examples, network)
    assert diverged["failed"] == 1
    assert diverged.keys() == other.keys()
    for name in ("accuracy", "loss", "weights", "asr.label-flip", "class_accuracy"):
        assert np.isnan(diverged[name]).all()
        assert len(diverged[name]) == wild.rounds
    assert other["failed"] == 0
    assert np.isfinite(other["accuracy"]).all()


def test_a_client_may_lack_classes(examples, network):
    skewed = make("reputation", clients=20, alpha=0.05)
    found = results(sparse_engine, [skewed], examples, network)[0]
    assert (found["counts"] >= 1).all()
    assert np.isfinite(found["loss"]).all()


def test_a_class_without_test_pages_has_no_accuracy(examples, network):
    keep = np.flatnonzero(~(examples.test & (examples.labels == 2)))
    found = results(sparse_engine, [make()], examples.take(keep), network)[0]
    assert np.isnan(found["class_accuracy"][:, 2]).all()
    assert np.isfinite(found["accuracy"]).all()


@pytest.mark.parametrize("engine", [sparse_engine, batched_engine])
@pytest.mark.parametrize("rule", RULES)
def test_a_run_taken_up_again_ends_as_if_it_had_never_stopped(engine, rule, examples, network, tmp_path):
    run = make(rule, Backdoor(words=3), 2, rounds=4)
    whole = results(engine, [run], examples, network)[0]
    store = stopped(engine, [run], examples, network, tmp_path, after=3)
    assert store.checkpoint_path(run).is_file()
    rounds = []
    resumed = results(
        engine, [run], examples, network, store=store, on_progress=lambda run, done, *rest: rounds.append(done)
    )[0]
    assert rounds == [3, 4]
    same(whole, resumed)


@pytest.mark.parametrize("engine", [sparse_engine, batched_engine])
@pytest.mark.parametrize("rule", ["fused", "reputation", "foolsgold", "fldetector"])
@pytest.mark.parametrize("name", ["neurotoxin", "whitewash", "on-off", "noise"])
def test_a_run_under_attack_taken_up_again_ends_as_if_it_had_never_stopped(
    engine, rule, name, examples, network, tmp_path
):
    run = make(rule, make_attack(name, **OF_A_ROUND.get(name, {})), 2, clients=6, rounds=5)
    whole = results(engine, [run], examples, network)[0]
    store = stopped(engine, [run], examples, network, tmp_path, after=3)
    assert store.checkpoint_path(run).is_file()
    same(whole, results(engine, [run], examples, network, store=store)[0])


@pytest.mark.parametrize("rule", ["reputation", "foolsgold", "fused"])
def test_runs_side_by_side_are_taken_up_again_each_with_its_own_memory(rule, examples, network, tmp_path):
    runs = [make(rule, Backdoor(words=3), 2, rounds=4, seed=seed) for seed in (0, 1)]
    whole = results(batched_engine, runs, examples, network)
    store = stopped(batched_engine, runs, examples, network, tmp_path, after=4)
    for one, other in zip(whole, results(batched_engine, runs, examples, network, store=store), strict=True):
        same(one, other)


@pytest.mark.parametrize("rule", ["reputation", "fused"])
def test_a_run_goes_on_in_another_batch_than_it_began_in(rule, examples, network, tmp_path):
    short, long = (make(paper_rule(rule, s=s), LabelFlip(), 2, rounds=4) for s in (1, 3))
    whole = results(batched_engine, [short], examples, network)[0]
    store = stopped(batched_engine, [short, long], examples, network, tmp_path, after=4)
    alone = results(batched_engine, [short], examples, network, store=store)[0]
    assert alone["reputation"] == pytest.approx(whole["reputation"], abs=1e-5)


def test_a_checkpoint_of_the_other_engine_is_left_alone(examples, network, tmp_path):
    run = make("foolsgold", rounds=3)
    store = Store(tmp_path)
    (tmp_path / "runs").mkdir()
    results(sparse_engine, [run], examples, network, store=store, checkpoint_seconds=0.0)
    assert store.checkpoint_path(run).is_file()
    rounds = []
    results(
        batched_engine, [run], examples, network, store=store, on_progress=lambda run, done, *rest: rounds.append(done)
    )
    assert rounds == [1, 2, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clients": 0}, "at least one"),
        ({"rounds": 0}, "at least one"),
        ({"attack": LabelFlip(), "attackers": 6}, "6 attackers among 5 clients"),
        ({"attack": LabelFlip(), "attackers": 0}, "both an attack and attackers"),
        ({"attackers": 2}, "both an attack and attackers"),
        ({"alpha": 0.0}, "above 0"),
        ({"alpha": float("nan")}, "above 0"),
    ],
)
def test_impossible_federations_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        make(**change)


def test_more_clients_than_pages_is_refused(examples, network):
    with pytest.raises(InputError, match="take fewer clients"):
        results(sparse_engine, [make(clients=10_000)], examples, network)


def test_shares_become_whole_attackers():
    assert [attackers_of(share, 10) for share in (0.1, 0.25, 0.3, 0.5)] == [1, 3, 3, 5]


SCRIPT = """
import sys
from dataclasses import replace
from eitr.lab import run_experiments
from eitr.lab.runs.profile import PROFILES
from eitr.lab.simulation import progress
from tests.lab.small import PLAN
PROFILES["quick"] = replace(PROFILES["quick"], plan=PLAN)
progress.no_progress = lambda *news: (print("round", flush=True), sys.stdin.readline())
data, out = sys.argv[1:]
run_experiments(["weights"], data=data, profile="quick", seeds=1, out=out, resume=True, checkpoint_seconds=0.0)
"""


@pytest.mark.long
def test_killed_again_and_again_a_lab_ends_with_the_same_bytes(tmp_path):
    """The processes are real, and killed with SIGKILL in the middle of a run."""
    data = small_data(tmp_path)

    def start(folder, stdin):
        command = [sys.executable, "-c", SCRIPT, str(data), str(folder)]
        return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE)

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    start(whole, subprocess.DEVNULL).communicate()
    for rounds in (3, 14, 9):
        with start(killed, subprocess.PIPE) as process:
            for _ in range(rounds):
                assert process.stdout.readline() == b"round\n"
                process.stdin.write(b"go on\n")
                process.stdin.flush()
            assert process.stdout.readline() == b"round\n"
            process.kill()
    finished = [
        len([one for one in (folder / "runs").iterdir() if ".part" not in one.name]) for folder in (killed, whole)
    ]
    assert finished == [2, len(set(experiment("weights").runs(make_profile("quick", seeds=1))))]
    start(killed, subprocess.DEVNULL).communicate()
    assert {one.name: one.read_bytes() for one in (killed / "runs").iterdir()} == {
        one.name: one.read_bytes() for one in (whole / "runs").iterdir()
    }
