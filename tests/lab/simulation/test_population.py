from itertools import pairwise

import numpy as np
import pytest

from eitr.attacks.label_flip import LabelFlip
from eitr.datasets import load
from eitr.errors import InputError
from eitr.lab.runs.federated import EXCLUSIVE_SHARE, FederatedRun, paper_rule
from eitr.lab.simulation.population import ROOT_SHARE, population
from eitr.taxonomy import NAMES


@pytest.fixture(scope="module")
def examples():
    return load("builtin", size=600, words=60)


def people(examples, rule="fedavg", attackers=0, **more):
    attack = LabelFlip() if attackers else None
    return population(
        examples,
        FederatedRun(data="builtin", rule=paper_rule(rule), attack=attack, attackers=attackers, **more),
    )


def test_every_training_page_belongs_to_one_client_or_to_the_server(examples):
    found = people(examples)
    owned = np.concatenate([*found.pages, found.root])
    assert sorted(owned) == np.flatnonzero(~examples.test).tolist()
    assert len(found.root) == min(100, int(ROOT_SHARE * len(owned)))
    assert found.counts.tolist() == [len(pages) for pages in found.pages]


def test_trusted_pages_are_held_back_from_clients_and_never_test_pages(examples):
    found = people(examples)
    assert not examples.test[found.root].any()
    assert not set(found.root) & {page for pages in found.pages for page in pages}
    assert not set(found.root) & set(found.sample)


def test_training_loss_is_measured_on_pages_of_clients(examples):
    found = people(examples)
    assert set(found.sample) <= {page for pages in found.pages for page in pages}
    assert not examples.test[found.sample].any()


def test_the_few_attackers_are_among_the_many(examples):
    marks = [people(examples, attackers=number).attacker for number in (1, 3, 5)]
    assert [mark.sum() for mark in marks] == [1, 3, 5]
    for few, many in pairwise(marks):
        assert (many | ~few).all()


def test_all_rules_meet_the_same_people_and_every_seed_others(examples):
    one, other = people(examples, "fedavg", 3), people(examples, "fltrust", 3)
    assert all(np.array_equal(*pair) for pair in zip(one.pages, other.pages, strict=True))
    assert np.array_equal(one.root, other.root)
    assert np.array_equal(one.attacker, other.attacker)
    assert not np.array_equal(one.root, people(examples, attackers=3, seed=1).root)
    seeds = [tuple(people(examples, attackers=3, seed=seed).attacker) for seed in range(10)]
    assert len(set(seeds)) > 5


@pytest.mark.parametrize("attackers", [0, 3])
def test_a_new_topic_belongs_to_a_fifth_of_the_honest_clients_and_to_nobody_else(examples, attackers):
    topic = NAMES.index("religion")
    found = people(examples, attackers=attackers, clients=20, exclusive="religion")
    having = [client for client, pages in enumerate(found.pages) if (examples.labels[pages] == topic).any()]
    assert len(having) == round(EXCLUSIVE_SHARE * (20 - attackers))
    assert not found.attacker[having].any()
    assert not (examples.labels[found.root] == topic).any()
    assert (examples.labels[examples.test] == topic).any()  # what is learned of it is measured
    shares = [int((examples.labels[found.pages[client]] == topic).sum()) for client in having]
    assert max(shares) - min(shares) <= 1


def test_with_a_new_topic_no_page_of_a_client_is_lost_or_given_twice(examples):
    usual, found = people(examples), people(examples, exclusive="religion")
    assert sorted(np.concatenate(found.pages)) == sorted(np.concatenate(usual.pages))
    assert set(found.root) == {page for page in usual.root if examples.labels[page] != NAMES.index("religion")}
    assert (found.counts >= 1).all()
    assert np.array_equal(found.sample, usual.sample)


def test_a_federation_of_one_may_have_a_new_topic(examples):
    found = people(examples, clients=1, exclusive="health")
    assert (examples.labels[found.pages[0]] == NAMES.index("health")).any()


def test_a_new_topic_without_a_page_for_each_of_its_owners_is_refused(examples):
    few = examples.take(np.flatnonzero((examples.labels != 0) | examples.test))
    with pytest.raises(InputError, match="has 0 training pages of the class 'health'"):
        people(few, exclusive="health")


@pytest.mark.parametrize("trusted", [0, 1, 17, 100, 10_000])
def test_the_server_holds_back_as_many_pages_as_asked_for_and_never_more_than_a_tenth(examples, trusted):
    found = people(examples, trusted=trusted)
    training = int((~examples.test).sum())
    assert len(found.root) == min(trusted, int(ROOT_SHARE * training))
    assert len(found.root) + found.counts.sum() == training


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"exclusive": "sports"}, "no class is called 'sports'"),
        ({"trusted": -1}, "counts, not 0 and -1"),
        ({"steps": -2}, "counts, not -2 and 100"),
    ],
)
def test_topics_and_counts_that_cannot_be_are_refused(examples, change, message):
    with pytest.raises(InputError, match=message):
        people(examples, **change)
