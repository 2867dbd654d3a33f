from itertools import pairwise

import numpy as np
import pytest

from eitr.attacks.label_flip import LabelFlip
from eitr.datasets import load
from eitr.lab.population import ROOT_PAGES, ROOT_SHARE, population
from eitr.lab.runs import FederatedRun, paper_rule


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
    assert len(found.root) == min(ROOT_PAGES, int(ROOT_SHARE * len(owned)))
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
