from dataclasses import replace

import numpy as np
import pytest

from eitr.datasets.cifar10 import CLASSES
from eitr.errors import InputError
from eitr.lab.results.store import Store
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.image import Flip, PixelBackdoor, Training
from eitr.lab.simulation.images.batches import Field
from eitr.lab.simulation.images.federation import federation
from eitr.lab.simulation.images.run import compute
from tests.lab.simulation.images.conftest import tiny

RULES = (
    *("reputation", "foolsgold", "fltrust"),  # which judge clients, remember them, and train on trusted pictures
    *(pytest.param(name, marks=pytest.mark.long) for name in ("fedavg", "median", "trimmed-mean", "residual")),
)


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_runs_and_is_recorded(rule, context):
    run = tiny(rule, PixelBackdoor(), 1, rounds=2)
    seen = []
    context.on_progress = lambda *news: seen.append(news)
    arrays = compute(run, context)
    assert arrays["accuracy"].shape == (2,)
    assert arrays["class_accuracy"].shape == (2, 10)
    assert arrays["asr.backdoor"].shape == (2,)
    assert "asr.flip" not in arrays
    np.testing.assert_allclose(arrays["weights"].sum(axis=1), 1)
    assert ("reputation" in arrays) == ("negative" in arrays) == (rule == "reputation")
    assert arrays["failed"] == 0
    assert arrays["attacker"].sum() == 1
    assert arrays["counts"].sum() == 200 - 20  # a tenth is the server's
    assert [news[1:] for news in seen] == [(i + 1, 2, accuracy) for i, accuracy in enumerate(arrays["accuracy"])]


@pytest.mark.long
def test_it_learns_and_the_backdoor_works_where_everybody_is_an_attacker(context):
    arrays = compute(replace(tiny(attack=PixelBackdoor(), attackers=2, epochs=3), clients=2, rounds=5), context)
    assert arrays["accuracy"].max() > 0.3  # chance is a tenth
    assert arrays["asr.backdoor"].max() > 0.6


def test_a_run_without_attackers_has_the_floors_of_both_attacks(context):
    arrays = compute(tiny(rounds=1), context)
    assert arrays["asr.flip"].shape == arrays["asr.backdoor"].shape == (1,)


@pytest.mark.long
def test_the_same_run_gives_the_same_numbers(context):
    run = tiny("reputation", Flip(), 1, rounds=2)
    first = compute(run, context)
    assert_same(first, compute(run, context))
    assert not np.array_equal(first["weights"], compute(replace(run, seed=1), context)["weights"])


@pytest.mark.long
@pytest.mark.parametrize("rule", ["reputation", "foolsgold"])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(rule, context, tmp_path):
    run = tiny(rule, Flip(), 1, rounds=3)
    whole = compute(run, context)
    context.store, context.checkpoint_seconds = Store(tmp_path), 0.0
    (tmp_path / "runs").mkdir()

    def kill(run, done, rounds, accuracy):
        if done == 3:
            raise KeyboardInterrupt

    context.on_progress = kill
    with pytest.raises(KeyboardInterrupt):
        compute(run, context)
    seen = []
    context.on_progress = lambda run, done, rounds, accuracy: seen.append(done)
    assert_same(compute(run, context), whole)
    assert seen == [3]


def test_one_client_is_a_federation(context):
    arrays = compute(replace(tiny("reputation"), clients=1, rounds=1), context)
    assert arrays["weights"].tolist() == [[1.0]]
    assert arrays["failed"] == 0


def test_a_diverged_run_ends_in_nan_and_says_when(context):
    run = tiny()
    seen = []
    context.on_progress = lambda run, done, rounds, accuracy: seen.append((done, accuracy))
    arrays = compute(replace(run, training=replace(run.training, learning_rate=1e30)), context)
    assert arrays["failed"] == 1
    assert np.isnan(arrays["accuracy"]).all()
    assert np.isnan(arrays["weights"]).all()
    assert seen[0][0] == run.rounds
    assert np.isnan(seen[0][1])


def test_only_attackers_cats_are_flipped_and_attackers_train_longer(context):
    people = federation(tiny(attack=Flip(), attackers=2), context.data_dir, context.device)
    honest = federation(tiny(), context.data_dir, context.device)
    cat, dog = CLASSES.index("cat"), CLASSES.index("dog")
    truth = people.pictures.labels
    for client, (mine, usual) in enumerate(zip(people.batches(1), honest.batches(1), strict=True)):
        real = truth[mine[Field.PICTURE]]
        if people.attacker[client]:
            assert np.array_equal(mine[Field.LABEL], np.where(real == cat, dog, real))
            assert mine.shape[1] == -(-people.counts[client] * 2 // 16)
        else:
            assert np.array_equal(mine, usual)


def test_the_federation_is_the_same_for_every_rule_and_the_root_is_nobodys(context):
    people = federation(tiny("fltrust"), context.data_dir, context.device)
    others = federation(tiny("median"), context.data_dir, context.device)
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(people.mine, others.mine, strict=True))
    everything = np.concatenate([*people.mine, people.root])
    assert np.array_equal(np.sort(everything), people.pictures.training)
    assert not np.isin(people.root, people.pictures.test).any()
    trusted = people.batches(1)[-1]
    assert np.isin(trusted[Field.PICTURE], people.root).all()
    assert len(people.batches(1)) == 1 + len(others.batches(1)) == 5


def test_fewer_attackers_are_among_more_attackers(context):
    one, two = (
        federation(tiny(attack=Flip(), attackers=many), context.data_dir, context.device).attacker for many in (1, 2)
    )
    assert (one <= two).all()


def test_the_key_names_everything_that_matters():
    runs = [
        tiny(),
        tiny(rounds=4),
        tiny(attack=Flip(), attackers=1),
        tiny(attack=PixelBackdoor(), attackers=1),
        tiny(attack=Flip(extra_epochs=0), attackers=1),
        replace(tiny(), training=replace(tiny().training, learning_rate=0.1)),
        tiny("median"),
    ]
    assert len({run.key for run in runs}) == len(runs)
    assert tiny().key == tiny().key
    assert tiny(attack=Flip(), attackers=1).title == "images, fedavg, flip 1/4, seed 0"


@pytest.mark.parametrize(
    "changes", [{"clients": 0}, {"rounds": 0}, {"epochs": 0}, {"attackers": 1}, {"attack": Flip()}, {"attackers": 5}]
)
def test_a_run_that_makes_no_sense_is_refused(changes):
    with pytest.raises(InputError):
        replace(tiny(), **changes)


def test_missing_pictures_are_said_to_be_missing(context, tmp_path):
    context.data_dir = tmp_path
    with pytest.raises(InputError, match="CIFAR-10"):
        compute(tiny(), context)


def test_too_many_clients_are_refused(context):
    with pytest.raises(InputError, match="fewer clients"):
        compute(replace(tiny(), clients=500), context)


def test_fltrust_needs_something_to_trust(context):
    with pytest.raises(InputError, match="trusted"):
        compute(replace(tiny(), rule=paper_rule("fltrust"), root_images=0), context)


def test_a_network_so_narrow_that_torch_crashes_is_refused():
    # With 4 channels the backward pass of a convolution ended the process: "free(): invalid next size".
    with pytest.raises(InputError, match="at least 8, not 4"):
        Training(width=4)
