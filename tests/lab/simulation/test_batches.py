"""What clients train on in a round: drawn for all at once, the same for every rule."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.attacks.backdoor import Backdoor  # noqa: E402
from eitr.attacks.interface import Twins  # noqa: E402
from eitr.attacks.label_flip import LabelFlip  # noqa: E402
from eitr.attacks.schedule import Schedule  # noqa: E402
from eitr.datasets import load  # noqa: E402
from eitr.lab.runs.federated import FederatedRun, paper_rule  # noqa: E402
from eitr.lab.simulation.batches import Trainees  # noqa: E402
from eitr.lab.simulation.population import Stream, population  # noqa: E402
from eitr.lab.simulation.row_table import row_table  # noqa: E402
from eitr.lab.simulation.sparse_engine import train_client  # noqa: E402
from eitr.model.network import Network  # noqa: E402
from eitr.model.plan import TrainingPlan  # noqa: E402
from eitr.model.random import key_of  # noqa: E402
from eitr.model.training import train_as_in_lab  # noqa: E402

PLAN = TrainingPlan(epochs=3, max_batches=1000, batch_size=7)


@pytest.fixture(scope="module")
def examples():
    return load("builtin", size=300, words=60)


def make(examples, rule="fedavg", attack=None, twins=0, **more):
    settings = {"clients": 4, "plan": PLAN, "attackers": 2 if attack else 0, **more}
    run = FederatedRun(data="builtin", rule=paper_rule(rule), attack=attack, **settings)
    people = population(examples, run)
    return people, Trainees(people, torch.from_numpy(examples.labels), run, Twins(twins, len(examples)))


def pages_of(drawn, client):
    """Return the rows a client trains on, batch by batch."""
    rows, sizes = drawn.rows[client].numpy(), drawn.sizes[client].numpy()
    return [rows[step, :size].tolist() for step, size in enumerate(sizes) if size]


def test_each_page_is_seen_once_an_epoch(examples):
    people, trainees = make(examples)
    drawn = trainees.draw(1)
    for client, pages in enumerate(people.pages):
        batches = pages_of(drawn, client)
        assert drawn.steps[client] == len(batches) == 3 * -(-len(pages) // 7)
        an_epoch = len(batches) // 3
        orders = [list(chain(*batches[epoch * an_epoch : (epoch + 1) * an_epoch])) for epoch in range(3)]
        assert all(sorted(order) == sorted(pages) for order in orders)
        assert len(pages) < 4 or orders[0] != orders[1] != orders[2]


def test_the_server_takes_as_many_steps_as_a_client_on_its_trusted_pages_alone(examples):
    people, trainees = make(examples, attack=LabelFlip(extra_epochs=50))
    drawn = trainees.draw(1)
    usual = [3 * -(-len(pages) // 7) for pages in people.pages]
    batches = pages_of(drawn, len(people.pages))
    assert drawn.steps[-1] == len(batches) == int(np.median(usual))
    an_epoch = -(-len(people.root) // 7)
    assert sorted(chain(*batches[:an_epoch])) == sorted(people.root)
    assert {page for batch in batches for page in batch} == set(people.root)


def test_labels_are_those_of_the_pages(examples):
    drawn = make(examples)[1].draw(1)
    used = torch.arange(7) < drawn.sizes[..., None]
    truth = torch.from_numpy(examples.labels)[drawn.rows.long()]
    assert (drawn.labels == truth)[used].all()


def test_an_epoch_has_at_most_so_many_batches_and_no_page_twice(examples):
    people, trainees = make(examples, plan=TrainingPlan(epochs=3, max_batches=2, batch_size=7))
    drawn = trainees.draw(1)
    for client, pages in enumerate(people.pages):
        batches = pages_of(drawn, client)
        assert len(batches) == 3 * min(2, -(-len(pages) // 7))
        for epoch in range(3):
            seen = list(chain(*batches[epoch * len(batches) // 3 : (epoch + 1) * len(batches) // 3]))
            assert len(set(seen)) == len(seen) == min(14, len(pages))


def test_over_the_rounds_every_page_gets_its_turn(examples):
    people, trainees = make(examples, plan=TrainingPlan(epochs=2, max_batches=1, batch_size=7))
    seen = Counter(page for round in range(1, 60) for batch in pages_of(trainees.draw(round), 0) for page in batch)
    assert set(seen) == set(people.pages[0])


def test_attackers_train_longer_only_while_they_attack(examples):
    people, trainees = make(examples, attack=LabelFlip(extra_epochs=2), schedule=Schedule.parse("once:2"))
    an_epoch = [-(-len(pages) // 7) for pages in people.pages]
    honest = [3 * steps for steps in an_epoch]
    longer = [(5 if mark else 3) * steps for mark, steps in zip(people.attacker, an_epoch, strict=True)]
    assert [trainees.draw(round).steps[:-1] for round in (1, 2, 3)] == [honest, longer, honest]


def test_only_batches_of_attackers_are_poisoned(examples):
    people, attacked = make(examples, attack=Backdoor(words=3, share=0.5, extra_epochs=0), twins=1000)
    honest = make(examples)[1].draw(1)
    drawn = attacked.draw(1)
    for client, attacks in enumerate([*people.attacker, False]):
        rows, before = pages_of(drawn, client), pages_of(honest, client)
        if not attacks:
            assert rows == before
            continue
        for poisoned, clean in zip(rows, before, strict=True):
            assert [row % 1000 for row in poisoned] == clean
            assert sum(row >= 1000 for row in poisoned) == np.rint(len(clean) / 2)


def test_all_rules_draw_the_same_and_other_rounds_and_seeds_something_else(examples):
    first = make(examples)[1].draw(1)
    for rule in ("reputation", "fltrust"):
        same = make(examples, rule)[1].draw(1)
        assert torch.equal(first.rows, same.rows)
        assert first.dropout_keys == same.dropout_keys
    assert not torch.equal(first.rows, make(examples)[1].draw(2).rows)
    assert first.dropout_keys != make(examples)[1].draw(2).dropout_keys
    assert make(examples, seed=1)[1].draw(1).dropout_keys != first.dropout_keys


@pytest.mark.parametrize("steps", [1, 5, 200])
def test_everybody_takes_as_many_steps_as_the_run_says_whatever_its_pages(examples, steps):
    people, trainees = make(examples, steps=steps)
    drawn = trainees.draw(1)
    assert drawn.steps == [steps] * 5  # four clients and the server
    for client, pages in enumerate([*people.pages, people.root]):
        batches = pages_of(drawn, client)
        assert len(batches) == steps
        an_epoch = -(-len(pages) // 7)
        for first in range(0, steps - an_epoch + 1, an_epoch):
            assert sorted(chain(*batches[first : first + an_epoch])) == sorted(pages)


def test_with_steps_that_are_counted_attackers_take_more_in_proportion(examples):
    people, trainees = make(examples, attack=LabelFlip(extra_epochs=2), steps=10, schedule=Schedule.parse("once:2"))
    assert trainees.draw(1).steps == [10] * 5
    assert trainees.draw(2).steps == [*(16 if mark else 10 for mark in people.attacker), 10]  # 10 (3 + 2) / 3


@pytest.mark.parametrize(("epochs", "steps"), [(1, 100), (3, 300), (5, 500)])
def test_attackers_take_more_or_fewer_steps_as_they_train_more_or_fewer_epochs(examples, epochs, steps):
    people, trainees = make(examples, attack=LabelFlip(), steps=300, attacker_epochs=epochs)
    drawn = trainees.draw(1)
    assert drawn.steps == [*(steps if mark else 300 for mark in people.attacker), 300]
    assert [len(pages_of(drawn, client)) for client in range(5)] == drawn.steps


def test_attackers_take_at_least_one_step(examples):
    people, trainees = make(examples, attack=LabelFlip(), steps=2, attacker_epochs=1)
    assert trainees.draw(1).steps == [*(1 if mark else 2 for mark in people.attacker), 2]


def test_without_trusted_pages_the_server_still_has_something_to_train_on(examples):
    people, trainees = make(examples, trusted=0)
    drawn = trainees.draw(1)
    assert len(people.root) == 0
    assert drawn.steps[-1] > 0
    assert {page for batch in pages_of(drawn, 4) for page in batch} <= set(people.pages[0])


def test_a_client_outside_the_lab_trains_as_its_twin_does_to_the_byte(examples):
    people, trainees = make(examples)
    drawn, table = trainees.draw(2), row_table(examples, [])
    network = Network((examples.rows.width, 8, 6))
    start = network.initial(3)
    for client, pages in enumerate(people.pages):
        expected = start.copy()
        steps = drawn.steps[client]
        rows, labels, sizes = (part[client, :steps].long().numpy() for part in drawn[:3])
        train_client(expected, network, table, rows, labels, sizes, drawn.dropout_keys[client], PLAN)
        seed = key_of(0, Stream.TRAINING, 2, client)
        own = examples.rows.take(pages)
        found = train_as_in_lab(network, start, own, examples.labels[pages], PLAN, seed)
        assert found.tobytes() == expected.tobytes()
        assert found.tobytes() != train_as_in_lab(network, start, own, examples.labels[pages], PLAN, seed + 1).tobytes()
